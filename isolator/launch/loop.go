package launch

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

const (
	// How often a run in the background looks whether it has the terminal
	// again: bash's fg says nothing to a job that was not stopped.
	foregroundEvery = 100 * time.Millisecond
	// How long bwrap may go on after a signal that came before the program.
	earlyGrace = time.Second
	// When a run that lasts gives back the memory that its start took.
	trimAfter = 2 * time.Second

	// How often it is asked which limit the box came to, see Options.Over.
	lookEvery = 100 * time.Millisecond

	// How long a line lies unread in the terminal before it is for a program that
	// waits for one in a way that cannot be seen.
	offerAfter = 200 * time.Millisecond
)

// loop follows the run to its end: bwrap has been waited for, and everything
// the box wrote to its terminals has been passed on.
func (s *session) loop() {
	for !s.child.reaped || (s.output.busy() && !s.output.abandoned) {
		sources := s.sources()
		set := make([]unix.PollFd, len(sources))
		for i, src := range sources {
			set[i] = unix.PollFd{Fd: int32(src.fd), Events: src.events}
		}
		_, err := unix.Poll(set, s.alarms.patience())
		if err != nil && err != unix.EINTR {
			s.killBox()
			s.reap(true)
			return
		}
		for i, p := range set {
			if p.Revents != 0 {
				sources[i].ready()
			}
		}
		if len(s.output.relays) > 0 && len(s.console.keys) > 0 {
			s.console.keys.flush(s.output.first().master)
		}
		s.alarms.goOff(time.Now())
	}
}

// source is a descriptor that the loop waits for, and what is done when it is ready.
type source struct {
	fd     int // poll(2) passes over a negative one
	events int16
	ready  func()
}

func (s *session) sources() []source {
	list := []source{
		{s.inbox.event, unix.POLLIN, s.inbox.doAll},
		{s.sock, unix.POLLIN, s.readMessages},
		{s.listener, unix.POLLIN, s.connected},
		{s.network.refused.packets, unix.POLLIN, s.network.refused.read},
	}
	for _, r := range s.output.all() {
		list = append(list, r.source())
	}
	for _, fd := range s.limits.group.Watched() {
		list = append(list, source{fd, unix.POLLPRI, s.limits.group.Look})
	}
	if !s.child.reaped {
		list = append(list,
			source{s.child.pidfd, unix.POLLIN, func() { s.reap(false) }},
			source{s.mounts.covered.table, unix.POLLPRI, s.coverAgain})
		if len(s.join.visitors) < maxVisitors && s.program.at >= running {
			list = append(list, source{s.join.door, unix.POLLIN, s.welcome})
		}
		for _, fd := range s.join.visitors {
			list = append(list, source{fd, unix.POLLIN, func() { s.visit(fd) }})
		}
	}
	switch want := s.wantKeys(); {
	case want && s.asked == nil && len(s.console.keys) > 0:
		list = append(list, source{s.output.first().master, unix.POLLOUT, func() {}}) // the loop flushes them
	case want || s.awaitsLine():
		list = append(list, source{s.console.real.fd, unix.POLLIN, s.readTerminal})
	}
	return list
}

// readTerminal follows what is typed at the real terminal. What was ready in the same round may have taken it, or
// have ended the program.
func (s *session) readTerminal() {
	switch {
	case wire.Poll(s.console.real.fd, unix.POLLIN, 0) == 0:
	case s.console.waits():
		s.offered()
	case s.asked != nil:
		s.readAnswer()
	case s.wantKeys() && len(s.console.keys) == 0:
		s.readKeys()
	}
}

// wantKeys reports whether what is typed is for the box. Once the program has
// ended it is for the next prompt.
func (s *session) wantKeys() bool {
	return s.console.real.raw && len(s.output.relays) > 0 && !s.over()
}

// killAfter sets the time when the whole box is killed; an earlier one stays.
func (s *session) killAfter(d time.Duration) {
	if !s.alarms.set(killTime) || time.Until(s.alarms[killTime].at) > d {
		s.alarms.in(killTime, d, s.killBox)
	}
}

// ending says, once, that the box is about to end.
func (s *session) ending() {
	if s.o.Ending != nil {
		s.o.Ending()
		s.o.Ending = nil
	}
	if s.o.Calls != nil {
		s.shutDoor()
	}
}

// killBox kills bwrap, and with it every process of the box.
func (s *session) killBox() {
	s.ending()
	switch {
	case !s.child.there():
	case s.container != nil && s.hangUpContainer():
		s.killAfter(killGrace) // the engine ends by itself then
	default:
		s.child.kill()
	}
}

// reap waits for bwrap. What it and the first process said before is read first
// and last: a message can be there only now.
func (s *session) reap(block bool) {
	if !s.child.there() || !s.child.wait(block) {
		return
	}
	s.limits.group.Look()
	s.readMessages()
	s.dropQuestions()
	s.hangUpChannel() // one that outlived bwrap ends now
	// Where the first process has not killed what else ran, the kernel does so when it ends that process,
	// some time after bwrap. What it cannot end within the grace waits for a device, and runs no more.
	if s.program.at == running && s.life >= 0 {
		wire.Poll(s.life, unix.POLLIN, int(killGrace/time.Millisecond))
	}
	s.output.end(true)
	clear(s.alarms) // what is left is to be written
}

// hangUpChannel ends the talk with the first process.
func (s *session) hangUpChannel() {
	if s.sock < 0 {
		return
	}
	s.loseCalls()
	close(s.network.over)
	closeFds(&s.sock)
}
