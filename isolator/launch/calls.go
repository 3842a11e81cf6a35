package launch

import (
	"errors"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/plan"
)

// A box may have no program of its own (Options.Calls): whoever connects to its door has it run a call, which is a
// job, and gets the answer on the same connection:
//
//	client                                   launcher
//	  Call(request, streams) ──────────────► one of this box? starts its program
//	                 ◄──────────────── Started  it will run: from here on no call is made twice
//	                 ◄──────────────── Failed   it is of another box: this one ends, once its calls have
//	  Signal, Kill ────────────────────────► signals it; ends all processes of the call
//	                 ◄──────────────── Ended(answer)
//	  End ─────────────────────────────────► ends the box
//
// Who leaves early ends the call.

// Calls are the calls of a box. Open and Wanted are called by the loop.
type Calls struct {
	// Open reads a request, and says what is to run. The streams are its own. Without a Call the request is
	// of another box. With an error it is answered, and does not run.
	Open func(request []byte, stdio [3]*os.File) (*Call, error)
	// Wanted is asked now and then while no call runs, and ends the box.
	Wanted func() bool
}

// Call is one call.
type Call struct {
	Plan    plan.Plan     // only its program, arguments, environment and folder count
	Stdio   [3]*os.File   // closed when the program has them
	Timeout time.Duration // after which it gets SIGTERM, as the program of a box; zero for none

	// Ended is told what came of it, lost together with the box or not, on a goroutine of its own. It
	// returns the answer for the client.
	Ended func(r Result, lost bool) (answer []byte)

	// The loop's.
	task
	client int  // the connection; -1 when it is gone
	whole  bool // all processes of the call have to end
	killed bool // they have
	over   bool // it is being answered
}

// calls are those that run.
type calls struct {
	runs    map[uint32]*Call
	last    uint32
	answers sync.WaitGroup
}

// wantedEvery is how often it is asked whether a box without a call is wanted.
const wantedEvery = 2 * time.Second

var errNoBox = errors.New("the box has ended")

// Lost is the end of a call whose box has ended.
func Lost() Result {
	return Result{Started: true, Code: 128 + int(syscall.SIGKILL), Signal: syscall.SIGKILL}
}

// visitCalls does what a client says.
func (s *session) visitCalls(client int, m wire.Msg, fds []int) {
	c := s.callOf(client)
	switch {
	case m.Kind == wire.End:
		s.killBox()
	case m.Kind == wire.Call && c == nil && len(fds) == 4 && s.join.door >= 0:
		request, _ := wire.Content(fds[0])
		s.openCall(client, request, [3]*os.File{os.NewFile(uintptr(fds[1]), "stdin"), os.NewFile(uintptr(fds[2]), "stdout"), os.NewFile(uintptr(fds[3]), "stderr")})
		fds = fds[:1]
	case m.Kind == wire.Signal && c != nil:
		s.signal(&c.task, syscall.Signal(m.N))
	case m.Kind == wire.Kill && c != nil:
		s.endWhole(c)
	default:
		s.leave(client)
	}
	wire.CloseAll(fds)
}

// callOf is the call of a client that is not being answered, or nil.
func (s *session) callOf(client int) *Call {
	for _, c := range s.calls.runs {
		if c.client == client {
			return c
		}
	}
	return nil
}

// openCall has the box run a call, once all that the host has replaced is covered again.
func (s *session) openCall(client int, request []byte, stdio [3]*os.File) {
	c, err := s.o.Calls.Open(request, stdio)
	if c == nil {
		for _, f := range stdio {
			f.Close()
		}
		_ = wire.Send(client, wire.Msg{Kind: wire.Failed})
		s.leave(client)
		s.retire()
		return
	}
	s.calls.last++
	c.client, c.task = client, task{id: s.calls.last, at: running, call: c}
	s.calls.runs[c.id] = c
	_ = wire.Send(client, wire.Msg{Kind: wire.Started}) // who is gone ends the call, see leave
	s.coverNow()
	if err == nil {
		err = s.startCall(c)
	}
	if err != nil {
		s.end(&c.task, Result{Code: CodeNoSandbox, Reason: wire.Line(err.Error())})
		return
	}
	s.limitTime(&c.task, c.Timeout)
}

func (s *session) startCall(c *Call) error {
	var stdio []int
	for _, f := range c.Stdio {
		defer f.Close()
		stdio = append(stdio, RawFd(f))
	}
	if err := noFolder(stdio); err != nil {
		return err
	}
	p := c.Plan
	text, err := wire.Seal(&wire.Job{Program: p.Program, Dir: p.Dir, DirElse: p.DirElse, Argv: p.Argv, Env: p.Env})
	if err != nil {
		return err
	}
	defer unix.Close(text)
	return s.tell(wire.Start, c.id, 0, append([]int{text}, stdio...)...)
}

// endWhole ends all processes of a call.
func (s *session) endWhole(c *Call) {
	c.whole = true
	_ = s.tell(wire.Kill, c.id, 0)
}

// callEnded follows the end of a call, or of all its processes: it is answered when both have come where they have to.
func (s *session) callEnded(c *Call) {
	switch {
	case c.over || c.at != ended:
	case c.killed || !c.whole || !c.res.Started:
		s.endCall(c, false)
	default:
		s.endWhole(c)
	}
}

// endCall answers a call.
func (s *session) endCall(c *Call, lost bool) {
	c.over = true
	s.alarms.off(&c.task)
	if c.res.TimedOut = c.timedOut; c.timedOut {
		c.res.Code = CodeTimeout
	}
	again := &s.mounts.covered.again
	c.res.Recovered, c.res.Replaced = again.hide, again.protect
	c.res.Reached = s.reached(c.res)
	*again = places{}
	client := c.client
	c.client = -1
	s.join.visitors = slices.DeleteFunc(s.join.visitors, func(v int) bool { return v == client })
	s.calls.answers.Go(func() {
		if answer, err := wire.Memfd(c.Ended(c.res, lost)); err == nil {
			_ = wire.SendPatiently(client, wire.Msg{Kind: wire.Ended}, answer)
			unix.Close(answer)
		}
		closeFds(&client)
		s.inbox.do(func() {
			if delete(s.calls.runs, c.id); s.join.door < 0 {
				s.retire()
			}
		})
	})
}

// loseCalls answers all calls of a box that has ended.
func (s *session) loseCalls() {
	for _, c := range s.calls.runs {
		if !c.over {
			c.res = Lost()
			s.endCall(c, true)
		}
	}
}

// retire takes no more calls, and ends the box when none runs.
func (s *session) retire() {
	s.shutDoor()
	if len(s.calls.runs) == 0 {
		s.killBox()
	}
}

// lookAtCalls ends a box that nobody wants.
func (s *session) lookAtCalls() {
	if len(s.calls.runs) == 0 && !s.o.Calls.Wanted() {
		s.retire()
		return
	}
	s.alarms.in(callsWanted, wantedEvery, s.lookAtCalls)
}
