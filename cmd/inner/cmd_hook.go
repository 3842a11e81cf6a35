package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/hooks"
	"github.com/enr/inner/shims"
)

// inBox reports whether this is inside a sandbox.
func inBox() bool { return shims.InBox() }

func (a *app) cmdHook() *cobra.Command {
	c := &cobra.Command{
		Use: "hook [bash|zsh|fish]", Short: "Print the hook of a shell, for eval",
		Long: "Print the hook of a shell. Put it last in the shell's start-up file, with the\nabsolute path of inner:\n\n" +
			"  bash, zsh: eval \"$(~/.local/bin/inner hook bash)\"\n  fish:      ~/.local/bin/inner hook fish | source\n\n" +
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
		return usage{err}
	}
	if !inBox() {
		// The first hook is often the first use: a profile of a project may extend
		// a built-in one, which has to be there when the prompt looks at it.
		a.WarnIf(a.firstUse())
		// A new shell is where the shims are first made, and an upgrade is noticed.
		if _, err := os.Stat(f.StateFile()); err != nil || f.Outdated(a.Site()) {
			_, err := shims.Regenerate(a.Site())
			a.WarnIf(err)
		}
	}
	_, err = fmt.Fprint(tell.Raw(a.stdout), text)
	return err
}
