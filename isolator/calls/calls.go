// Package calls runs calls of tools, each in a box of its own, for programs that read what
// came of them: `inner exec`, and Go programs.
//
//	r, err := calls.New(caller, calls.Options{Role: "guest", AsRole: true, Dir: "/home/u/app"})
//	a := r.Do(ctx, calls.Request{Argv: []string{"ls", "-l"}})
//	if a.Err != nil { ... }
//
// A call takes the way of `inner run`: isolator.Run. What is different is at its edges: no
// terminal, standard input from a text, the outputs kept up to a bound, and an Answer in the
// place of an exit code. A Runner may be used by several goroutines; its process must let
// supervisor.Run have the first word in main, as cmd/inner does.
package calls

import (
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
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/session"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/isolator/streams"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
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
	loads  map[string]*loaded
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
	return &Runner{caller: c, o: o, loads: map[string]*loaded{}, warned: map[string]bool{}}, err
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
func (r *Runner) run(q Request, done <-chan struct{}, streams *Streams) (a Answer) {
	began, n := time.Now(), new(caller.Notes)
	a.ID = q.ID
	defer func() {
		setUp, run := n.Parts()
		a.Took, a.Warnings = time.Since(began), append(r.once(setUp), run...)
	}()
	role, asRole := r.o.Role, r.o.AsRole
	switch {
	case q.HasRole && !asRole:
		a.Err = misuse("role: these calls have the profile %q, and no roles", r.o.Profile)
		return a
	case q.HasRole:
		role = q.Role
	}
	if a.Err = q.Check(); a.Err != nil {
		return a
	}
	l, err := r.load(role, asRole, "")
	if err == nil && len(q.Env) == 0 { // a variable can make another program of a name
		var instead string
		if instead, err = settings.Commanded(l.commands, q.Argv, q.Line); instead != "" {
			l, err = r.load(role, asRole, instead)
		}
	} else if err == nil && l.commands.Only {
		_, err = settings.Commanded(config.Commands{Only: true}, q.Argv, q.Line)
	}
	a.Role = l.role.Name
	if l.profile != nil {
		a.Profile = l.profile.Name
	}
	if err != nil {
		a.Err = refusal(err)
		r.auditRefusal(l, q, err)
		return a
	}
	if a.Err = r.start(&a, q, l, n, done, streams); a.Err == nil && a.TimedOut {
		a.Err = &fault.Refusal{Code: 124, Kind: fault.KindTimeout, Msg: "the program was stopped at its time limit"}
	}
	return a
}

// start gives a call its files and its session, and runs it.
func (r *Runner) start(a *Answer, q Request, l *loaded, n *caller.Notes, done <-chan struct{}, streams *Streams) error {
	s, err := r.session(q, l)
	if err != nil {
		return err
	}
	defer s.Close()
	std, err := openStreams(q, l.spec, streams)
	if err != nil {
		return &fault.Refusal{Code: 125, Kind: fault.KindNoSandbox, Msg: err.Error()}
	}
	defer std.close()
	who := r.callerOf(std, n)
	c, err := r.call(q, l, s)
	if err != nil {
		return err
	}
	c.Done, c.Began = done, n.Began
	var out features.Outcome
	out, err = isolator.Run(l.settings.With(who), c)
	a.Run = out.ID
	if err != nil {
		return refusal(err)
	}
	a.ended(out)
	std.end(a)
	if s != nil && q.Line != "" {
		s.Ended()
	}
	return nil
}

// call is a request as isolator.Run takes it.
func (r *Runner) call(q Request, l *loaded, s *session.Session) (isolator.Call, error) {
	c := isolator.Call{Profile: l.profile, Context: l.context, Word: "exec", By: l.role.By(orElse(q.Actor, r.o.Actor), "")}
	asked := isolator.Asked{Argv: q.Argv, Line: q.Line, Dir: q.Cwd, Env: q.Env, Timeout: time.Duration(q.Timeout) * time.Millisecond}
	return c, asked.Into(&c, r.caller, l.spec, s)
}

// session opens the session of a request, nil when it has none.
func (r *Runner) session(q Request, l *loaded) (*session.Session, error) {
	id := orElse(q.Session, r.o.Session)
	r.sweep(l)
	if id == "" {
		return nil, nil
	}
	key := session.Key{ID: id, Project: isolator.SessionProject(l.place), Profile: l.profile.Path}
	return session.Open(r.caller.SessionsDir(), key)
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
	idle := session.DefaultIdle
	if cfg, err := l.settings.With(r.caller).GlobalConfig(); err == nil && cfg.SessionIdle > 0 {
		idle = cfg.SessionIdle
	}
	_ = session.Sweep(r.caller.SessionsDir(), idle) // what cannot be removed is in nobody's way
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

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// standard are the standard streams of one call.
type standard struct {
	in       *os.File
	out, err *streams.Output
	passed   *Streams
	own      bool // in is ours to close
}

// openStreams opens what a program reads and writes. With passed, an output that is no
// terminal is the program's own.
func openStreams(q Request, spec profile.RunConfig, passed *Streams) (*standard, error) {
	s := &standard{passed: passed}
	var to [2]io.Writer
	capture := [2]bool{true, true}
	if passed != nil {
		for i, f := range []*os.File{passed.Out, passed.Err} {
			if capture[i] = f == nil || caller.IsTerminal(f); f != nil {
				to[i] = f
			}
		}
		if f := passed.In; f != nil && !caller.IsTerminal(f) {
			s.in = f
		}
	}
	var err error
	if q.Stdin != "" {
		if s.in, err = streams.Text(q.Stdin); err != nil {
			return nil, err
		}
		s.own = true
	}
	most := spec.Output.MaxOutput
	if most == 0 {
		most = profile.DefaultMaxOutput
	}
	if q.Max > 0 && q.Max < most {
		most = q.Max
	}
	if capture[0] {
		if s.out, err = streams.NewOutput(most, to[0]); err != nil {
			s.close()
			return nil, err
		}
	}
	if capture[1] {
		if s.err, err = streams.NewOutput(most, to[1]); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// end puts what the program has written into its answer.
func (s *standard) end(a *Answer) {
	for _, o := range []struct {
		name string
		from **streams.Output
		to   *[]byte
	}{{"stdout", &s.out, &a.Stdout}, {"stderr", &s.err, &a.Stderr}} {
		if *o.from == nil {
			continue
		}
		var cut bool
		if *o.to, cut = (*o.from).End(); cut {
			a.Truncated = append(a.Truncated, o.name)
		}
		*o.from = nil
	}
}

func (s *standard) close() {
	s.end(new(Answer))
	if s.own {
		s.in.Close()
	}
}

// callerOf is the caller of one call.
func (r *Runner) callerOf(s *standard, n *caller.Notes) *caller.Caller {
	c := *r.caller
	c.Stdin, c.Stdout, c.Stderr, c.Teller, c.Installed = nil, nil, nil, n, r.installed()
	if s != nil {
		c.Stdin = s.in
		if s.passed != nil {
			c.Stdout, c.Stderr = s.passed.Out, s.passed.Err
		}
		if s.out != nil {
			c.Stdout = s.out.W
		}
		if s.err != nil {
			c.Stderr = s.err.W
		}
	}
	return &c
}
