package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/enr/inner/isolator/sensitive"
)

// cmdResources prints the table of what a box does not see.
func (a *app) cmdResources() *cobra.Command {
	var asJSON, asTOML bool
	c := &cobra.Command{
		Use:   "resources",
		Short: "List what is hidden from every box, and the key that allows each",
		Args:  cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			switch {
			case asJSON && asTOML:
				return usagef("--json and --toml contradict each other")
			case asJSON:
				return a.printJSON(sensitive.Resources())
			case asTOML:
				fmt.Fprint(a.stdout, sensitive.ResourcesTOML())
				return nil
			}
			w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "KEY\tWHAT\tKIND\tMETHOD\tPATHS")
			for _, r := range sensitive.Resources() {
				paths := r.Paths
				more := ""
				if len(paths) > 3 {
					more = fmt.Sprintf(" … and %d more", len(paths)-3)
					paths = paths[:3]
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s%s\n", r.Key, r.What, r.Kind, r.Method, strings.Join(paths, " "), more)
			}
			return w.Flush()
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&asTOML, "toml", false, "print the table with its comments")
	return c
}
