package isolator

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/session"
	"github.com/enr/inner/isolator/streams"
)

// Cmd is one program in a box of its own. Set its fields before Start or Run; either may be
// called once. Exactly one of Argv and Line is set.
type Cmd struct {
	Argv []string // the program and its arguments
	Line string   // a command line for the shell of the box

	Dir     string            // box path to start in; "" is the session's folder, or else the profile's
	Env     map[string]string // in addition to the profile's variables
	Timeout time.Duration     // counts when it is shorter than the profile's; 0 is the profile's
	Actor   string            // on whose behalf, for the audit log

	// A nil Stdin is /dev/null; output to a nil Stdout or Stderr is discarded. The program gets
	// a *os.File itself and everything else through a pipe.
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	p    *Profile
	ctx  context.Context
	done chan struct{} // nil before Start; closed when result and err are known
	res  Result
	err  error
}

// Result says how a program ended.
type Result struct {
	Code     int    // the exit code; 128+N after signal N, 124 at the time limit
	Signal   string // the signal that ended it, such as "SIGTERM"; else ""
	TimedOut bool

	Run      string        // the id of the run, as in the audit log
	Took     time.Duration // includes making the box
	Limits   []string      // limits that were reached, in words
	Hosts    []string      // hosts that were requested and refused
	Blocked  []string      // commands that [noop] blocked
	Warnings []string      // of this run; those of Load are not kept
}

// Command returns a Cmd that runs a program with its arguments. When ctx is done, the whole box
// is killed.
func (p *Profile) Command(ctx context.Context, argv ...string) *Cmd {
	return &Cmd{p: p, ctx: ctx, Argv: argv}
}

// Shell returns a Cmd that runs a command line with bash where the box has it, else with sh.
func (p *Profile) Shell(ctx context.Context, line string) *Cmd {
	return &Cmd{p: p, ctx: ctx, Line: line}
}

// Run starts the program and waits for its end. An error is a *Refusal and means that the program
// did not run; a program that fails is no error.
func (c *Cmd) Run() (Result, error) {
	if err := c.Start(); err != nil {
		return Result{}, err
	}
	return c.Wait()
}

// Start begins to make the box and returns at once. Wait says whether the program started.
func (c *Cmd) Start() error {
	if c.done != nil {
		return refused(usage("this Cmd was started before"))
	}
	if (len(c.Argv) == 0) == (c.Line == "") || len(c.Argv) > 0 && c.Argv[0] == "" {
		return refused(usage("a Cmd has either Argv or Line"))
	}
	if err := c.ctx.Err(); err != nil {
		return refused(&fault.Refusal{Code: 125, Kind: fault.KindBackend, Msg: "the call was cancelled: " + err.Error()})
	}
	c.done = make(chan struct{})
	go func() {
		defer close(c.done)
		// Never unlocked: the thread ends with this goroutine, and with it what the launcher
		// changed about it. A box dies with the thread that started it.
		runtime.LockOSThread()
		c.err = refused(c.run())
	}()
	return nil
}

// Wait waits until the program has ended. The error is as that of Run.
func (c *Cmd) Wait() (Result, error) {
	if c.done == nil {
		return Result{}, refused(usage("this Cmd was not started"))
	}
	<-c.done
	return c.res, c.err
}

// run makes the call, on a thread of its own.
func (c *Cmd) run() (err error) {
	began, notes := time.Now(), new(caller.Notes)
	defer func() {
		c.res.Took, c.res.Warnings = time.Since(began), notes.List()
		if p := recover(); p != nil {
			err = &fault.Refusal{Code: 125, Kind: fault.KindBackend, Msg: fmt.Sprintf("inner failed: %v", p)}
		}
	}()
	if c.p, err = c.p.commanded(c); err != nil {
		return err
	}
	s, err := c.openSession()
	if err != nil {
		return err
	}
	defer s.Close()
	who := *c.p.caller
	who.Teller = notes
	finish, err := c.join(&who)
	if err != nil {
		return &fault.Refusal{Code: 125, Kind: fault.KindNoSandbox, Msg: err.Error()}
	}
	call, err := c.call(s)
	if err != nil {
		finish()
		return err
	}
	out, err := Run(c.p.settings.With(&who), call)
	finish()
	c.res.Run = out.ID
	if err != nil {
		return err
	}
	c.ended(out)
	if s != nil && c.Line != "" {
		s.Ended()
	}
	return nil
}

func (c *Cmd) openSession() (*session.Session, error) {
	if c.p.session == "" {
		return nil, nil
	}
	return session.Open(c.p.caller.SessionsDir(), session.Key{ID: c.p.session, Project: SessionProject(c.p.place), Profile: c.p.profile.Path})
}

// join gives the box its standard streams. finish waits until all output has been passed on.
func (c *Cmd) join(who *caller.Caller) (finish func(), err error) {
	var closers []func()
	finish = func() {
		for _, f := range closers {
			f()
		}
	}
	who.Stdin, who.Stdout, who.Stderr = nil, nil, nil
	switch in := c.Stdin.(type) {
	case nil:
	case *os.File:
		if who.Stdin = in; caller.IsTerminal(in) { // nobody types for a program that was started by another
			who.Stdin = nil
		}
	default:
		i, err := streams.NewInput(in)
		if err != nil {
			return finish, err
		}
		who.Stdin, closers = i.R, append(closers, i.End)
	}
	for _, o := range []struct {
		to  io.Writer
		out **os.File
	}{{c.Stdout, &who.Stdout}, {c.Stderr, &who.Stderr}} {
		if f, ok := o.to.(*os.File); ok && !caller.IsTerminal(f) {
			*o.out = f
			continue
		}
		to := o.to
		if to == nil {
			to = io.Discard
		}
		pipe, err := streams.NewOutput(0, to)
		if err != nil {
			finish()
			return finish, err
		}
		*o.out = pipe.W
		closers = append(closers, func() { pipe.End() })
	}
	return finish, nil
}

// call turns the Cmd into what Run takes.
func (c *Cmd) call(s *session.Session) (Call, error) {
	for name, v := range c.Env {
		if strings.ContainsAny(name, "=\x00") || name == "" || strings.ContainsRune(v, 0) {
			return Call{}, usage("env: %q cannot be a variable", name)
		}
	}
	for _, w := range append([]string{c.Line, c.Dir}, c.Argv...) {
		if strings.ContainsRune(w, 0) {
			return Call{}, usage("an argument contains a NUL character")
		}
	}
	call := c.p.callOf()
	call.Done, call.By.Actor = c.ctx.Done(), c.Actor
	err := Asked{c.Argv, c.Line, c.Dir, c.Env, c.Timeout}.Into(&call, c.p.caller, c.p.spec, s)
	return call, err
}

// ended fills in the result.
func (c *Cmd) ended(out features.Outcome) {
	r := &c.res
	r.Code, r.TimedOut, r.Limits = out.Code, out.TimedOut, out.Limits
	if out.Signal != 0 {
		r.Signal = unix.SignalName(out.Signal)
	}
	r.Hosts, r.Blocked = runlog.RefusedHosts(out.Hosts), slices.Sorted(maps.Keys(out.Blocked))
}
