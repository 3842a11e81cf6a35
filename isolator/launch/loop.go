package launch

import (
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// How often a run in the background looks whether it has the terminal
	// again: bash's fg says nothing to a job that was not stopped.
	foregroundEvery = 250 * time.Millisecond
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
		set, group := s.pollSet(), s.group.Watched()
		_, err := unix.Poll(set, s.patience())
		if err != nil && err != unix.EINTR {
			s.killBox()
			s.reap(true)
			return
		}
		for _, p := range set {
			if p.Revents == 0 {
				continue
			}
			if slices.Contains(s.visitors, int(p.Fd)) {
				s.visit(int(p.Fd))
				continue
			}
			switch int(p.Fd) {
			case s.door:
				s.welcome()
			case group[0], group[1]:
				s.group.Look()
			case s.sock:
				s.readMessages()
			case s.contained.waitsFor():
				s.connected()
			case s.errPipe:
				s.readErrors()
			case s.wakeR:
				s.readWake()
			case s.pidfd:
				s.reap(false)
			case s.real.fd:
				switch {
				case s.waits:
					s.offered()
				case s.asked != nil:
					s.readAnswer()
				default:
					s.readKeys()
				}
			}
		}
		if len(s.relays) > 0 && !s.keys.empty() {
			s.keys.flush(s.relays[0].master)
		}
		s.deadlines(time.Now())
	}
}

func (s *session) pollSet() []unix.PollFd {
	set := make([]unix.PollFd, 0, 6)
	add := func(fd int, events int16) {
		if fd >= 0 {
			set = append(set, unix.PollFd{Fd: int32(fd), Events: events})
		}
	}
	add(s.wakeR, unix.POLLIN)
	add(s.sock, unix.POLLIN)
	add(s.errPipe, unix.POLLIN)
	add(s.contained.waitsFor(), unix.POLLIN)
	if !s.reaped {
		add(s.pidfd, unix.POLLIN)
	}
	for _, fd := range s.group.Watched() {
		add(fd, unix.POLLPRI)
	}
	if !s.reaped {
		add(s.door, unix.POLLIN)
		for _, fd := range s.visitors {
			add(fd, unix.POLLIN)
		}
	}
	if s.waits && s.offer.IsZero() && s.started && !s.ended && !s.reaped && !s.stopped && !s.hungUp {
		add(s.real.fd, unix.POLLIN)
	}
	if s.wantKeys() {
		if s.keys.empty() || s.asked != nil {
			add(s.real.fd, unix.POLLIN)
		} else {
			add(s.relays[0].master, unix.POLLOUT)
		}
	}
	return set
}

// wantKeys reports whether what is typed is for the box. Once the program has
// ended it is for the next prompt.
func (s *session) wantKeys() bool {
	return s.full && !s.away && s.real.raw && len(s.relays) > 0 && !s.ended && !s.reaped && !s.stopped && !s.hungUp
}

// patience returns how long poll may wait, in milliseconds.
func (s *session) patience() int {
	var first time.Time
	times := []time.Time{s.timeout, s.kill, s.wake, s.trim, s.redraw, s.offer, s.look, s.moveBy, s.recall}
	if s.asked != nil {
		times = append(times, s.asked.quiet, s.asked.end)
	}
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	if first.IsZero() {
		return -1
	}
	return int(max(0, time.Until(first)/time.Millisecond+1))
}

func due(t *time.Time, now time.Time) bool {
	if t.IsZero() || now.Before(*t) {
		return false
	}
	*t = time.Time{}
	return true
}

func (s *session) deadlines(now time.Time) {
	if due(&s.timeout, now) && !s.ended && !s.reaped {
		s.timedOut = true
		s.signalJob(syscall.SIGTERM)
		s.signalJob(syscall.SIGCONT)
		s.killAfter(killGrace)
	}
	if due(&s.kill, now) {
		s.killBox()
	}
	if due(&s.look, now) && !s.ended && !s.reaped {
		if s.over = s.o.Over(); s.over != "" {
			s.killBox()
		} else {
			s.look = now.Add(lookEvery)
		}
	}
	if due(&s.trim, now) && !s.ended {
		debug.FreeOSMemory()
	}
	if due(&s.moveBy, now) && s.moving != nil {
		s.moveLate()
	}
	if due(&s.recall, now) && s.elsewhere() {
		s.callBack(now)
	}
	if due(&s.redraw, now) {
		s.resize()
	}
	if q := s.asked; q != nil && due(&q.quiet, now) {
		s.openQuestion()
	}
	if q := s.asked; q != nil && due(&q.end, now) {
		s.settleQuestion(0)
	}
	if due(&s.wake, now) {
		switch {
		case s.stopped:
			s.resume(false)
			s.resumed = now
		case s.full && !s.real.raw:
			s.attach()
		}
	}
	if due(&s.offer, now) && s.waits && !s.ended && !s.reaped && !s.stopped && s.unread() {
		s.give()
	}
}

// killAfter sets the time when the whole box is killed; an earlier one stays.
func (s *session) killAfter(d time.Duration) {
	if at := time.Now().Add(d); s.kill.IsZero() || at.Before(s.kill) {
		s.kill = at
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
	s.group.Look()
	s.readMessages()
	s.readErrors()
	s.dropQuestions()
	s.closeSock() // a supervisor that outlived bwrap ends now
	s.endRelays()
	s.timeout, s.kill, s.wake, s.trim, s.redraw, s.offer, s.look = time.Time{}, time.Time{}, time.Time{}, time.Time{}, time.Time{}, time.Time{}, time.Time{}
}

func (s *session) closeSock() {
	if s.sock >= 0 {
		if s.o.Calls != nil {
			s.o.Calls.look(s.group)
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
