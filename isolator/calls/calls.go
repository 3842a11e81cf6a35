// Package calls runs calls of tools, for programs that read what came of them: `inner exec` and `inner mcp`.
//
//	r, err := calls.New(caller, isolator.Options{Role: "guest", AsRole: true, Dir: "/home/u/app"}, "")
//	a := r.Do(ctx, calls.Request{Argv: []string{"ls", "-l"}})
//	if a.Err != nil { ... }
//
// A call is an isolator.Cmd, whose standard input is a text and whose outputs are kept up to a bound; an
// Answer says what came of it. A Runner may be used by several goroutines; its process must call
// isolator.Main first, as cmd/inner does.
package calls

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/roles"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/session"
	"github.com/enr/inner/isolator/streams"
)

// Runner runs calls.
type Runner struct {
	caller *caller.Caller
	o      isolator.Options // of calls that name no others
	actor  string

	mu     sync.Mutex
	warned map[string]bool
	swept  time.Time
}

// New returns a Runner for a profile, which may be named by its path as inner run takes it, or a role, AsRole.
// Nothing is read yet.
func New(c *caller.Caller, o isolator.Options, actor string) (*Runner, error) {
	if (o.Name == "") == !o.AsRole {
		return nil, fault.Refuse(2, "", "a call has either a profile or a role")
	}
	if o.Session != "" {
		if err := (session.Key{ID: o.Session}).Check(); err != nil {
			return nil, err
		}
	}
	if strings.Contains(o.Name, "/") {
		o.Name, o.File = "", o.Name
	}
	dir, err := filepath.Abs(cmp.Or(o.Dir, "."))
	o.Dir = dir
	return &Runner{caller: c, o: o, actor: actor, warned: map[string]bool{}}, err
}

// Streams are the standard streams of a call that passes them through; nil is none.
type Streams struct{ In, Out, Err *os.File }

// Do runs a call and returns what came of it. When ctx is done its box is killed.
func (r *Runner) Do(ctx context.Context, q Request) Answer {
	a := r.run(ctx, q, Streams{}, (*isolator.Cmd).Run)
	if ctx.Err() != nil && !a.TimedOut {
		a.Err = &fault.Refusal{Code: 125, Kind: fault.KindBackend, Msg: "the call was cancelled"}
	}
	return a
}

// Here runs one call on the calling goroutine, see isolator.Cmd.RunAlone. An output goes to that of the
// streams, where there is one; so does input when the request has no Stdin.
func (r *Runner) Here(q Request, pass Streams) Answer {
	return r.run(context.Background(), q, pass, (*isolator.Cmd).RunAlone)
}

// runs is how a call is run.
type runs func(*isolator.Cmd) (isolator.Result, error)

// run is a call from its beginning to its end.
func (r *Runner) run(ctx context.Context, q Request, pass Streams, run runs) (a Answer) {
	began := time.Now()
	defer func() { a.ID, a.Took = q.ID, time.Since(began) }()
	o, named := r.o, cmp.Or(r.o.Name, r.o.File)
	if o.Session = cmp.Or(q.Session, o.Session); q.HasRole {
		o.Role = q.Role
	}
	if a.Err = q.Check(); q.HasRole && !o.AsRole {
		a.Err = fault.Refuse(2, "", "role: these calls have the profile %q, and no roles", named)
	}
	if a.Err != nil {
		return a
	}
	who := *r.caller
	who.Teller = new(isolator.Notes)
	actor := cmp.Or(q.Actor, r.actor)
	p, err := isolator.LoadFor(&who, "exec", o)
	a.Profile, a.Role = p.Name(), p.Role()
	if err != nil {
		a.Err = err
		who.Audit(runlog.Event{ // what is refused later is noted by the run
			Type: runlog.EventRefused, Profile: cmp.Or(a.Profile, named), Path: p.Path(), Command: "exec", Cwd: r.o.Dir,
			Code: fault.Code(a.Err), Reason: a.Err.Error(), By: roles.Role{Name: a.Role}.By(actor, o.Session),
		})
		return a
	}
	r.sweep()
	c := p.Command(ctx, q.Argv...)
	c.Line, c.Dir, c.Env, c.Actor, c.Timeout = q.Line, q.Cwd, q.Env, actor, time.Duration(q.Timeout)*time.Millisecond
	q.Max = min(cmp.Or(q.Max, p.MaxOutput()), p.MaxOutput())
	if a.Err = a.connected(c, q, pass, run); a.Err == nil && a.TimedOut {
		a.Err = &fault.Refusal{Code: 124, Kind: fault.KindTimeout, Msg: "the program was stopped at its time limit"}
	}
	a.Warnings = append(r.once(a.SetUp), a.Warnings...)
	return a
}

// connected runs a call with its streams, and puts what came of it into its answer.
func (a *Answer) connected(c *isolator.Cmd, q Request, pass Streams, run runs) (err error) {
	stdout, stderr := &streams.Kept{Max: q.Max}, &streams.Kept{Max: q.Max}
	c.Stdout, c.Stderr = io.Writer(stdout), io.Writer(stderr)
	if pass.Out != nil {
		c.Stdout = pass.Out
	}
	if pass.Err != nil {
		c.Stderr = pass.Err
	}
	switch {
	case q.Stdin != "":
		c.Stdin = strings.NewReader(q.Stdin)
	case pass.In != nil:
		c.Stdin = pass.In
	}
	profile, role := a.Profile, a.Role
	a.Result, err = run(c)
	a.Profile, a.Role = cmp.Or(a.Profile, profile), cmp.Or(a.Role, role) // also of a call that was cancelled before
	if a.Started = err == nil; err != nil {
		return err
	}
	a.keep("stdout", &a.Stdout, stdout)
	a.keep("stderr", &a.Stderr, stderr)
	return nil
}

// sweep ends the sessions that nobody uses any more, now and then.
func (r *Runner) sweep() {
	const every = 10 * time.Minute
	r.mu.Lock()
	due := time.Since(r.swept) > every
	if due {
		r.swept = time.Now()
	}
	r.mu.Unlock()
	if due { // what cannot be removed is in nobody's way
		_ = session.Sweep(r.caller.SessionsDir(), session.Idle)
	}
}

// mostWarned bounds what is remembered of warnings.
const mostWarned = 1000

// once keeps the warnings that no call has told before.
func (r *Runner) once(texts []string) (out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range texts {
		if r.warned[t] {
			continue
		}
		if len(r.warned) > mostWarned {
			clear(r.warned)
		}
		r.warned[t] = true
		out = append(out, t)
	}
	return out
}
