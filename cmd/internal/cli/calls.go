package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator"
	"github.com/enr/inner/isolator/calls"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/session"
)

// SessionFlag is --session of calls of tools.
func (a *App) SessionFlag(c *cobra.Command, id *string) {
	c.Flags().StringVar(id, "session", "", "share /tmp and the working folder with the other calls of session `ID`")
	_ = c.RegisterFlagCompletionFunc("session", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return a.Sessions(), cobra.ShellCompDirectiveNoFileComp
	})
}

// Sessions are the sessions that are there, as words to complete.
func (a *App) Sessions() (words []string) {
	list, _ := session.List(a.SessionsDir()) // none to offer
	for _, it := range list {
		words = append(words, it.ID+"\tsession, "+a.Short(it.Project))
	}
	return words
}

// ErrNoProfile refuses a call of a tool that names neither a profile nor a role.
func ErrNoProfile() error { return Usagef("the profile is missing: -p NAME or --as ROLE") }

// Runner runs calls of tools.
func (a *App) Runner(o isolator.Options, actor string) (*calls.Runner, error) {
	if err := a.FirstUse(); err != nil {
		return nil, err
	}
	return calls.New(a.Caller, o, actor)
}

// Exec runs one call with the streams of inner, and exits as it did.
func (a *App) Exec(r *calls.Runner, q calls.Request) error {
	answer := r.Here(q, calls.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	for _, text := range answer.Warnings {
		a.Warn("%s", text)
	}
	if answer.Err != nil {
		a.Fail(answer.Err)
	}
	if !answer.Started {
		return Exit(fault.Code(answer.Err))
	}
	return Exit(answer.Code)
}

// OutliveReaders makes a reader that is gone an error of writing, and not the end of this process. What it starts still
// ends of it.
func OutliveReaders() { signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE) }

// UntilSignal runs a server, and ends it at a signal.
func UntilSignal(serve func(context.Context) error) error {
	ctx, stop := features.Interruptible(nil)
	defer stop()
	OutliveReaders()
	err := serve(ctx)
	switch {
	case ctx.Err() != nil:
		return Exit(SignalCode(ctx))
	case errors.Is(err, unix.EPIPE):
		return Exit(128 + int(unix.SIGPIPE))
	}
	return err
}

// SignalCode is the exit code of a command whose context a signal ended (features.Interruptible); 1 when none did.
func SignalCode(ctx context.Context) int {
	if s, is := errors.AsType[*features.SignalledError](context.Cause(ctx)); is {
		return 128 + int(s.Signal)
	}
	return 1
}
