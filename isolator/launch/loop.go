package launch

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// How often a run in the background looks whether it has the terminal
	// again: bash's fg says nothing to a job that was not stopped.
	foregroundEvery = 100 * time.Millisecond
	// How long a stop may take to reach us. In an orphaned process group it
	// never does, and the job goes on.
	stopWithin = 100 * time.Millisecond
	// How long bwrap may go on after a signal that came before the program.
	earlyGrace = time.Second
	// When a run that lasts gives back the memory that its start took.
	trimAfter = 2 * time.Second

	// How often it is asked which limit the box came to, see Options.Over.
	lookEvery = 100 * time.Millisecond

	// How long a line lies unread in the terminal before it is for a program that
	// waits for one in a way that cannot be seen.
	offerAfter = 200 * time.Millisecond
	// How long after its question a terminal may answer.
	askedWithin = 5 * time.Second

	maxErrText = 4 << 10 // kept of bwrap's messages
)

// loop follows the run to its end: bwrap has been waited for, and everything
// the box wrote to its terminals has been passed on.
func (s *session) loop() {
	for !s.reaped || (s.running > 0 && !s.abandoned) {
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
		if len(s.relays) > 0 && !s.keys.empty() {
			s.keys.flush(s.relays[0].master)
		}
		s.goOff(time.Now())
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
		{s.wakeR, unix.POLLIN, s.readWake},
		{s.sock, unix.POLLIN, s.readMessages},
		{s.errPipe, unix.POLLIN, s.readErrors},
		{s.contained.waitsFor(), unix.POLLIN, s.connected},
	}
	for _, fd := range s.limits.group.Watched() {
		list = append(list, source{fd, unix.POLLPRI, s.limits.group.Look})
	}
	if !s.reaped {
		list = append(list, source{s.pidfd, unix.POLLIN, func() { s.reap(false) }}, source{s.join.door, unix.POLLIN, s.welcome}, source{s.covered.table, unix.POLLPRI, s.coverAgain})
		for _, fd := range s.join.visitors {
			list = append(list, source{fd, unix.POLLIN, func() { s.visit(fd) }})
		}
	}
	switch {
	case s.waits && !s.alarms.set(unreadLine) && s.runs() && !s.stopped && !s.hungUp, s.wantKeys() && (s.keys.empty() || s.asked != nil):
		list = append(list, source{s.real.fd, unix.POLLIN, s.readTerminal})
	case s.wantKeys():
		list = append(list, source{s.relays[0].master, unix.POLLOUT, func() {}}) // the loop flushes them
	}
	return list
}

// readTerminal follows what is typed at the real terminal.
func (s *session) readTerminal() {
	switch {
	case s.waits:
		s.offered()
	case s.asked != nil:
		s.readAnswer()
	default:
		s.readKeys()
	}
}

// wantKeys reports whether what is typed is for the box. Once the program has
// ended it is for the next prompt.
func (s *session) wantKeys() bool {
	return s.full && !s.join.away && s.real.raw && len(s.relays) > 0 && !s.over() && !s.stopped && !s.hungUp
}

// killAfter sets the time when the whole box is killed; an earlier one stays.
func (s *session) killAfter(d time.Duration) {
	if !s.alarms.set(killTime) || time.Until(s.alarms[killTime]) > d {
		s.alarms.in(killTime, d)
	}
}

// killBox kills bwrap, and with it every process of the box. It is our child
// and not waited for, so the number is its.
func (s *session) killBox() {
	if s.pid > 0 && !s.reaped {
		if s.contained != nil && s.contained.hangUp() {
			s.killAfter(killGrace) // the engine ends by itself then
			return
		}
		_ = unix.Kill(s.pid, unix.SIGKILL)
	}
}

// reap waits for bwrap. What it and the supervisor said before is read first
// and last: a message can be there only now.
func (s *session) reap(block bool) {
	if s.reaped || s.pid <= 0 {
		return
	}
	options := syscall.WNOHANG
	if block {
		options = 0
	}
	for {
		got, err := syscall.Wait4(s.pid, &s.bwrap, options, nil)
		if err == syscall.EINTR {
			continue
		}
		if err == nil && got != s.pid {
			return
		}
		break
	}
	s.reaped = true
	s.limits.group.Look()
	s.readMessages()
	s.readErrors()
	s.dropQuestions()
	s.closeSock() // a supervisor that outlived bwrap ends now
	s.endRelays()
	s.alarms.off(timeLimit, killTime, lookAtLimits, giveBackMemory, trueSize, tryTerminal, unreadLine, lookForAbsent)
}

func (s *session) closeSock() {
	if s.sock >= 0 {
		if s.o.Calls != nil {
			s.o.Calls.look(s.limits.group)
			s.o.Calls.close()
		}
		unix.Close(s.sock)
		s.sock = -1
	}
}

func (s *session) readErrors() {
	var buf [1024]byte
	for s.errPipe >= 0 {
		n, err := unix.Read(s.errPipe, buf[:])
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			return
		case err != nil || n <= 0:
			unix.Close(s.errPipe)
			s.errPipe = -1
		default:
			s.errText = append(s.errText, buf[:min(n, maxErrText-len(s.errText))]...)
		}
	}
}
