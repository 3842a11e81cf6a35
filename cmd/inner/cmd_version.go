package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func (a *app) cmdVersion() *cobra.Command {
	return a.answers(&cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
	}, func(*cobra.Command, []string) (answer, error) {
		return answer{
			value: map[string]string{"version": version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH},
			words: func() { fmt.Fprintf(a.stdout, "inner %s\n", version) },
		}, nil
	})
}
