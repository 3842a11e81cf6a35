// Package connect lets ssh leave a box whose network is a list of hosts: ssh runs inner as its
// ProxyCommand, which connects it to the proxy. Not every system has an nc that can do that.
package connect

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/profile"
)

// Is reports whether this process was started by ssh to connect to the proxy.
func Is(args []string) bool { return len(args) == 3 && args[0] == paths.BoxConnect }

// Run connects standard input and output to a port of a host, through the proxy. When the proxy
// refuses, its message is written to stderr and the exit code is 1.
func Run(host, port string) int {
	fail := func(err error) int {
		fmt.Fprintf(os.Stderr, "inner: %s port %s: %v\n", visible.Text(host), visible.Text(port), err)
		return 1
	}
	conn, err := net.Dial("tcp4", "127.0.0.1:"+strconv.Itoa(profile.ProxyPort))
	if err != nil {
		return fail(err)
	}
	defer conn.Close()
	to := net.JoinHostPort(host, port)
	if strings.ContainsFunc(to, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return fail(fmt.Errorf("%q is not a host", to))
	}
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", to, to); err != nil {
		return fail(err)
	}
	in := bufio.NewReader(conn)
	status, why, err := answer(in)
	if err != nil {
		return fail(err)
	}
	if status != "200" {
		return fail(fmt.Errorf("refused: %s", why))
	}
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		if half, ok := conn.(*net.TCPConn); ok {
			_ = half.CloseWrite()
		}
	}()
	if _, err := io.Copy(os.Stdout, in); err != nil {
		return fail(err)
	}
	return 0
}

// answer reads the head of the proxy's answer, and of a refusal the reason.
func answer(in *bufio.Reader) (status, why string, err error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return "", "", err
	}
	_, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	status, why, _ = strings.Cut(rest, " ")
	for strings.TrimSpace(line) != "" {
		if line, err = in.ReadString('\n'); err != nil {
			return "", "", err
		}
	}
	if status != "200" {
		if text, _ := io.ReadAll(io.LimitReader(in, 4096)); len(text) > 0 {
			why = strings.TrimSpace(string(text))
		}
	}
	return status, strings.TrimPrefix(visible.Text(why), "inner: "), nil
}
