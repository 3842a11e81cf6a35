package launch

import (
	"encoding/binary"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

func (s *session) readKeys() {
	if err := s.keys.fill(s.real.fd); err != nil {
		if err == unix.EIO && !s.real.gone() && !s.real.foreground() {
			// A background process cannot read it: wait to be brought back.
			s.real.raw = false
			s.alarms.in(tryTerminal, foregroundEvery)
			return
		}
		s.hangUp()
	}
}

// A program whose standard output is no terminal often shares the real one with
// others, who read it: a pager, a filter that draws on it. And one in the background
// must not have it. So in these cases (session.waits) the program starts in the
// background of the box's own terminal, and the real one is left alone, until the
// program stops because it reads its terminal or changes its modes: then want gives
// it, in the foreground, or stops us as the program would have been stopped outside.
// A program may also wait for keys without reading (poll(2)), which nothing tells:
// a line that nobody has read for offerAfter is taken for its.

// want follows a program that has stopped by sig because it wants its terminal: in the
// foreground it goes on with that, in the background we stop as it would outside.
//
// Who is in the foreground is asked last, when nothing has to be waited for any more. A shell
// may bring us there meanwhile, and continues only what it has seen stop.
func (s *session) want(sig syscall.Signal) {
	s.wanted = s.waits
	s.settle()
	switch {
	case s.real.foreground() && s.waits:
		s.give()
	case s.real.foreground() || s.elsewhere():
		s.signalJob(syscall.SIGCONT)
	default:
		s.endQuestion(0)
		s.suspend(sig)
	}
}

// give lets the program have its terminal, and the real one with it.
func (s *session) give() {
	s.settle()
	s.waits, s.wanted = false, false
	s.alarms.off(unreadLine)
	s.attach()
	s.tell(wire.MsgGive)
	s.signalJob(syscall.SIGCONT)
}

// offered is called when the real terminal can be read while the program waits.
func (s *session) offered() {
	if s.real.gone() {
		s.hangUp()
		return
	}
	s.alarms.in(unreadLine, offerAfter)
}

// unread reports whether a line is there that nobody reads. Who reads keys by
// themselves has switched lines off.
func (s *session) unread() bool {
	t, err := unix.IoctlGetTermios(s.real.fd, unix.TCGETS)
	return err == nil && t.Lflag&unix.ICANON != 0 && s.real.foreground() && wire.Poll(s.real.fd, unix.POLLIN, 0)&unix.POLLIN != 0
}

// attach makes the real terminal ours: raw, and its size the box's. In the
// background it is somebody else's; then it is tried again later.
func (s *session) attach() {
	if s.hungUp || s.waits || s.join.away {
		return
	}
	if !s.real.makeRaw() {
		s.alarms.in(tryTerminal, foregroundEvery)
		return
	}
	s.deliver()
	s.whoBreaks()
	s.resize()
	s.ask()
}

// restore puts the real terminal's modes back.
func (s *session) restore() {
	for _, r := range s.relays {
		r.follow.Store(false)
	}
	s.real.restore()
	s.whoBreaks()
}

// whoBreaks tells the relay of the terminal whether that is raw.
func (s *session) whoBreaks() {
	if !s.full || len(s.relays) == 0 {
		return
	}
	t, err := unix.IoctlGetTermios(s.real.fd, unix.TCGETS)
	s.relays[0].breaks.Store(err == nil && breaksLines(t))
	s.relays[0].follow.Store(s.real.raw && s.real.shared)
}

// deliver types at the box's terminal what was typed at the real one before it was
// raw. There it has been shown, so the box's does not show it again: its echo is off
// until the supervisor sees that all has arrived.
func (s *session) deliver() {
	if len(s.relays) == 0 || len(s.real.typed)+len(s.real.keys) == 0 {
		return
	}
	master := s.relays[0].master
	m, err := unix.IoctlGetTermios(master, unix.TCGETS) // the other end's
	if err != nil {
		return
	}
	const echo = unix.ECHO | unix.ECHONL
	if text, readable := retype(s.real.typed, m); len(text) > 0 {
		quiet := *m
		quiet.Lflag &^= echo
		_ = unix.IoctlSetTermios(master, unix.TCSETS, &quiet)
		for len(text) > 0 { // the terminal holds as much as the real one did
			n, err := unix.Write(master, text)
			if err != nil && err != unix.EINTR {
				break
			}
			text = text[max(n, 0):]
		}
		_ = wire.Send(s.sock, binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32([]byte{wire.MsgTyped}, uint32(readable)), m.Lflag&echo))
	}
	if s.keys.empty() {
		s.keys.from, s.keys.to = 0, copy(s.keys.buf[:], s.real.keys)
	}
	s.real.typed, s.real.keys = nil, nil
}

// resize gives the box's terminals the size of the real ones. The kernel
// tells the program in the foreground when it changed.
func (s *session) resize() {
	if s.join.away {
		return
	}
	for i, r := range s.relays {
		w := winsize(s.ptys[i])
		_ = unix.IoctlSetWinsize(r.master, unix.TIOCSWINSZ, &w)
		if i == 0 && s.o.Watch != nil {
			s.o.Watch.Resize(w.Row, w.Col)
		}
	}
}

// stop follows the job: the person's shell has to see a stopped job too.
func (s *session) stop(sig syscall.Signal) {
	if s.elsewhere() { // no shell there has the box as its job
		s.signalJob(syscall.SIGCONT)
		return
	}
	s.endQuestion(0)
	s.settle()
	if s.real.raw && s.mayAnswer(askedWithin) {
		// The answers are the job's, when it goes on.
		answers := s.real.drain(s.ptys[0])
		s.keys.add(answers)
		s.keys.flush(s.relays[0].master)
	}
	s.suspend(sig)
}

// suspend stops us, as the terminal does it: our whole group, with the default action.
func (s *session) suspend(sig syscall.Signal) {
	s.stopped = true
	s.restore()
	s.caught = defaultAction(syscall.SIGTSTP)
	_ = unix.Kill(0, sig)
	s.alarms.in(tryTerminal, stopWithin)
}

// mayAnswer reports whether the box has asked its first terminal something within
// the last d, and the real one may still be answering.
func (s *session) mayAnswer(d time.Duration) bool {
	return len(s.relays) > 0 && !s.hungUp && !s.relays[0].gone && time.Since(time.Unix(0, s.relays[0].asked.Load())) < d
}

// resume follows SIGCONT, when woken, and a stop that did not happen.
func (s *session) resume(woken bool) {
	if s.stopped {
		s.stopped = false
		s.alarms.off(tryTerminal)
		setAction(syscall.SIGTSTP, &s.caught)
		s.tellDetacher()
	}
	switch {
	case s.elsewhere(): // the terminal there is nobody's, or another's
		s.signalJob(syscall.SIGCONT)
	case !s.wanted:
		if s.full {
			s.attach()
		}
		s.signalJob(syscall.SIGCONT)
	case woken && !s.real.foreground():
		s.want(syscall.SIGTTIN) // bg: outside the program would stop again
	default:
		s.give()
	}
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
		if wire.Poll(s.wakeR, unix.POLLIN, int(time.Until(limit)/time.Millisecond)+1) == 0 {
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
