// Package calls runs calls of tools, each in a box of its own, for programs that read what
// came of them: `inner exec`, and Go programs.
//
//	r, err := calls.New(caller, calls.Options{Role: "guest", AsRole: true, Dir: "/home/u/app"})
//	a := r.Do(ctx, calls.Request{Argv: []string{"ls", "-l"}})
//	if a.Err != nil { ... }
//
// A call takes the way of `inner run`: isolator.Run. What is different is at its edges: no
// terminal, standard input from a text, the outputs kept up to a bound, and an Answer in the
// place of an exit code. A Runner may be used by several goroutines; its process must call
// isolator.Main first, as cmd/inner does.
package calls

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/session"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/isolator/streams"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/strict"
)

// Options are what all calls of a Runner share.
type Options struct {
	Profile string // as `inner run -p` takes it, no URL
	Role    string // of calls that name none, when AsRole; then Profile is ""
	AsRole  bool
	Dir     string // the folder the calls are about; "" is the current one
	Session string // of calls that name none; "" for none
	Actor   string // of calls that name none
}

// Runner runs calls.
type Runner struct {
	caller *caller.Caller
	o      Options

	mu     sync.Mutex
	loads  map[which]*loaded
	path   pathFolders
	warned map[string]bool
	swept  time.Time
}

// New returns a Runner. Nothing is read yet.
func New(c *caller.Caller, o Options) (*Runner, error) {
	if (o.Profile == "") == !o.AsRole {
		return nil, misuse("a call has either a profile or a role")
	}
	if o.Session != "" {
		if err := (session.Key{ID: o.Session}).Check(); err != nil {
			return nil, err
		}
	}
	if o.Dir == "" {
		o.Dir = "."
	}
	dir, err := filepath.Abs(o.Dir)
	o.Dir = dir
	return &Runner{caller: c, o: o, loads: map[which]*loaded{}, warned: map[string]bool{}}, err
}

// Streams are the standard streams of a call that passes them through.
type Streams struct{ In, Out, Err *os.File }

// Do runs a call and returns what came of it. When ctx is done its box is killed.
func (r *Runner) Do(ctx context.Context, q Request) Answer {
	var a Answer
	done := make(chan struct{})
	go func() {
		defer close(done)
		// For good: the thread ends with this goroutine, and with it what launch.Run has
		// changed of it. A box whose goroutine ends early dies with the thread.
		runtime.LockOSThread()
		defer func() {
			if p := recover(); p != nil {
				a = Answer{ID: q.ID, Err: &fault.Refusal{Code: 125, Kind: fault.KindBackend, Msg: fmt.Sprintf("inner failed: %v", p), Hint: "report it, with: " + lastFrames()}}
			}
		}()
		a = r.run(q, ctx.Done(), nil)
	}()
	<-done
	if ctx.Err() != nil && !a.TimedOut {
		a.Err = &fault.Refusal{Code: 125, Kind: fault.KindBackend, Msg: "the call was cancelled"}
	}
	return a
}

func lastFrames() string {
	stack := strings.Fields(string(debug.Stack()))
	return strings.Join(stack[:min(len(stack), 40)], " ")
}

// Here runs one call on the calling goroutine, which must be the main one with its thread
// locked, as for launch.Run; signals that come are the program's. With streams an output goes
// there where it is not nil; In is the standard input when the request has no Stdin.
func (r *Runner) Here(q Request, streams *Streams) Answer { return r.run(q, nil, streams) }

// run is a call from its beginning to its end.
func (r *Runner) run(q Request, done <-chan struct{}, pass *Streams) (a Answer) {
	began, n := time.Now(), new(caller.Notes)
	defer func() {
		setUp, run := n.Parts()
		a.ID, a.Took, a.Warnings = q.ID, time.Since(began), append(r.once(setUp), run...)
		if a.Err == nil && a.TimedOut {
			a.Err = &fault.Refusal{Code: 124, Kind: fault.KindTimeout, Msg: "the program was stopped at its time limit"}
		}
	}()
	w := which{name: r.o.Profile, role: r.o.Role, asRole: r.o.AsRole}
	if q.HasRole {
		w.role = q.Role
	}
	if q.HasRole && !w.asRole {
		a.Err = misuse("role: these calls have the profile %q, and no roles", r.o.Profile)
	} else {
		a.Err = q.Check()
	}
	if a.Err != nil {
		return a
	}
	asked := isolator.Asked{
		Argv: q.Argv, Line: q.Line, Dir: q.Cwd, Env: q.Env, Timeout: time.Duration(q.Timeout) * time.Millisecond,
		Session: cmp.Or(q.Session, r.o.Session), Actor: cmp.Or(q.Actor, r.o.Actor),
	}
	l, err := r.loadFor(w, asked)
	a.Role = l.Role.Name
	if l.Profile != nil {
		a.Profile = l.Profile.Name
	}
	if err != nil {
		r.auditRefusal(l, asked, err)
		a.Err = refusal(err)
		return a
	}
	r.sweep(l)
	a.Err = r.start(&a, q, l, asked, isolator.Call{Word: "exec", Done: done, Began: n.Began}, r.callerOf(n), pass)
	return a
}

