package launch

import (
	"errors"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/limits"
	"github.com/enr/inner/isolator/plan"
)

// Calls gives calls to a box that has no program of its own (Options.Calls): each is a job of
// its own. The zero value is ready; its methods may be called by several goroutines.
type Calls struct {
	// The loop's.
	runs         map[uint32]*CallRun
	last         uint32
	kills, forks uint64 // that a limit has cost until now

	mu      sync.Mutex
	box     *session      // nil when there is none
	over    chan struct{} // closed when there is none any more
	reached []string      // the keys of limits since Reached
	again   places        // since Replaced
}

// CallRun is a call that was given to the box.
type CallRun struct {
	// Said gets what the first process says of it: once Failed or Ended, and Killed, as often as it is to be killed. It is
	// closed when the box has ended, and the call with it.
	Said chan wire.Msg

	calls *Calls
	id    uint32
}

// mostSaid is how much may be said of a call before somebody listens.
const mostSaid = 16

// EndOf is the end of a call that a message tells; ok is false for any other.
func EndOf(m wire.Msg) (r Result, ok bool) {
	switch m.Kind {
	case wire.Failed:
		return Result{Code: int(m.N), Reason: wire.Line(m.Text)}, true
	case wire.Ended:
		return programEnd(syscall.WaitStatus(m.N)), true
	}
	return r, false
}

// Lost is the end of a call whose box has ended.
func Lost() Result {
	return Result{Started: true, Code: 128 + int(syscall.SIGKILL), Signal: syscall.SIGKILL}
}

// errNoBox is what a call gets when the box has ended.
var errNoBox = errors.New("the box has ended")

// do has the loop do something, and reports whether there is one.
func (c *Calls) do(f func(s *session)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.box; s != nil {
		s.inbox.do(func() { f(s) })
	}
	return c.box != nil
}

// Start has the box run the program of a plan, of which only that, its arguments, environment
// and folder count, once all that the host has replaced is covered again. The streams stay the caller's.
func (c *Calls) Start(p plan.Plan, stdio [3]int) (*CallRun, error) {
	text, err := wire.Seal(&wire.Job{Program: p.Program, Dir: p.Dir, DirElse: p.DirElse, Argv: p.Argv, Env: p.Env})
	if err != nil {
		return nil, err
	}
	defer unix.Close(text)
	if err := noFolder(stdio[:]); err != nil {
		return nil, err
	}
	run := &CallRun{calls: c, Said: make(chan wire.Msg, mostSaid)}
	sent := make(chan error, 1)
	if !c.do(func(s *session) {
		s.coverNow()
		c.last++
		run.id = c.last
		c.runs[run.id] = run
		sent <- s.tellJob(wire.Start, run.id, 0, append([]int{text}, stdio[:]...)...)
	}) {
		return nil, errNoBox
	}
	select {
	case err = <-sent:
	case <-c.over:
		err = errNoBox
	}
	return run, err
}

// tellJob says something of a job to the first process.
func (s *session) tellJob(kind wire.Kind, id, n uint32, fds ...int) error {
	if s.sock < 0 {
		return errNoBox
	}
	return wire.SendPatiently(s.sock, wire.Msg{Kind: kind, Job: id, N: n}, fds...)
}

// Signal sends a signal to the process group that the program leads.
func (r *CallRun) Signal(sig syscall.Signal) { r.tell(wire.Signal, uint32(sig)) }

// Kill ends all processes of the call; Killed says that they are gone.
func (r *CallRun) Kill() { r.tell(wire.Kill, 0) }

func (r *CallRun) tell(kind wire.Kind, n uint32) {
	r.calls.do(func(s *session) { _ = s.tellJob(kind, r.id, n) })
}

// Forget lets go of a call: nothing more is said of it.
func (r *CallRun) Forget() { r.calls.do(func(*session) { delete(r.calls.runs, r.id) }) }

// Reached are the keys of the limits of the box that it came to since this was last called.
func (c *Calls) Reached() (keys []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys, c.reached = c.reached, nil
	return keys
}

// Replaced are the hidden and the protected places of the box that the host has replaced since this was
// last called, see [Result].
func (c *Calls) Replaced() (hidden, protected []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	again := c.again
	c.again = places{}
	return again.hide, again.protect
}

// The rest is the loop's.

// note takes what the host has replaced, for Replaced. It is safe on nil, and takes nothing then.
func (c *Calls) note(again *places) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.again.add(*again)
	*again = places{}
}

// count notes what the control group of the box has to say.
func (c *Calls) count(g *limits.Group) {
	if g == nil {
		return
	}
	g.Look()
	c.mu.Lock()
	defer c.mu.Unlock()
	if g.Kills > c.kills {
		c.kills, c.reached = g.Kills, append(c.reached, "memory")
	}
	if g.Forks > c.forks {
		c.forks, c.reached = g.Forks, append(c.reached, "pids")
	}
}

// open begins to take calls, for a box that waits for them; close tells all that it has ended.
func (c *Calls) open(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.box, c.last, c.runs, c.over = s, wire.First, map[uint32]*CallRun{}, make(chan struct{})
}

func (c *Calls) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.box == nil {
		return
	}
	for _, run := range c.runs {
		close(run.Said)
	}
	c.box, c.runs = nil, map[uint32]*CallRun{}
	close(c.over)
}

// message takes what is said of a call, unless it was forgotten.
func (c *Calls) message(m wire.Msg) {
	if run := c.runs[m.Job]; run != nil {
		select {
		case run.Said <- m:
		default: // nobody has asked for so much
		}
	}
}
