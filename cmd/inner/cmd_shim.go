package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/shims"
)

func (a *app) cmdShim() *cobra.Command {
	c := &cobra.Command{Use: "shim", Short: "Rebuild and show the shim folder"}
	c.AddCommand(a.cmdShimRegenerate(), a.cmdShimList(), a.cmdShimPath())
	return c
}

func (a *app) cmdShimRegenerate() *cobra.Command {
	var check bool
	c := &cobra.Command{
		Use: "regenerate", Short: "Rebuild the shim folder; --check only says whether it is stale (exit 1)", Args: cobra.NoArgs,
		RunE: a.OnHost(func(_ *cobra.Command, _ []string) error {
			do := shims.Regenerate
			if check {
				do = shims.Check
			}
			report, err := do(a.Site())
			a.printReport(report, check)
			if err != nil {
				return err
			}
			for _, p := range report.Set.Problems {
				a.Warn("%s", p)
			}
			switch {
			case check && report.Changed():
				return cli.Exit(1)
			case !report.Changed():
				fmt.Fprintf(a.Out, "%d shims, nothing to do\n", len(report.Kept))
			}
			return nil
		}),
	}
	c.Flags().BoolVar(&check, "check", false, "change nothing")
	return c
}

func (a *app) printReport(r shims.Report, check bool) {
	tense := func(done, would string) string {
		if check {
			return would
		}
		return done
	}
	for _, n := range r.Added {
		fmt.Fprintf(a.Out, "%s %s\n", tense("added", "missing"), n)
	}
	for _, n := range r.Removed {
		fmt.Fprintf(a.Out, "%s %s\n", tense("removed", "stale"), n)
	}
	if r.BinaryUpdated {
		fmt.Fprintf(a.Out, "%s\n", tense("updated the binary behind the shims", "the binary behind the shims is out of date"))
	}
	for _, n := range r.Foreign {
		a.Warn("%q in the shim folder is not inner's and is left alone", n)
	}
}

type shimRow struct {
	Name string      `json:"name"`
	Path string      `json:"path"`
	Why  []shims.Why `json:"why"`
}

func (a *app) cmdShimList() *cobra.Command {
	return a.Answers(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the shims and why each exists", Args: cobra.NoArgs,
	}, func(*cobra.Command, []string) (cli.Answer, error) {
		names, err := a.Folder().List()
		set := shims.Wanted(a.Site())
		rows := []shimRow{}
		for _, n := range names {
			rows = append(rows, shimRow{Name: n, Path: filepath.Join(a.ShimDir(), n), Why: append([]shims.Why{}, set.Names[n]...)})
		}
		return cli.Answer{Value: rows, Words: func() {
			for _, r := range rows {
				var why []string
				for _, w := range r.Why {
					why = append(why, w.Text)
				}
				if len(why) == 0 {
					why = []string{"not wanted any more: inner shim regenerate"}
				}
				fmt.Fprintf(a.Out, "%-16s %s\n", cli.Printable(r.Name), cli.Printable(strings.Join(why, "; ")))
			}
		}}, err
	})
}

func (a *app) cmdShimPath() *cobra.Command {
	return &cobra.Command{
		Use: "path", Short: "Print the shim folder", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(a.Out, a.ShimDir())
			return err
		},
	}
}

// shimFindings is doctor's look at the shim folder.
func (a *app) shimFindings() []finding {
	report, err := shims.Check(a.Site())
	if err != nil {
		return []finding{broken("shims", "inner shim regenerate", "%v", err)}
	}
	var list []finding
	if report.Changed() {
		var what []string
		if report.BinaryUpdated {
			what = append(what, "the binary behind the shims is missing or out of date")
		}
		if len(report.Added) > 0 {
			what = append(what, "missing: "+strings.Join(report.Added, " "))
		}
		if len(report.Removed) > 0 {
			what = append(what, "stale: "+strings.Join(report.Removed, " "))
		}
		list = append(list, broken("shims", "inner shim regenerate", "%s", strings.Join(what, "; ")))
	} else {
		list = append(list, ok("shims", "%s in %s", cli.Counted(len(report.Kept), "shim", "shims"), a.ShimDir()))
	}
	for _, f := range report.Foreign {
		list = append(list, warning("shims", "rm "+filepath.Join(a.ShimDir(), f), "%q in the shim folder is not inner's", f))
	}
	for _, p := range report.Set.Problems {
		list = append(list, warning("shims", "inner status", "%v", p))
	}
	for _, n := range append(report.Kept, report.Added...) {
		if _, err := a.FindReal(n, os.Getenv("PATH")); err != nil {
			list = append(list, warning("program", "install "+n+", or inner allow --forget in the project that claims it", "the real %s was not found on PATH", n))
		} else if slices.Contains(shims.Agents(), n) {
			real, _ := a.FindReal(n, os.Getenv("PATH"))
			list = append(list, ok("program", "%s is %s", n, real))
		}
	}
	return list
}
