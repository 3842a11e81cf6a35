package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/runlog/records"
	"github.com/enr/inner/isolator/session"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/isolator/visit"
)

// stopPatience is how long a box may take to end when it is asked to.
const stopPatience = 10 * time.Second

// box is a box that runs. What it says of itself is empty before it has come to its plan. A session
// without a box has no run, and begins when it was used last.
type box struct {
	Run     string    `json:"run"`
	PID     int       `json:"pid,omitempty"` // of inner, outside the box
	Begun   time.Time `json:"begun,omitzero"`
	Profile string    `json:"profile,omitempty"`
	Command string    `json:"command,omitempty"`
	Folder  string    `json:"folder,omitempty"`
	// Terminal is where its terminal is: "own", "none", "asks", "joined", "starting" or "stopped"; empty without one.
	Terminal string `json:"terminal,omitempty"`
	TTY      string `json:"tty,omitempty"`     // in which it was started, as "pts/7"
	Session  string `json:"session,omitempty"` // the id of a session of inner exec
	// Granted is what it got since it runs, as inner allow names it.
	Granted []string `json:"granted,omitempty"`
}

func (a *app) cmdPs() *cobra.Command {
	return a.AnswersOnHost(&cobra.Command{
		Use: "ps", Short: "List the boxes that run now, and the sessions that wait for a call", Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
	}, func(*cobra.Command, []string) (cli.Answer, error) {
		list, err := a.boxes()
		sessions, errSessions := session.List(a.SessionsDir())
		for _, s := range sessions {
			command := "session " + s.ID
			i := slices.IndexFunc(list, func(b box) bool { return b.Command == command && b.Session == "" })
			if !s.Box || i < 0 {
				i = len(list)
				name := strings.TrimSuffix(filepath.Base(s.Profile), ".toml")
				list = append(list, box{Begun: s.Used, Profile: name, Command: command, Folder: s.Project})
			}
			list[i].Session = s.ID
		}
		return cli.Answer{Value: list, Words: func() { a.printBoxes(list) }}, errors.Join(err, errSessions)
	})
}

func (a *app) printBoxes(list []box) {
	if len(list) == 0 {
		a.Say("no box is running")
		return
	}
	rows := [][]string{{"RUN", "FOR", "TERMINAL", "PROFILE", "COMMAND", "FOLDER"}}
	for _, b := range list {
		rows = append(rows, []string{cmp.Or(b.Run, "-"), since(b), terminalWords(b), cmp.Or(b.Profile, "?"), cmp.Or(b.Command, "?"), cmp.Or(a.Short(b.Folder), "?")})
	}
	cli.Table(a.Out, rows)
	for _, b := range list {
		if len(b.Granted) > 0 {
			fmt.Fprintf(a.Out, "%s got meanwhile: %s\n", b.Run, cli.Printable(strings.Join(b.Granted, ", ")))
		}
	}
}

func since(b box) string {
	if b.Begun.IsZero() {
		return "?"
	}
	return runlog.Roughly(time.Since(b.Begun))
}

// boxes are the boxes of this user that run, oldest first.
func (a *app) boxes() ([]box, error) {
	live, err := stage.Running(a.StageBase())
	out := []box{}
	for _, l := range live {
		b := box{Run: l.ID, PID: visit.Holder(a.StageBase(), l.ID), Begun: l.Begun, Profile: l.Profile, Command: l.Command, Folder: l.Folder, Granted: l.Granted}
		b.Terminal, b.TTY = visit.State(stage.Door(a.StageBase(), l.ID), b.PID), visit.Terminal(b.PID)
		out = append(out, b)
	}
	return out, err
}

func (a *app) cmdStop() *cobra.Command {
	var sessions bool
	c := &cobra.Command{
		Use: "stop [RUN|SESSION...]", Short: "End a box that runs, or a session of inner exec", ValidArgsFunction: a.completeBoxes,
		Long: fmt.Sprintf("End a box: its program gets the signal TERM, and is killed when it has not ended after %s. Then inner\n"+
			"does what it does after every run. %s\n"+
			"SESSION is the id of a session of inner exec, in any project and profile: what it keeps is removed.", stopPatience, whichRun),
		RunE: a.OnHost(func(_ *cobra.Command, names []string) error {
			if sessions {
				if len(names) > 0 {
					return cli.Usagef("either the ids of sessions, or --sessions")
				}
				_, err := a.endSessions(nil)
				return err
			}
			return a.stopAll(names)
		}),
	}
	c.Flags().BoolVar(&sessions, "sessions", false, "end all sessions, and no other box")
	return c
}

