package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/calls"
)

type execFlags struct {
	profile, session, dir, line string
	who                         whoFlags
	json, serve                 bool
}

func (a *app) cmdExec() *cobra.Command {
	var f execFlags
	c := &cobra.Command{
		Use:   "exec (-p NAME | --as ROLE) [--session ID] [-C DIR] [--json | --serve] (-- ARGV | -c LINE)",
		Short: "Run one command in a profile's sandbox, for programs that read the answer",
		Long: "Run one command in the sandbox of a profile or of a role, without a terminal, and exit with\n" +
			"its exit code. What the profile itself would run is not run.\n\n" +
			"With --json: write what came of it as one JSON object; the exit code is 0 whenever one was\n" +
			"written. Without a command the request is read from standard input, as JSON.\n" +
			"With --serve: read requests, one a line, and write answers as they come.\n\n" +
			"A request has argv or line, and may have id, cwd, env, stdin, timeout_ms, max_output, role,\n" +
			"session and actor. An answer has started, code, stdout, stderr and what was refused; error\n" +
			"says why nothing was started.",
		Example: "  inner exec -p claude --json -- ls -la\n" +
			"  echo '{\"argv\":[\"ls\",\"-la\"],\"timeout_ms\":5000}' | inner exec --as guest --json",
		Args:              afterDash("the command goes"),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	fl := c.Flags()
	a.profileFlag(c, &f.profile)
	f.who.add(a, c)
	a.sessionFlag(c, &f.session)
	fl.StringVarP(&f.dir, "directory", "C", "", "the folder to run in, instead of the current one")
	fl.StringVarP(&f.line, "command", "c", "", "a command `LINE` for the shell of the box")
	jsonFlag(c, &f.json)
	fl.BoolVar(&f.serve, "serve", false, "read requests and write answers, line by line")
	_ = c.RegisterFlagCompletionFunc("command", cobra.NoFileCompletions)
	_ = c.MarkFlagDirname("directory")
	c.RunE = a.onHost(func(cmd *cobra.Command, args []string) error {
		if err := f.check(cmd, args); err != nil {
			return err
		}
		r, err := a.runner(calls.Options{Profile: f.profile, Role: f.who.as, AsRole: f.who.asked, Dir: f.dir, Session: f.session, Actor: f.who.actor})
		if err != nil {
			return err
		}
		switch {
		case f.serve:
			return a.serveCalls(r)
		case f.json:
			return a.execJSON(r, f, args)
		}
		return a.exec(r, calls.Request{Argv: args, Line: f.line})
	})
	return c
}

// runner runs calls of tools.
func (a *app) runner(o calls.Options) (*calls.Runner, error) {
	if err := a.firstUse(); err != nil {
		return nil, err
	}
	return calls.New(a.Caller, o)
}

func (f *execFlags) check(cmd *cobra.Command, args []string) error {
	if err := f.who.check(cmd); err != nil {
		return err
	}
	line := cmd.Flags().Changed("command")
	command := len(args) > 0 || line
	if err := cmp.Or(apart(cmd, "json", "serve"), f.named(cmd)); err != nil {
		return err
	}
	switch {
	case len(args) > 0 && line:
		return usagef("either a command after --, or a command line with -c")
	case f.serve && command:
		return usagef("--serve reads its commands from standard input")
	case !f.serve && !f.json && !command:
		return usagef("no command: write it after --, or a command line with -c")
	}
	return filled(cmd, "profile", "session", "directory", "command")
}

// named wants a profile or a role.
func (f *execFlags) named(cmd *cobra.Command) error {
	if !f.who.asked && !cmd.Flags().Changed("profile") {
		return errNoProfile()
	}
	return nil
}

// exec runs one call with the streams of inner, and exits as it did.
func (a *app) exec(r *calls.Runner, q calls.Request) error {
	answer := r.Here(q, calls.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	for _, text := range answer.Warnings {
		a.Warn("%s", text)
	}
	if answer.Err != nil {
		a.Fail(answer.Err)
	}
	if !answer.Started {
		return exit(fault.Code(answer.Err))
	}
	return exit(answer.Code)
}

// execJSON runs one call and writes its answer.
func (a *app) execJSON(r *calls.Runner, f execFlags, args []string) error {
	q, streams := calls.Request{Argv: args, Line: f.line}, calls.Streams{In: os.Stdin}
	var wrong error
	if len(args) == 0 && f.line == "" {
		text, err := io.ReadAll(io.LimitReader(a.stdin, calls.MaxLine+1))
		if err != nil {
			return usagef("standard input: %w", err)
		}
		streams.In = nil
		if q, wrong = calls.Parse(text); len(text) > calls.MaxLine {
			q, wrong = calls.Request{}, fault.Refuse(2, "", "the request is longer than %d bytes", calls.MaxLine)
		}
	}
	answer := calls.Answer{ID: q.ID, Err: wrong}
	if wrong == nil {
		answer = r.Here(q, streams)
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(tell.Raw(a.stdout), "%s\n", text)
	return err
}

// serveCalls answers until the end of standard input, or until a signal ends all boxes.
func (a *app) serveCalls(r *calls.Runner) error {
	debug.SetGCPercent(400) // each call leaves some MB of garbage, and little stays
	return untilSignal(func(ctx context.Context) error { return r.Serve(ctx, a.stdin, tell.Raw(a.stdout)) })
}

// outliveReaders makes a reader that is gone an error of writing, and not the end of this process. What it starts still
// ends of it.
func outliveReaders() { signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE) }

// untilSignal runs a server, and ends it at a signal.
func untilSignal(serve func(context.Context) error) error {
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT)
	outliveReaders()
	go func() { stop(signalled{(<-signals).(unix.Signal)}) }()
	err := serve(ctx)
	var died signalled
	switch {
	case errors.As(context.Cause(ctx), &died):
		return exit(128 + int(died.Signal))
	case errors.Is(err, unix.EPIPE):
		return exit(128 + int(unix.SIGPIPE))
	}
	return err
}

// signalled is the end of a server by a signal.
type signalled struct{ unix.Signal }

func (s signalled) Error() string { return s.String() }
