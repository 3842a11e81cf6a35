package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// probeNet is what programs of these tests do in the box.
func probeNet(words []string) int {
	switch words[0] {
	case "say": // to a port, and what it answers
		c, err := net.Dial("tcp", words[1])
		if err != nil {
			fmt.Println(errnoOf(err))
			return 1
		}
		_, _ = io.WriteString(c, "hello from the box\n")
		answer, err := io.ReadAll(c)
		fmt.Printf("%s%v\n", answer, err)
	case "serve": // one connection on a port
		l, err := net.Listen("tcp", words[1])
		if err != nil {
			fmt.Println(errnoOf(err))
			return 1
		}
		c, err := l.Accept()
		if err != nil {
			fmt.Println(err)
			return 1
		}
		_, err = io.WriteString(c, "served\n")
		_ = c.(*net.TCPConn).CloseWrite()
		_, end := io.ReadAll(c) // the other end has told by then
		fmt.Println(err, end, c.Close())
	case "sockets": // that are open here
		n := 0
		for fd := range 100 {
			if _, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE); err == nil {
				n++
			}
		}
		fmt.Println(n, "sockets")
	}
	return 0
}

func errnoOf(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

// accepting answers everyone who connects to the box's ports, and dials the ones
// that are published.
func accepting(j job) func(Network) error {
	return func(n Network) error {
		if j.NoNetwork != "" {
			return errors.New(j.NoNetwork)
		}
		for i, listeners := range n.Listeners {
			for _, l := range listeners {
				go func() {
					for {
						c, err := l.Accept()
						if err != nil {
							return
						}
						buf := make([]byte, 100)
						k, _ := c.Read(buf)
						fmt.Fprintf(c, "port %d of the plan heard %q\n", i, buf[:k])
						c.Close()
					}
				}()
			}
		}
		if n.Dial == nil {
			return nil
		}
		go func() {
			for _, p := range j.Publish {
				for {
					ctx, cancel := context.WithTimeout(context.Background(), time.Second)
					c, err := n.Dial(ctx, p)
					cancel()
					if err == nil {
						text, err := io.ReadAll(c)
						fmt.Fprintf(os.Stderr, "dialled: %s%v\n", text, err)
						c.Close()
						break
					}
					if errors.Is(err, net.ErrClosed) {
						return
					}
					syscall.Select(0, nil, nil, nil, &syscall.Timeval{Usec: 5000})
				}
			}
		}()
		return nil
	}
}

// onTerminal runs j with a terminal, which has to show some texts.
func onTerminal(t *testing.T, j job, want ...string) {
	t.Helper()
	x := newTerminal(t)
	j.Interactive = true
	cmd := x.start(j.command(t))
	for _, text := range want {
		x.expect(text)
	}
	code(t, cmd)
}

// A port that the box listens on is accepted out here, on each of its addresses,
// and the program has no descriptor of it, in every shape of a run.
func TestListeners(t *testing.T) {
	const port = 61080
	for _, c := range []struct {
		name  string
		job   job
		lines []string
	}{
		{"first port", probe("net", "say", "127.0.0.1:61080"), []string{`port 0 of the plan heard "hello from the box\n"`}},
		{"second port", probe("net", "say", "127.0.0.1:5000"), []string{`port 1 of the plan heard "hello from the box\n"`}},
		{"no port of the plan", probe("net", "say", "127.0.0.1:5001"), []string{"ECONNREFUSED"}},
		{"another address", probe("net", "say", "127.0.0.2:61080"), []string{"ECONNREFUSED"}},
		{"the port is taken", probe("net", "serve", "127.0.0.1:61080"), []string{"EADDRINUSE"}},
		{"no descriptor", probe("net", "sockets"), []string{"0 sockets"}},
	} {
		c.job.Listen, c.job.Args = []uint16{port, 5000}, []string{"--unshare-net"}
		r, out, errs := c.job.run(t)
		for _, want := range c.lines {
			if !strings.Contains(out, want) || !r.Started {
				t.Errorf("%s: %q %q %+v, want %q", c.name, out, errs, r, want)
			}
		}
		onTerminal(t, c.job, c.lines...)
	}
	if _, err := os.Stat("/proc/net/if_inet6"); err == nil {
		j := probe("net", "say", "[::1]:5000")
		j.Listen, j.Args = []uint16{port, 5000}, []string{"--unshare-net"}
		if _, out, _ := j.run(t); !strings.Contains(out, "port 1 of the plan") {
			t.Errorf("::1: %q", out)
		}
	}
}

// When the network cannot be had, or is not wanted, the program does not run.
func TestNoListeners(t *testing.T) {
	ran := writeFile(t, "ran", "", 0o666)
	for _, c := range []struct {
		change func(*job)
		want   string
	}{
		{func(j *job) { j.Listen = []uint16{5000, 5000} }, "cannot listen on 127.0.0.1:5000 in the box: address already in use"},
		{func(j *job) { j.Listen, j.NoNetwork = []uint16{5000}, "not today" }, "network: not today"},
		{func(j *job) { j.Publish, j.NoNetwork = []uint16{5000}, "not today" }, "network: not today"},
	} {
		j := sh("echo ran >" + ran)
		j.Args = []string{"--unshare-net"}
		c.change(&j)
		for _, run := range []func() Result{
			func() Result { r, _, _ := j.run(t); return r },
			func() Result { onTerminal(t, j); return readResult(t, j.Result) },
		} {
			j.Result = filepath.Join(t.TempDir(), "result")
			r := run()
			if r.Code != CodeNoSandbox || r.Started || !strings.Contains(r.Reason, c.want) {
				t.Errorf("%+v, want %q", r, c.want)
			}
		}
	}
	if b, err := os.ReadFile(ran); err != nil || len(b) > 0 {
		t.Errorf("the program ran: %q %v", b, err)
	}
}

// What is published is dialled in the box, in every shape, and nothing of it is
// left behind.
func TestDial(t *testing.T) {
	for _, at := range []string{"127.0.0.1", "::1"} {
		j := probe("net", "serve", net.JoinHostPort(at, "3000"))
		j.Publish, j.Args, j.Mark = []uint16{3000}, []string{"--unshare-net"}, marked()
		r, out, errs := j.run(t)
		if r.Code != 0 || !strings.Contains(errs, "dialled: served") {
			t.Errorf("%s: %+v %q %q", at, r, out, errs)
		}
		eventually(t, "every process of the run gone", patience, func() bool { return len(alive(j.Mark)) == 0 })
	}
	j := probe("net", "serve", "127.0.0.1:3000")
	j.Publish, j.Args = []uint16{3000}, []string{"--unshare-net"}
	onTerminal(t, j, "dialled: served")
}

// What is taken for a socket of the box is one, and none of our own network.
func TestSocketOfTheBox(t *testing.T) {
	socket := func(domain, kind, proto int) int {
		fd, err := unix.Socket(domain, kind|unix.SOCK_CLOEXEC, proto)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	stream, route := socket(unix.AF_INET, unix.SOCK_STREAM, 0), socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for i, c := range []struct{ fd, domain, kind, proto int }{
		{stream, unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP}, // of our own network
		{route, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE},
		{stream, unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDP},
		{stream, unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_TCP},
		{route, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER},
		{int(null.Fd()), unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP},
	} {
		if new(network).has(c.fd, c.domain, c.kind, c.proto) {
			t.Errorf("%d: taken", i)
		}
	}
	cookie, err := unix.GetsockoptUint64(stream, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	if other := (&network{cookie: cookie + 1}); err == nil && other.has(stream, unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP) {
		t.Error("taken, of a third network")
	}
}

// What is asked of a box that is gone is told from what it cannot do: why it went is said elsewhere.
func TestSocketOfNobody(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	unix.Close(pair[1])
	answer := make(chan madeSocket, 1)
	(&session{sock: pair[0]}).wantSocket(1, answer)
	if got := <-answer; !errors.Is(got.err, net.ErrClosed) {
		t.Error(got.err)
	}
}
