package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
)

func (a *app) cmdVersion() *cobra.Command {
	return a.Answers(&cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
	}, func(*cobra.Command, []string) (cli.Answer, error) {
		return cli.Answer{
			Value: map[string]string{"version": version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH},
			Words: func() { fmt.Fprintf(a.Out, "inner %s\n", version) },
		}, nil
	})
}
