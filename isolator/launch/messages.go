package launch

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// readMessages takes what the first process of the box said. A job cannot speak in
// its place, but nothing here trusts that: the order is checked, and
// descriptors are taken once.
func (s *session) readMessages() {
	for s.sock >= 0 {
		m, fds, pid, err := wire.Receive(s.sock)
		if s.first == 0 {
			s.first = pid
			s.life, _ = unix.PidfdOpen(pid, 0)
		}
		if err == unix.EAGAIN {
			return
		}
		if err != nil {
			s.hangUpChannel()
			return
		}
		s.message(m, fds)
	}
}

// message does what the first process says, where it may say that now: the rest is ignored.
func (s *session) message(m wire.Msg, fds []int) {
	if s.take(m, fds) {
		return
	}
	wire.CloseAll(fds)
	switch j := s.jobOf(m.Job); {
	case m.Kind == wire.Here && s.program.at == making:
		s.program.at = here
		s.complete()
		if len(s.console.ptys) == 0 && s.o.Calls == nil && s.program.at == here {
			s.made(nil) // nothing will come with Ready, and the word waits there until the box is
		}
	case j == nil:
	case m.Kind == wire.Failed:
		s.end(j, Result{Code: int(m.N), Reason: wire.Line(m.Text)})
	case m.Job == 0:
	case m.Kind == wire.Started && j.at == told:
		s.begin()
	case m.Kind == wire.Stopped && j.call == nil && s.runs() && s.console.full:
		s.programStopped(syscall.Signal(m.N))
	case m.Kind == wire.Ended && j.at == running:
		s.end(j, programEnd(syscall.WaitStatus(m.N)))
	case m.Kind == wire.Killed && j.call != nil:
		j.call.killed = true
		s.callEnded(j.call)
	}
}

// take takes the descriptors that come with a message, and reports whether it did.
func (s *session) take(m wire.Msg, fds []int) bool {
	switch p := &s.program; m.Kind {
	case wire.Ready:
		if p.at != here {
			return false
		}
		s.made(fds)
		return true
	case wire.Socket:
		return s.network.tookSocket(m, fds)
	case wire.Observer:
		if s.o.Observe == nil || len(fds) != 1 {
			return false
		}
		s.o.Observe(os.NewFile(uintptr(fds[0]), "listener of calls"))
		s.o.Observe = nil // there is one
		return true
	}
	return false
}

// made has the program started once all is there that its box sends: the masters of its terminals.
func (s *session) made(masters []int) {
	s.program.at = ready
	s.takeNetwork()
	s.takeMasters(masters)
	s.release()
}

// takeMasters starts the relays for the box's terminals.
func (s *session) takeMasters(fds []int) {
	if len(fds) != len(s.console.ptys) {
		wire.CloseAll(fds)
		s.fail("the box sent other terminals than it was asked for")
		return
	}
	if s.join.stay {
		s.console.at = none
		put(-1, s.console.ptys...) // what goes wrong is still told on standard error
	}
	for i, fd := range fds {
		r, err := s.relayOf(fd, s.console.ptys[i])
		if err != nil {
			wire.CloseAll(fds[i:])
			s.fail("a terminal of the box: " + err.Error())
			return
		}
		r.breaks = s.console.full && i == 0
		s.output.relays = append(s.output.relays, r)
	}
	s.resize()
}

// relayOf makes the relay of a terminal of the box.
func (s *session) relayOf(master, out int) (*relay, error) {
	// Only a pty master has a number.
	if _, err := unix.IoctlGetInt(master, unix.TIOCGPTN); err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(master, true); err != nil {
		return nil, err
	}
	out, err := apart(out)
	if err != nil {
		return nil, err
	}
	r := &relay{master: master, out: out, watch: s.o.Watch}
	if !s.o.Clipboard {
		r.filter = new(filter)
	}
	return r, nil
}
