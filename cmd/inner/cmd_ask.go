package main

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/profile"
)

func (a *app) cmdAsk() *cobra.Command {
	return &cobra.Command{
		Use: "ask PATH", Short: "In a sandbox: ask the person to let it read a folder", Args: cobra.ExactArgs(1),
		Long: "Ask for a folder of the host that the sandbox does not show, in the sandbox, with network_mode = \"ask\":\n" +
			"the question is put at the terminal outside, and inner ask waits for the answer. After a yes the folder\n" +
			"is there, to be read, until this run ends, and the exit code is 0; else it is 1.",
		RunE: func(_ *cobra.Command, args []string) error {
			if !cli.InBox() {
				return fault.Refuse(1, "inner allow folder:PATH",
					"inner ask is for programs in a sandbox: this is outside")
			}
			path, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			return a.askPerson(path)
		},
	}
}

// askPerson asks the proxy of the box, which the launcher serves.
func (a *app) askPerson(path string) error {
	outside := profile.Outside("inner allow " + cli.Quoted("folder:"+path) + " --for-this-run -p " + os.Getenv("INNER_SANDBOX"))
	c, err := net.Dial("tcp4", "127.0.0.1:"+strconv.Itoa(profile.ProxyPort))
	if err != nil {
		return fault.Refuse(1, outside, "nobody is asked by this sandbox: its network_mode is not \"ask\"")
	}
	defer c.Close()
	fmt.Fprintf(c, "ASK %s HTTP/1.1\r\n\r\n", url.PathEscape(path))
	answer, _ := io.ReadAll(io.LimitReader(c, 4096))
	head, text, _ := strings.Cut(string(answer), "\r\n\r\n")
	if strings.HasPrefix(head, "HTTP/1.1 200 ") {
		a.Say("%s", cli.Printable(text))
		return nil
	}
	fmt.Fprint(a.Err, cli.Printable(strings.TrimSpace(text))+"\n")
	return cli.Exit(1)
}
