package launch

import (
	"encoding/binary"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// readMessages takes what the supervisor said. The program cannot speak in
// its place, but nothing here trusts that: lengths and order are checked, and
// descriptors are taken once.
func (s *session) readMessages() {
	var buf [wire.MaxMessage]byte
	for s.channel.sock >= 0 {
		m, fds, err := s.channel.receive(buf[:])
		if err == unix.EAGAIN {
			return
		}
		if err != nil {
			s.hangUpChannel()
			return
		}
		if !s.console.full {
			s.channel.follow()
		}
		s.message(m[0], m[1:], fds)
	}
}

// message does what the supervisor says, where it may say that now: the rest is ignored.
func (s *session) message(kind byte, rest []byte, fds []int) {
	if s.take(kind, rest, fds) {
		return
	}
	wire.CloseAll(fds)
	if s.program.started && s.o.Calls != nil && s.ofCalls(kind, rest) {
		return
	}
	p := &s.program
	switch {
	case p.started && !p.ended && s.console.full:
		s.ofProgram(kind, rest)
	case kind == wire.MsgReady && !p.ready:
		p.ready = true
		s.release()
	case kind == wire.MsgStart && !p.started:
		s.begin()
	case kind == wire.MsgFailed:
		s.notStarted(rest)
	}
}

// ofProgram takes what is said of a program that runs and has the box's terminal.
func (s *session) ofProgram(kind byte, rest []byte) {
	switch {
	case kind == wire.MsgStopped && len(rest) == 1 && !s.suspended.on:
		s.programStopped(syscall.Signal(rest[0]))
	case kind == wire.MsgEnded && len(rest) == 4:
		s.end(syscall.WaitStatus(binary.LittleEndian.Uint32(rest)))
	case kind == wire.MsgFailed:
		s.notStarted(rest)
	}
}

// notStarted follows a program that could not be started: its exit code, and why.
func (s *session) notStarted(rest []byte) {
	if p := &s.program; len(rest) >= 1 && p.failure == nil && !p.ended {
		p.started, p.failure = false, &failure{int(rest[0]), wire.Line(string(rest[1:]))}
		s.alarms.off(timeLimit)
	}
}

// ofCalls takes what is said of a call, and reports whether it was.
func (s *session) ofCalls(kind byte, rest []byte) bool {
	s.limits.group.Look()
	s.o.Calls.look(s.limits.group)
	return s.o.Calls.message(kind, rest)
}

// end follows the end of the program. The supervisor has killed whatever else ran, and bwrap has
// nothing left to tell.
func (s *session) end(status syscall.WaitStatus) {
	s.program.ended, s.program.status = true, status
	s.dropQuestions()
	s.output.end(s.child.reaped)
	s.killBox()
}

// take takes the descriptors that come with a message, and reports whether it did.
func (s *session) take(kind byte, rest []byte, fds []int) bool {
	switch kind {
	case wire.MsgMaster:
		return s.takeMasters(fds)
	case wire.MsgListen:
		return s.takeListener(rest, fds)
	case wire.MsgNetwork:
		return s.takeNetwork(fds)
	case wire.MsgFilled:
		return s.takeFilled(rest, fds)
	case wire.MsgObserve:
		return s.takeObserver(fds)
	}
	return false
}

func (s *session) takeFilled(rest []byte, fds []int) bool {
	if s.program.started || s.o.Filled == nil || len(rest) != 1 || int(rest[0]) >= len(s.spec.Fills) || len(fds) != 1 {
		return false
	}
	s.o.Filled(int(rest[0]), os.NewFile(uintptr(fds[0]), s.spec.Fills[rest[0]].Dest))
	return true
}

func (s *session) takeObserver(fds []int) bool {
	if s.observed || s.o.Observe == nil || len(fds) != 1 {
		return false
	}
	s.observed = true
	s.o.Observe(os.NewFile(uintptr(fds[0]), "listener of calls"))
	return true
}

// takeMasters starts the relays for the box's terminals.
func (s *session) takeMasters(fds []int) bool {
	if s.program.started || len(s.output.relays) > 0 || len(fds) == 0 || len(fds) != len(s.console.ptys) {
		return false
	}
	if s.join.stay && !s.join.away {
		s.join.away = true
		put(-1, s.console.ptys...) // what goes wrong is still told on standard error
	}
	for i, fd := range fds {
		r, err := s.relayOf(fd, s.console.ptys[i])
		if err != nil {
			wire.CloseAll(fds[i:])
			s.killBox()
			return true
		}
		s.output.relays = append(s.output.relays, r)
		if i == 0 {
			s.whoBreaks()
		}
		s.output.start(r)
	}
	s.resize()
	if s.console.full {
		s.deliver()
		s.release()
		s.ask()
	}
	return true
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
	r := &relay{master: master, out: out, wake: s.inbox.w, watch: s.o.Watch}
	if !s.o.Clipboard {
		r.filter = new(filter)
	}
	return newRelay(r)
}
