package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/shims"
)

func (a *app) cmdBypass() *cobra.Command {
	return &cobra.Command{
		Use: "bypass COMMAND [args]", Short: "Run the real program outside the sandbox, once, on purpose",
		Long:               "Run the real program outside the sandbox, for this one call. inner says so in one line and logs it.",
		DisableFlagParsing: true, // everything after the command is the command's
		ValidArgsFunction:  a.completeCommands,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && (args[0] == "-h" || args[0] == "--help") {
				return cmd.Help()
			}
			if len(args) > 0 && args[0] == "--" {
				args = args[1:]
			}
			if len(args) == 0 {
				return cli.Usagef("name the command to run outside the sandbox: inner bypass COMMAND")
			}
			return a.bypass(args)
		},
	}
}

func (a *app) bypass(args []string) error {
	name := args[0]
	if cli.InBox() {
		return fault.Refuse(126, "", "there is no way around the sandbox from inside")
	}
	if strings.ContainsRune(name, '/') {
		return cli.Usagef("%q is a path: run it directly", name)
	}
	if err := profile.CheckCommand(name); err != nil {
		return cli.Misuse(err)
	}
	if err := a.Permitted(profile.ForbidBypass, "inner bypass"); err != nil {
		return err
	}
	real, err := a.FindReal(name, os.Getenv("PATH"))
	if err != nil {
		return fault.Refuse(shims.ExitCode(err), "inner status "+name, "%v", err)
	}
	// What cannot be logged does not happen: the log is the point of a bypass.
	cwd, _ := os.Getwd()
	e := runlog.Event{Type: runlog.EventBypass, Command: name, Program: real, Args: len(args) - 1, Cwd: cwd}
	if err := runlog.Append(a.LogsDir(), e); err != nil {
		return fault.Refuse(126, "inner doctor", "a bypass that cannot be logged is refused: %v", err)
	}
	a.Say("%s runs outside the sandbox, this once", name)
	err = shims.Exec(shims.Call{Name: name, InnerHome: a.InnerHome}, args, os.Environ())
	return fault.Refuse(shims.ExitCode(err), "", "%v", err)
}