// stopAll ends the boxes and sessions of these names, or the only box that runs.
func (a *app) stopAll(names []string) error {
	if len(names) == 0 {
		return a.stop(nil)
	}
	for _, name := range names {
		ended, err := a.endSessions([]string{name})
		if err == nil && !ended {
			err = a.stop([]string{name})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// endSessions ends the sessions of these ids, or all of them when there are none, and reports whether there were any.
func (a *app) endSessions(ids []string) (any bool, err error) {
	ended, err := session.End(a.SessionsDir(),
		func(it session.Info) bool { return len(ids) == 0 || slices.Contains(ids, it.ID) })
	for _, it := range ended {
		if it.Busy {
			return true, fault.Refuse(125, "wait for its end", "session %q is in use: a call runs in it", it.ID)
		}
		a.Say("ended session %s", it.ID)
	}
	return len(ended) > 0, err
}

func (a *app) completeBoxes(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	return cli.CompleteFirst(func() (words []string) {
		list, _ := a.boxes() // none to offer
		for _, b := range list {
			words = append(words, b.Run+"\t"+cli.Printable(b.Profile))
		}
		return append(words, a.Sessions()...)
	})(c, args, word)
}

// whichRun says what boxNamed takes.
const whichRun = "RUN is the id that inner ps\nshows, or the beginning of it; without it the only box that can be meant is used, or\nof several the one that was started in this terminal."

// boxNamed is the box that runs and whose id begins with the word in args; without one the
// only box, the only one whose terminal is at one of these places, or the only one of those of this terminal.
func (a *app) boxNamed(args []string, at ...string) (box, error) {
	list, err := a.boxes()
	switch {
	case err != nil:
		return box{}, err
	case len(args) > 0:
		return byID(list, args[0], func(b box) string { return b.Run }, "inner ps", "no box of a run %q is running")
	}
	all, here := len(list), visit.Terminal(os.Getpid())
	for _, other := range []func(box) bool{
		func(b box) bool { return !slices.Contains(at, b.Terminal) },
		func(b box) bool { return here == "" || b.TTY != here },
	} {
		if meant := slices.DeleteFunc(slices.Clone(list), other); len(meant) > 0 {
			list = meant
		}
	}
	switch len(list) {
	case 0:
		return box{}, fault.Refuse(1, "", "no box is running")
	case 1:
		return list[0], nil
	}
	return box{}, fault.Refuse(2, "inner ps", "%d boxes are running, and none is named", all)
}

func (a *app) stop(args []string) error {
	b, err := a.boxNamed(args)
	if err != nil {
		return err
	}
	id := b.Run
	if err := visit.Signal(a.StageBase(), id, syscall.SIGTERM); err != nil {
		return err
	}
	visit.WakeUp(b.PID) // after ^Z
	if !a.ends(id, stopPatience) {
		a.Warn("the program did not end within %s, and is killed", stopPatience)
		if err := visit.Signal(a.StageBase(), id, syscall.SIGKILL); err != nil {
			return err
		}
		if !a.ends(id, stopPatience) {
			return fmt.Errorf("run %s was killed, and has not ended after %s", id, stopPatience)
		}
	}
	a.Say("ended %s", id)
	return nil
}

// ends waits until a run has ended, and reports whether it has.
func (a *app) ends(id string, patience time.Duration) bool {
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		live, err := stage.Running(a.StageBase())
		if err == nil && !slices.ContainsFunc(live, func(l stage.Live) bool { return l.ID == id }) {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

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
			b, err := a.boxNamed(args, launch.InItsTerminal, launch.Stopped, launch.Joined)
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
	b, err := a.boxNamed(args, launch.Detached, launch.Asks)
	if err != nil {
		return err
	}
	if !caller.IsTerminal(a.In) {
		return fault.Refuse(2, "type it in a terminal",
			"standard input is not a terminal, and the box needs one")
	}
	end, err := visit.Attach(stage.Door(a.StageBase(), b.Run), b.PID, a.In)
	if err == visit.ErrEnded {
		if run, none := a.findRun(b.Run); none == nil && run.State == records.Ended {
			a.Say("run %s has ended", b.Run)
			return cli.Exit(run.End.Code)
		}
	}
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
		launch.Starting: "starting", launch.InItsTerminal: "its own", launch.Detached: "detached", launch.Asks: "detached, asks", launch.Joined: "attached", launch.Stopped: "stopped",
	}
	switch b.Terminal {
	case launch.InItsTerminal, launch.Stopped:
		return b.TTY + ", " + words[b.Terminal]
	}
	return cmp.Or(words[b.Terminal], "-")
}
