package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator"
	"github.com/enr/inner/isolator/calls"
)

type execFlags struct {
	profile, session, dir, line string
	who                         cli.WhoFlags
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
		Args: cli.AfterDash("the command goes"),
	}
	fl := c.Flags()
	a.ProfileFlag(c, &f.profile)
	f.who.Add(a.App, c)
	a.SessionFlag(c, &f.session)
	fl.StringVarP(&f.dir, "directory", "C", "", "the folder to run in, instead of the current one")
	fl.StringVarP(&f.line, "command", "c", "", "a command `LINE` for the shell of the box")
	cli.JSONFlag(c, &f.json)
	fl.BoolVar(&f.serve, "serve", false, "read requests and write answers, line by line")
	_ = c.RegisterFlagCompletionFunc("command", cobra.NoFileCompletions)
	_ = c.MarkFlagDirname("directory")
	c.RunE = a.OnHost(func(cmd *cobra.Command, args []string) error {
		if err := f.check(cmd, args); err != nil {
			return err
		}
		r, err := a.Runner(isolator.Options{Name: f.profile, Role: f.who.As, AsRole: f.who.Asked, Dir: f.dir, Session: f.session}, f.who.Actor)
		if err != nil {
			return err
		}
		switch {
		case f.serve:
			return a.serveCalls(r)
		case f.json:
			return a.execJSON(r, f, args)
		}
		return a.Exec(r, calls.Request{Argv: args, Line: f.line})
	})
	return c
}

func (f *execFlags) check(cmd *cobra.Command, args []string) error {
	line := cmd.Flags().Changed("command")
	command := len(args) > 0 || line
	if err := cmp.Or(f.who.Check(cmd), cli.Apart(cmd, "json", "serve")); err != nil {
		return err
	}
	switch {
	case !f.who.Asked && !cmd.Flags().Changed("profile"):
		return cli.ErrNoProfile()
	case len(args) > 0 && line:
		return cli.Usagef("either a command after --, or a command line with -c")
	case f.serve && command:
		return cli.Usagef("--serve reads its commands from standard input")
	case !f.serve && !f.json && !command:
		return cli.Usagef("no command: write it after --, or a command line with -c")
	}
	return cli.Filled(cmd, "profile", "session", "directory", "command")
}

// execJSON runs one call and writes its answer.
func (a *app) execJSON(r *calls.Runner, f execFlags, args []string) error {
	q, streams := calls.Request{Argv: args, Line: f.line}, calls.Streams{In: os.Stdin}
	var wrong error
	if len(args) == 0 && f.line == "" {
		text, err := io.ReadAll(io.LimitReader(a.In, calls.MaxLine+1))
		if err != nil {
			return cli.Usagef("standard input: %w", err)
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
	_, err = fmt.Fprintf(tell.Raw(a.Out), "%s\n", text)
	return err
}

// serveCalls answers until the end of standard input, or until a signal ends all boxes.
func (a *app) serveCalls(r *calls.Runner) error {
	debug.SetGCPercent(400) // each call leaves some MB of garbage, and little stays
	return cli.UntilSignal(func(ctx context.Context) error { return r.Serve(ctx, a.In, tell.Raw(a.Out)) })
}
