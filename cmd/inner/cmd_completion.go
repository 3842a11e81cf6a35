package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/completions"
)

func (a *app) cmdCompletion() *cobra.Command {
	return &cobra.Command{
		Use: "completion " + strings.Join(completions.Shells(), "|"), Short: "Print the completion script of a shell",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: completions.Shells(),
		RunE: func(_ *cobra.Command, args []string) error {
			text, _ := completions.Script(args[0])
			_, err := fmt.Fprint(tell.Raw(a.Out), text)
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
