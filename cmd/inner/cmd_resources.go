package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/isolator/sensitive"
)

// cmdResources prints the table of what a box does not see.
func (a *app) cmdResources() *cobra.Command {
	return a.Answers(&cobra.Command{
		Use:   "resources",
		Short: "List what is hidden from every box, and the key that allows each",
		Args:  cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
	}, func(*cobra.Command, []string) (cli.Answer, error) {
		return cli.Answer{Value: sensitive.Resources(), Words: func() {
			rows := [][]string{{"KEY", "WHAT", "KIND", "METHOD", "PATHS"}}
			for _, r := range sensitive.Resources() {
				shown := strings.Join(r.Paths[:min(3, len(r.Paths))], " ")
				if more := len(r.Paths) - 3; more > 0 {
					shown += fmt.Sprintf(" … and %d more", more)
				}
				rows = append(rows, []string{r.Key, r.What, r.Kind, r.Method, shown})
			}
			tell.Table(a.Out, rows)
		}}, nil
	})
}