// loadFor loads the profile that a call runs in: another one where [commands] says so.
func (r *Runner) loadFor(w which, asked isolator.Asked) (*loaded, error) {
	l, err := r.load(w)
	if err != nil {
		return l, err
	}
	name, err := l.Another(asked)
	if err != nil || name == "" {
		return l, err
	}
	w.name = name
	other, err := r.load(w)
	if err != nil {
		return other, err
	}
	if gives, err := settings.Gives(l.Commands, l.Role.Name, l.Spec, other.Spec); !gives {
		return l, err
	}
	return other, nil
}

// start runs a call with its streams, and puts what came of it into its answer. With pass, an
// output is the program's own where it is not nil, and input where the request has none.
func (r *Runner) start(a *Answer, q Request, l *loaded, asked isolator.Asked, c isolator.Call, who *caller.Caller, pass *Streams) error {
	most := cmp.Or(l.Spec.Output.MaxOutput, profile.DefaultMaxOutput)
	if q.Max > 0 {
		most = min(most, q.Max)
	}
	stdout, stderr := &streams.Kept{Max: most}, &streams.Kept{Max: most}
	var in *os.File
	var out, err2 io.Writer = stdout, stderr
	if pass != nil {
		in = pass.In
		if pass.Out != nil {
			out = pass.Out
		}
		if pass.Err != nil {
			err2 = pass.Err
		}
	}
	if q.Stdin != "" {
		text, err := streams.Text(q.Stdin)
		if err != nil {
			return noStreams(err)
		}
		defer text.Close()
		in = text
	}
	files, err := streams.Open(in, out, err2)
	if err != nil {
		return noStreams(err)
	}
	defer files.Close()
	who.Stdin, who.Stdout, who.Stderr = files.In, files.Out, files.Err
	a.Result, err = l.Do(who, asked, c)
	if err != nil {
		return refusal(err)
	}
	files.Close()
	a.Started = true
	a.keep("stdout", &a.Stdout, stdout)
	a.keep("stderr", &a.Stderr, stderr)
	return nil
}

func noStreams(err error) error {
	return &fault.Refusal{Code: 125, Kind: fault.KindNoSandbox, Msg: err.Error()}
}

// sweep ends the sessions that nobody uses any more, now and then.
func (r *Runner) sweep(l *loaded) {
	const every = 10 * time.Minute
	r.mu.Lock()
	due := time.Since(r.swept) > every
	if due {
		r.swept = time.Now()
	}
	r.mu.Unlock()
	if !due {
		return
	}
	_ = session.Sweep(r.caller.SessionsDir(), isolator.SessionIdle(l.Settings.With(r.caller))) // what cannot be removed is in nobody's way
}

// refusal is an error as a program reads it.
func refusal(err error) error {
	if fault.AsRefusal(err) != nil {
		return err
	}
	r := &fault.Refusal{Code: fault.Code(err), Kind: fault.KindOf(err), Msg: err.Error(), Hint: "inner profile validate"}
	r.Msg, _, _ = strings.Cut(r.Msg, "\n")
	if _, unknown := errors.AsType[*profile.NotFoundError](err); unknown {
		r.Hint = "inner profile list"
	}
	if problems, many := errors.AsType[strict.Problems](err); many && len(problems) > 0 {
		r.Hint = "edit " + problems[0].File
	}
	return r
}

// callerOf is the caller of one call.
func (r *Runner) callerOf(n *caller.Notes) *caller.Caller {
	c := *r.caller
	c.Stdin, c.Stdout, c.Stderr, c.Teller, c.Installed = nil, nil, nil, n, r.installed()
	return &c
}
