package launch

import (
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// progress is how far a job has come. The program of a plan has come as far as its box.
type progress uint8

const (
	making  progress = iota // bwrap makes the box
	here                    // its first process is there
	ready                   // and waits for jobs
	told                    // it was given the job
	running                 // which has started
	ended                   // or has ended, or could not start
)

// task is a job of the box: the program of a plan, or a call.
type task struct {
	id       uint32
	at       progress
	res      Result // once it has ended
	timedOut bool   // its time limit ended it
	call     *Call  // nil for the program
}

// program is that of a plan. In a box that has none, see Options.Calls, it is the box.
type program struct {
	task
	early       syscall.Signal // came before it was started
	interrupted bool           // SIGINT came
	halted      bool           // it has stopped, and has not been continued
}

// fail ends the box before its program has started.
func (s *session) fail(why string) {
	s.end(&s.program.task, Result{Code: CodeNoSandbox, Reason: wire.Line(why)})
}

// complete mounts what is missing in the box, now that bwrap has mounted the rest. When that fails no program starts; a
// box that was ending has said why, or still does.
func (s *session) complete() {
	if !s.limited() {
		return
	}
	if s.mounts.failure = s.mounts.complete(s.first); s.mounts.failure != nil {
		s.refuse()
		s.killAfter(earlyGrace)
	} else if s.o.Network != nil && (s.publishes || len(s.network.ports) > 0) {
		_ = s.network.refused.watch(s.first) // it only tells; now, since the box is still being prepared
	}
}

// release makes the real terminal ready and has the program started, once the box
// waits for it and signals are caught.
func (s *session) release() {
	if s.program.at != ready || s.sock < 0 || !s.caught || !s.network.up || s.mounts.failure != nil {
		return
	}
	if s.console.full {
		s.attach()
	}
	s.program.at = told
	if s.o.Calls != nil {
		s.begin()
	} else if err := s.startProgram(); err != nil {
		s.readMessages() // where the box has ended meanwhile it has said why
		s.fail(err.Error())
	}
}

// begin follows the start of the program.
func (s *session) begin() {
	p := &s.program
	p.at = running
	if s.cancelled {
		s.killBox()
	}
	if p.early != 0 {
		s.alarms.off(killTime) // it is up to the program now
		s.lastCall(&p.task, p.early)
	}
	s.letGoOfPipes()
	s.noteWhere()
	s.job.Argv, s.job.Env = nil, nil
	if s.o.Calls != nil {
		s.alarms.in(callsWanted, wantedEvery, s.lookAtCalls)
	}
	if s.mounts.covered.table >= 0 {
		s.alarms.in(lookAtCovers, firstLook, s.coverAgain)
	}
	if s.o.Done == nil {
		s.alarms.in(giveBackMemory, trimAfter, func() {
			if s.runs() {
				debug.FreeOSMemory()
			}
		})
	}
	if s.o.Over != nil {
		s.alarms.in(lookAtLimits, lookEvery, s.lookAtLimits)
	}
	s.limitTime(&p.task, s.o.Timeout)
	if s.o.Begun != nil {
		s.o.Begun()
	}
}

// letGoOfPipes replaces our own ends of the pipes that the program now has, so
// that their other ends see the program alone: end of file when it closes its
// output, SIGPIPE when it closes its input.
func (s *session) letGoOfPipes() {
	for i, fd := range s.console.stdio[:2] {
		if fd >= 0 && fd == s.console.given[i] && isPipe(fd) {
			put(-1, fd)
		}
	}
}

// refuse has the first process end when it waits for a job: it sees that none will come.
func (s *session) refuse() { _ = unix.Shutdown(s.sock, unix.SHUT_WR) }

// jobOf is the job of that number, or nil. The box itself is that of its program.
func (s *session) jobOf(id uint32) *task {
	if id <= wire.First {
		return &s.program.task
	}
	if c := s.calls.runs[id]; c != nil {
		return &c.task
	}
	return nil
}

// limitTime gives a job so long, or any time when that is zero.
func (s *session) limitTime(j *task, d time.Duration) {
	if d == 0 {
		return
	}
	s.alarms.in(j, d, func() {
		if s.over() {
			return
		}
		j.timedOut = true
		s.signal(j, syscall.SIGTERM)
		s.signal(j, syscall.SIGCONT)
	})
}

// signalProgram is signal for the program.
func (s *session) signalProgram(sig syscall.Signal) { s.signal(&s.program.task, sig) }

// signal signals the process group of a job, which gets the foreground of its terminal again when it
// goes on.
func (s *session) signal(j *task, sig syscall.Signal) {
	if j.at != told && j.at != running {
		return
	}
	n := uint32(sig)
	if j.call == nil && sig == syscall.SIGCONT && s.console.full && !s.console.waits() {
		n |= wire.Front
	}
	_ = s.tell(wire.Signal, j.id, n)
	if j.call == nil && sig == syscall.SIGCONT {
		s.program.halted = false
	}
	if j.at == running {
		s.lastCall(j, sig)
	}
}

// lastCall gives a job killGrace to follow a signal that is meant to end it. Who asks inner to end, and kills it
// when it does not, would lose what comes after the program: the look at what it changed.
func (s *session) lastCall(j *task, sig syscall.Signal) {
	c := j.call
	switch {
	case sig != syscall.SIGTERM && sig != syscall.SIGHUP:
	case c == nil:
		if s.killAfter(killGrace); s.program.halted { // else it would not see it
			s.signalProgram(syscall.SIGCONT)
		}
	case !c.whole:
		c.whole = true
		s.alarms.in(j, killGrace, func() { s.endWhole(c) })
	}
}

// end follows the end of a job. Of the program the first process has killed whatever else ran, and bwrap has
// nothing left to tell.
func (s *session) end(j *task, r Result) {
	if j.at == ended {
		return
	}
	j.at, j.res = ended, r
	if s.alarms.off(j); j.call != nil {
		s.callEnded(j.call)
		return
	}
	s.dropQuestions()
	s.output.end(s.child.reaped)
	s.killBox()
	s.mounts.covered.last() // while bwrap ends
}

// tell says something of a job to the first process.
func (s *session) tell(kind wire.Kind, id, n uint32, fds ...int) error {
	if s.sock < 0 {
		return errNoBox
	}
	return wire.SendPatiently(s.sock, wire.Msg{Kind: kind, Job: id, N: n}, fds...)
}
