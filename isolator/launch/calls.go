package launch

import (
	"errors"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/outside"
	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/limits"
	"github.com/enr/inner/isolator/plan"
)

// Calls gives calls to a box that has no program of its own (Options.Calls): each is a job of
// its own. The
// zero value is ready; its methods may be called by several goroutines.
type Calls struct {
	mu   sync.Mutex
	sock int // 0 when there is no box
	last uint32
	runs map[uint32]*CallRun
	loop func(func()) // has the loop do something
	look func()       // looks, there, whether all that is hidden and protected is covered

	kills, forks uint64   // that a limit has cost until now
	reached      []string // the keys of limits since Reached
	again        outside.List
}

// CallRun is a call that was given to the box.
type CallRun struct {
	calls  *Calls
	id     uint32
	ended  chan CallEnd  // gets one
	killed chan struct{} // closed when no process of it is left
}

// CallEnd is how a call ended.
type CallEnd struct {
	Started bool
	Lost    bool               // the box has ended, and the call with it
	Status  syscall.WaitStatus // when it started
	Code    int                // when it did not
	Reason  string
}

// errNoBox is what a call gets when the box has ended.
var errNoBox = errors.New("the box has ended")

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
	run := &CallRun{calls: c, ended: make(chan CallEnd, 1), killed: make(chan struct{})}
	sent := make(chan error, 1)
	if !c.post(run, func() {
		c.look()
		c.mu.Lock()
		defer c.mu.Unlock()
		sent <- c.send(wire.Start, run.id, 0, append([]int{text}, stdio[:]...)...)
	}) {
		return nil, errNoBox
	}
	select {
	case err = <-sent:
	case <-run.killed: // with the box
	}
	return run, err
}

// post gives a call its number, and has the loop do something; it reports whether there is one.
func (c *Calls) post(run *CallRun, f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sock == 0 {
		return false
	}
	c.last++
	run.id = c.last
	c.runs[run.id] = run
	c.loop(f)
	return true
}

// Ended gets how the call ended, once.
func (r *CallRun) Ended() <-chan CallEnd { return r.ended }

// Signal sends a signal to the process group that the program leads.
func (r *CallRun) Signal(sig syscall.Signal) { r.tell(wire.Signal, uint32(sig)) }

// Kill ends all processes of the call, and returns when they are gone, or the box is.
func (r *CallRun) Kill() {
	if r.tell(wire.Kill, 0) {
		<-r.killed
	}
}

// Forget lets go of a call that has ended: nothing more can be asked of it.
func (r *CallRun) Forget() {
	r.calls.mu.Lock()
	defer r.calls.mu.Unlock()
	delete(r.calls.runs, r.id)
}

func (r *CallRun) tell(kind wire.Kind, n uint32) bool {
	r.calls.mu.Lock()
	defer r.calls.mu.Unlock()
	return r.calls.send(kind, r.id, n) == nil
}

// Exit is the exit code of a call, and the signal that ended it, or 0.
func (e CallEnd) Exit() (code int, sig syscall.Signal) {
	switch {
	case e.Lost:
		return 128 + int(syscall.SIGKILL), syscall.SIGKILL
	case !e.Started:
		return e.Code, 0
	case e.Status.Signaled():
		sig = e.Status.Signal()
	}
	return wire.ExitCode(e.Status), sig
}

// Reached are the keys of the limits of the box that it came to since this was last called.
func (c *Calls) Reached() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.reached
	c.reached = nil
	return out
}

// note takes what the host has replaced, for Replaced. It is safe on nil, and takes nothing then.
func (c *Calls) note(again *outside.List) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.again.Hide, c.again.Protect = append(c.again.Hide, again.Hide...), append(c.again.Protect, again.Protect...)
	*again = outside.List{}
}

// count notes what the control group of the box has to say.
func (c *Calls) count(g *limits.Group) {
	if g == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if g.Kills > c.kills {
		c.kills, c.reached = g.Kills, append(c.reached, "memory")
	}
	if g.Forks > c.forks {
		c.forks, c.reached = g.Forks, append(c.reached, "pids")
	}
}

// send sends a message of a call. The mutex is held.
func (c *Calls) send(kind wire.Kind, id, n uint32, fds ...int) error {
	if c.sock == 0 {
		return errNoBox
	}
	return wire.SendPatiently(c.sock, wire.Msg{Kind: kind, Job: id, N: n}, fds...)
}

// open takes the socket to the first process of the box, which waits for calls.
func (c *Calls) open(sock int, loop func(func()), look func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sock, c.last, c.runs, c.loop, c.look = sock, wire.First, map[uint32]*CallRun{}, loop, look
}

// Replaced are the hidden and the protected places of the box that the host has replaced since this was
// last called, see [Result].
func (c *Calls) Replaced() (hidden, protected []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	again := c.again
	c.again = outside.List{}
	return again.Hide, again.Protect
}

// close tells all calls that the box has ended.
func (c *Calls) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, run := range c.runs {
		run.end(CallEnd{Started: true, Lost: true})
		run.gone()
	}
	c.sock, c.runs = 0, nil
}

// message takes what is said of a call, unless it was forgotten.
func (c *Calls) message(m wire.Msg) {
	c.mu.Lock()
	defer c.mu.Unlock()
	run := c.runs[m.Job]
	switch {
	case run == nil:
	case m.Kind == wire.Failed:
		run.end(CallEnd{Code: int(m.N), Reason: wire.Line(m.Text)})
	case m.Kind == wire.Ended:
		run.end(CallEnd{Started: true, Status: syscall.WaitStatus(m.N)})
	case m.Kind == wire.Killed:
		run.gone()
	}
}

func (r *CallRun) end(e CallEnd) {
	select {
	case r.ended <- e:
	default: // told before
	}
}

func (r *CallRun) gone() {
	select {
	case <-r.killed:
	default:
		close(r.killed)
	}
}
