package launch

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func (s *session) readKeys() {
	if err := s.keys.fill(s.real.fd); err != nil {
		if err == unix.EIO && !s.real.gone() && !s.real.foreground() {
			// A background process cannot read it: wait to be brought back.
			s.real.raw = false
			s.wake = time.Now().Add(foregroundEvery)
			return
		}
		s.hangUp()
	}
}

// attach makes the real terminal ours: raw, and its size the box's. In the
// background it is somebody else's; then it is tried again later.
func (s *session) attach() {
	if s.hungUp {
		return
	}
	if !s.real.makeRaw() {
		s.wake = time.Now().Add(foregroundEvery)
		return
	}
	s.resize()
	s.ask()
}

// resize gives the box's terminals the size of the real ones. The kernel
// tells the program in the foreground when it changed.
func (s *session) resize() {
	for i, r := range s.relays {
		w := winsize(s.ptys[i])
		_ = unix.IoctlSetWinsize(r.master, unix.TIOCSWINSZ, &w)
		if i == 0 && s.o.Watch != nil {
			s.o.Watch.Resize(w.Row, w.Col)
		}
	}
}

// stop follows the job: the person's shell has to see a stopped job too.
func (s *session) stop() {
	s.stopped = true
	s.settleQuestion(0)
	s.settle()
	s.real.restore()
	// As the terminal does it: our whole group, with the default action.
	s.caught = defaultAction(syscall.SIGTSTP)
	_ = unix.Kill(0, unix.SIGTSTP)
	s.wake = time.Now().Add(stopWithin)
}

// resume follows SIGCONT, and a stop that did not happen.
func (s *session) resume() {
	if s.stopped {
		s.stopped, s.wake = false, time.Time{}
		setAction(syscall.SIGTSTP, &s.caught)
	}
	if s.full {
		s.attach()
	}
	s.signalJob(syscall.SIGCONT)
}

// settle waits until what the stopped job has written is on the real terminal,
// a second at most.
func (s *session) settle() {
	limit := time.Now().Add(time.Second)
	waiting := 0
	for _, r := range s.relays {
		r.request(askIdle)
		waiting++
	}
	if waiting > s.running {
		waiting = s.running
	}
	var later []byte
	for waiting > 0 && time.Now().Before(limit) {
		if pollOne(s.wakeR, unix.POLLIN, int(time.Until(limit)/time.Millisecond)+1) == 0 {
			break
		}
		var buf [64]byte
		n, _ := unix.Read(s.wakeR, buf[:])
		for _, b := range buf[:max(n, 0)] {
			switch b {
			case wakeIdle:
				waiting--
			case wakeRelay:
				waiting--
				later = append(later, b)
			default:
				later = append(later, b)
			}
		}
	}
	if len(later) > 0 {
		_, _ = unix.Write(s.wakeW, later)
	}
}
