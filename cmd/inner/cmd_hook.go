package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/completions"
	"github.com/enr/inner/hooks"
	"github.com/enr/inner/hooks/script"
	"github.com/enr/inner/hooks/usershell"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/shims"
)

func (a *app) cmdHook() *cobra.Command {
	c := &cobra.Command{
		Use: "hook [bash|zsh|fish|elvish|nu|tcsh|sh]", Short: "Print the hook of a shell, for eval",
		Long: "Print the hook of a shell. Put it last in the shell's start-up file, with the\nabsolute path of inner:\n\n" +
			"  bash, zsh: eval \"$(~/.local/bin/inner hook bash)\"\n  fish:      ~/.local/bin/inner hook fish | source\n" +
			"  elvish:    eval (~/.local/bin/inner hook elvish | slurp)\n  tcsh:      eval \"`~/.local/bin/inner hook tcsh`\"\n" +
			"  dash, ksh: eval \"$(~/.local/bin/inner hook sh)\"\n" +
			"  nu:        ~/.local/bin/inner hook nu | save -f ($nu.data-dir)/vendor/autoload/inner.nu\n\n" +
			"Without a shell, print that line for yours, or where it is already.",
		Args: cobra.MaximumNArgs(1), ValidArgs: hooks.Shells(),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				a.printHookLine()
				return nil
			}
			return a.hook(args[0])
		},
	}
	return c
}

func (a *app) hook(shell string) error {
	f := a.Folder()
	quote, err := hooks.Quote(shell)
	if err != nil {
		return cli.Misuse(err)
	}
	text, err := script.Of(shell, quote, script.Vars{Inner: f.Binary(), Command: a.commandPath(), ShimDir: f.Bin(), StateFile: f.StateFile()})
	if err != nil {
		return cli.Misuse(err)
	}
	if !cli.InBox() {
		// The first hook is often the first use: a profile of a project may extend
		// a built-in one, which has to be there when the prompt looks at it.
		a.WarnIf(a.FirstUse())
		// A new shell is where the shims are first made, and an upgrade is noticed.
		if _, err := os.Stat(f.StateFile()); err != nil || f.Outdated(a.Site()) {
			_, err := shims.Regenerate(a.Site())
			a.WarnIf(err)
		}
	}
	_, err = fmt.Fprint(tell.Raw(a.Out), text)
	return err
}

// startup are the start-up files of the user's shells.
func (a *app) startup() usershell.Files {
	return usershell.Files{Home: a.Home, Command: a.commandPath()}
}

// commandPath is inner under a name that lasts: as it was called, or as PATH finds
// it. The copy behind the shims is none, for it follows the installed one.
func (a *app) commandPath() string {
	self, err := os.Executable()
	if err != nil {
		return "inner"
	}
	var names []string
	if strings.Contains(os.Args[0], "/") {
		if abs, err := filepath.Abs(os.Args[0]); err == nil {
			names = append(names, abs)
		}
	}
	if found, err := exec.LookPath("inner"); err == nil && filepath.IsAbs(found) {
		names = append(names, found)
	}
	for _, name := range append(names, self) {
		if !sameFile(name, a.Folder().Binary()) {
			return name
		}
	}
	return self
}

// printHookLine says what to put where, for the user's shell, as make install does.
func (a *app) printHookLine() {
	shell := usershell.Login()
	if usershell.ShellOf(shell) == "" {
		fmt.Fprintf(a.Out, "there is a hook for %s; the one for bash:\n", strings.Join(hooks.Shells(), ", "))
		shell = "bash"
	}
	rc, line := a.startup().HookLine(shell)
	switch h := a.startup().FindHook(shell); {
	case h == nil:
		fmt.Fprintf(a.Out, "put this line last in %s:\n  %s\n", cli.Printable(a.Short(rc)), cli.Printable(line))
	case h.Problem == "":
		fmt.Fprintf(a.Out, "line %d of %s loads the hook\n", h.Number, cli.Printable(a.Short(h.File)))
	default:
		fmt.Fprintf(a.Out, "line %d of %s %s; make it this one:\n  %s\n", h.Number,
			cli.Printable(a.Short(h.File)), cli.Printable(h.Problem), cli.Printable(line))
	}
}

func (a *app) cmdShim() *cobra.Command {
	return cli.Noun(&cobra.Command{Use: "shim", Short: "Rebuild and show the shim folder"},
		a.cmdShimRegenerate(), a.cmdShimList(), a.cmdShimPath())
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
	added, removed, binary := "added", "removed", "updated the binary behind the shims"
	if check {
		added, removed, binary = "missing", "stale", "the binary behind the shims is out of date"
	}
	for _, n := range r.Added {
		fmt.Fprintln(a.Out, added, n)
	}
	for _, n := range r.Removed {
		fmt.Fprintln(a.Out, removed, n)
	}
	if r.BinaryUpdated {
		fmt.Fprintln(a.Out, binary)
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
		list = append(list, ok("shims", "%s in %s", visible.Counted(len(report.Kept), "shim", "shims"), a.ShimDir()))
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

func (a *app) cmdCompletion() *cobra.Command {
	return &cobra.Command{
		Use: "completion " + strings.Join(completions.Shells(), "|"), Short: "Print the completion script of a shell",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: completions.Shells(),
		RunE: func(_ *cobra.Command, args []string) error {
			_, err := fmt.Fprint(tell.Raw(a.Out), completions.Script(args[0]))
			return err
		},
	}
}

// completeCommands offers the commands that have a shim: those that can be asked about, or
// run outside the sandbox.
func (a *app) completeCommands(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	names, _ := a.Folder().List() // none yet
	return names, cobra.ShellCompDirectiveNoFileComp
}
