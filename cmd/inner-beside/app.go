package main

import (
	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
)

// version is set by the build, as inner's.
var version = "dev"

// app is the process of a command.
type app struct{ *cli.App }

// tree is the commands of the program of that name; of all of them for "".
func (a *app) tree(program string) *cobra.Command {
	commands := map[string]*cobra.Command{}
	for _, c := range []*cobra.Command{
		a.cmdAgent(), a.cmdTools(), a.cmdMCP(), a.cmdLearn(), a.cmdVerify(), a.cmdExport(),
		a.cmdCheckout(), a.cmdPublish(),
	} {
		commands[c.Name()] = c
	}
	root := a.Root()
	for _, b := range cli.Besides() {
		if c := commands[b.Name]; program == b.Program || program == "" && !c.HasParent() {
			c.Short, c.Hidden = b.Short, b.Hidden
			cli.WrapArgs(c)
			root.AddCommand(c)
		}
	}
	return root
}
