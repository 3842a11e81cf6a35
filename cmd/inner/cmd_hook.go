package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/hooks"
	"github.com/enr/inner/hooks/usershell"
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
	text, err := hooks.Script(shell, hooks.Vars{Inner: f.Binary(), Command: a.commandPath(), ShimDir: f.Bin(), StateFile: f.StateFile()})
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
	shell := hooks.ShellOf(usershell.Login())
	if shell == "" {
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
		fmt.Fprintf(a.Out, "line %d of %s %s; make it this one:\n  %s\n", h.Number, cli.Printable(a.Short(h.File)), cli.Printable(h.Problem), cli.Printable(line))
	}
}
