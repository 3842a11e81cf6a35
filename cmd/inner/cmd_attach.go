package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/isolator/visit"
)

func (a *app) cmdAttach() *cobra.Command {
	return &cobra.Command{
		Use: "attach [RUN]", Short: "Join a detached box in this terminal", Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.completeBoxes,
		Long: "Join a box that was started with inner run --detach, or detached later: its program has this\n" +
			"terminal from now on, its size and its keys, and inner attach ends with its exit code. A terminal\n" +
			"that had joined before is released, and told so. The box goes on when this terminal is closed, and\n" +
			"after inner detach, typed elsewhere. " + whichRun,
		RunE: a.OnHost(func(_ *cobra.Command, args []string) error { return a.attach(args) }),
	}
}

func (a *app) cmdDetach() *cobra.Command {
	return &cobra.Command{
		Use: "detach [RUN]", Short: "Let a box go on without its terminal", Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.completeBoxes,
		Long: "Let a box go on without the terminal that it is in: the shell there has its prompt again, with the\n" +
			"box as a job in the background. inner attach joins it from any terminal, and fg where it was started.\n" +
			"Type it in another terminal, or after ^Z in the same one. " + whichRun,
		RunE: a.OnHost(func(_ *cobra.Command, args []string) error {
			b, err := a.boxNamed(args)
			if err != nil {
				return err
			}
			words := fmt.Sprintf("run %s goes on without a terminal; inner attach %s joins it", b.Run, b.Run)
			if err := visit.Detach(stage.Door(a.StageBase(), b.Run), b.PID, "inner: detached: "+words); err != nil {
				return a.notJoined(b, err)
			}
			a.Say("%s", words)
			return nil
		}),
	}
}

func (a *app) attach(args []string) error {
	b, err := a.boxNamed(args)
	if err != nil {
		return err
	}
	if !caller.IsTerminal(a.In) {
		return fault.Refuse(2, "type it in a terminal", "standard input is not a terminal, and the box needs one")
	}
	end, err := visit.Attach(stage.Door(a.StageBase(), b.Run), b.PID, a.In)
	switch {
	case err != nil:
		return a.notJoined(b, err)
	case end.Ended:
		return cli.Exit(end.Code)
	}
	a.Say("%s: run %s goes on; inner attach %s joins it", end.Words, b.Run, b.Run)
	return nil
}

// notJoined says why a box cannot be joined, or detached.
func (a *app) notJoined(b box, err error) error {
	r := &fault.Refusal{Code: 125, Msg: "run " + b.Run + ": " + err.Error(), Hint: "inner ps"}
	if no, ok := errors.AsType[*visit.RefusedError](err); ok && strings.Contains(no.Words, "not detached") {
		r.Hint = "inner detach " + b.Run
	}
	return r
}

// startDetached starts this same call as a process of its own, and returns when its program
// starts, or with the code with which it did not.
func (a *app) startDetached() error {
	id, code, err := visit.StartDetached(os.Args, os.Environ(), a.In, a.Err)
	switch {
	case err != nil:
		return err
	case id == "":
		return cli.Exit(code)
	}
	a.Say("run %s goes on without this terminal; inner attach %s joins it", id, id)
	return nil
}

// terminalWords say where the terminal of a box is.
func terminalWords(b box) string {
	words := map[string]string{
		launch.Starting: "starting", launch.InItsTerminal: "its own", launch.Detached: "detached", launch.Joined: "attached", launch.Stopped: "stopped",
	}
	return cmp.Or(words[b.Terminal], "-")
}

func detachedWords(b box) string {
	if b.Terminal == launch.Detached {
		return ", detached"
	}
	return ""
}
