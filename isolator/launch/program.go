package launch

import (
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// program is what is known of the program.
type program struct {
	here     bool     // the first process of the box is there
	ready    bool     // it waits for the program
	released bool     // it was given
	started  bool     // the program has run
	failure  *failure // why it did not start, or nil
	ended    bool     // with status
	status   syscall.WaitStatus

	timedOut    bool           // the time limit ended it
	early       syscall.Signal // came before it was started
	interrupted bool           // SIGINT came
}

// failure is why a program did not start.
type failure struct {
	code int // that of inner
	text string
}

// fail ends the box before its program has started.
func (s *session) fail(why string) {
	s.program.failure = &failure{CodeNoSandbox, wire.Line(why)}
	s.killBox()
}

// complete mounts what is missing in the box, now that bwrap has mounted the rest.
func (s *session) complete() {
	if s.program.failure != nil || s.program.early != 0 || !s.limited() {
		return
	}
	if err := s.mounts.complete(s.first); err != nil {
		s.fail(err.Error())
	} else if s.o.Network != nil && (s.publishes || len(s.network.Listeners) > 0) {
		_ = s.network.refused.watch(s.first) // it only tells; now, since the box is still being prepared
	}
}

// release makes the real terminal ready and has the program started, once the box
// waits for it and signals are caught.
func (s *session) release() {
	p := &s.program
	if s.sock < 0 || !p.ready || p.released || p.failure != nil || p.early != 0 || !s.caught {
		return
	}
	if s.console.full {
		s.attach()
	}
	p.released = true
	if s.o.Calls != nil {
		s.begin()
		return
	}
	if err := s.startProgram(); err != nil {
		s.fail(err.Error())
	}
}

// begin follows the start of the program.
func (s *session) begin() {
	s.program.started = true
	if s.cancelled {
		s.killBox()
	}
	if s.program.early != 0 {
		s.alarms.off(killTime) // it is up to the program now
		s.lastCall(s.program.early)
	}
	s.letGoOfPipes()
	s.noteWhere()
	s.job.Argv, s.job.Env = nil, nil
	if s.o.Calls != nil {
		s.alarms.in(callsWanted, wantedEvery, s.lookAtCalls)
	}
	if s.o.Begun != nil {
		s.o.Begun()
	}
	if s.mounts.covered.table >= 0 {
		s.alarms.in(lookAtCovers, firstLook, s.coverAgain)
	}
	if s.o.Done == nil {
		s.alarms.in(giveBackMemory, trimAfter, func() {
			if !s.program.ended {
				debug.FreeOSMemory()
			}
		})
	}
	if s.o.Over != nil {
		s.alarms.in(lookAtLimits, lookEvery, s.lookAtLimits)
	}
	if s.o.Timeout > 0 {
		s.alarms.in(timeLimit, s.o.Timeout, s.timeUp)
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

func (s *session) timeUp() {
	if s.over() {
		return
	}
	s.program.timedOut = true
	s.signalJob(syscall.SIGTERM)
	s.signalJob(syscall.SIGCONT)
	s.killAfter(killGrace)
}

// refuse has the first process end when it waits for a job: it sees that none will come.
func (s *session) refuse() { _ = unix.Shutdown(s.sock, unix.SHUT_WR) }

// signalJob signals the program's process group, which gets the foreground of its terminal again
// when it goes on.
func (s *session) signalJob(sig syscall.Signal) {
	n := uint32(sig)
	if sig == syscall.SIGCONT && s.console.full && !s.console.waits {
		n |= wire.Front
	}
	if s.program.released && !s.program.ended && s.o.Calls == nil {
		_ = s.tellJob(wire.Signal, wire.First, n)
	}
}
