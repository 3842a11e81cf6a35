package launch

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/box"
	"github.com/enr/inner/isolator/launch/wire"
)

func (s *session) readKeys() {
	if err := s.console.keys.fill(s.console.real.fd); err != nil {
		if err == unix.EIO && !s.console.real.gone() && !s.console.real.foreground() {
			// A background process cannot read it: wait to be brought back.
			s.console.real.raw = false
			s.alarms.in(tryTerminal, foregroundEvery, s.attach)
			return
		}
		s.hangUp()
	}
}

// A program whose standard output is no terminal often shares the real one with
// others, who read it: a pager, a filter that draws on it. And one in the background
// must not have it. So in these cases (kept) the program starts in the
// background of the box's own terminal, and the real one is left alone, until the
// program stops because it reads its terminal or changes its modes: then want gives
// it, in the foreground, or stops us as the program would have been stopped outside.
// A program may also wait for keys without reading (poll(2)), which nothing tells:
// a line that nobody has read for offerAfter is taken for its.

// programStopped gives a program that stopped for its terminal that terminal, or stops inner, too.
func (s *session) programStopped(sig syscall.Signal) {
	s.program.halted = true
	switch sig {
	case syscall.SIGTTIN, syscall.SIGTTOU:
		s.want(sig)
	default:
		s.stop()
	}
}

// want follows a program that has stopped by sig because it wants its terminal: in the
// foreground it goes on with that, in the background we stop as it would outside.
//
// Who is in the foreground is asked last, when nothing has to be waited for any more. A shell
// may bring us there meanwhile, and continues only what it has seen stop.
func (s *session) want(sig syscall.Signal) {
	if s.console.at == kept {
		s.console.at = wanted
	}
	s.output.settle()
	switch front := s.console.real.foreground(); {
	case front && s.console.waits():
		s.give()
	case front || s.console.elsewhere():
		s.signalProgram(syscall.SIGCONT)
	default:
		s.endQuestion(0)
		s.suspend(sig)
	}
}

// give lets the program have its terminal, and the real one with it.
func (s *session) give() {
	s.output.settle()
	s.console.at = own
	s.alarms.off(unreadLine)
	s.attach()
	s.signalProgram(syscall.SIGCONT)
}

// offered is called when the real terminal can be read while the program waits.
func (s *session) offered() {
	if s.console.real.gone() {
		s.hangUp()
		return
	}
	s.alarms.in(unreadLine, offerAfter, func() {
		if s.console.waits() && !s.over() && s.unread() {
			s.give()
		}
	})
}

// awaitsLine reports whether a line at the real terminal may turn out to be the program's.
func (s *session) awaitsLine() bool {
	return s.console.waits() && !s.alarms.set(unreadLine) && s.runs()
}

// unread reports whether a line is there that nobody reads. Who reads keys by
// themselves has switched lines off.
func (s *session) unread() bool {
	t, err := unix.IoctlGetTermios(s.console.real.fd, unix.TCGETS)
	return err == nil && t.Lflag&unix.ICANON != 0 && s.console.real.foreground() &&
		wire.Poll(s.console.real.fd, unix.POLLIN, 0)&unix.POLLIN != 0
}

// attach makes the real terminal ours: raw, and its size the box's. In the
// background it is somebody else's; then it is tried again later.
func (s *session) attach() {
	if s.console.at != own && s.console.at != guests {
		return
	}
	if !s.console.real.makeRaw() {
		s.alarms.in(tryTerminal, foregroundEvery, s.attach)
		return
	}
	if len(s.output.relays) > 0 {
		s.deliver()
		// Others may write to the real one, too: it processes output as the box's does, while it is ours.
		s.output.first().follow = s.console.real.shared
	}
	s.resize()
	s.ask()
}

// restore puts the real terminal's modes back.
func (s *session) restore() {
	for _, r := range s.output.relays {
		r.follow = false
	}
	s.console.real.restore()
}

// deliver types at the box's terminal what was typed at the real one before it was
// raw. There it has been shown, so the box's does not show it again: its echo is off
// until all has arrived.
func (s *session) deliver() {
	if len(s.console.real.typed) == 0 {
		return
	}
	master := s.output.first().master
	m, err := unix.IoctlGetTermios(master, unix.TCGETS) // the other end's
	if err != nil {
		return
	}
	const echo = unix.ECHO | unix.ECHONL
	if text, readable := retype(s.console.real.typed, m); len(text) > 0 {
		quiet := *m
		quiet.Lflag &^= echo
		_ = unix.IoctlSetTermios(master, unix.TCSETS, &quiet)
		(*keys)(&text).flush(master) // the terminal holds as much as the real one did
		arrived(master, readable)
		_ = unix.IoctlSetTermios(master, unix.TCSETS, m)
	}
	s.console.real.typed = nil
}

// arrived waits until so many bytes that were typed at the master of a terminal can be read there.
func arrived(master, readable int) {
	fd, err := box.PtyPeer(master, unix.O_RDWR)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	for range 1000 { // a fifth of a second
		// Looking has the kernel take in what is on its way (n_tty_poll), unless there is
		// a line already.
		some := wire.Poll(fd, unix.POLLIN, 0) != 0 || readable == 0
		if n, err := unix.IoctlGetInt(fd, unix.TIOCINQ); err != nil || some && n >= readable {
			return
		}
		time.Sleep(200 * time.Microsecond)
	}
}

// resize gives the box's terminals the size of the real ones. The kernel
// tells the program in the foreground when it changed.
func (s *session) resize() {
	if s.console.at == none {
		return
	}
	for i, r := range s.output.relays {
		w := winsize(s.console.ptys[i])
		_ = unix.IoctlSetWinsize(r.master, unix.TIOCSWINSZ, &w)
		if i == 0 && s.o.Watch != nil {
			s.o.Watch.Resize(w.Row, w.Col)
		}
	}
}

// stop follows the job: the person's shell has to see a stopped job too. Whoever has joined stops there, and
// joins again when continued.
func (s *session) stop() {
	if s.console.at == none { // no shell has the box as its job
		s.signalProgram(syscall.SIGCONT)
		return
	}
	s.endQuestion(0)
	s.output.settle()
	if s.console.real.raw && s.output.asked() {
		// The answers are the job's, when it goes on.
		answers := s.console.real.drain(s.console.ptys[0])
		s.console.keys.add(answers)
		s.console.keys.flush(s.output.first().master)
	}
	if s.console.at == guests {
		s.moveTo(-1, -1, wire.Msg{Kind: wire.Stopped})
		return
	}
	s.suspend(syscall.SIGTSTP)
}

// soon is what no stop takes that somebody ends.
const soon = 5 * time.Millisecond

// suspend stops us as the terminal does it, with its modes put back: our whole group, with the default action.
// This is the first thread of the process, which takes the signal before kill(2) returns: so it returns when we
// go on, and at once in an orphaned process group, where the job goes on, too.
func (s *session) suspend(sig syscall.Signal) {
	s.restore()
	at := time.Now()
	stopGroup(sig)
	switch {
	case !s.console.full:
	case s.console.at != wanted:
		s.attach()
	case time.Since(at) > soon && !s.console.real.foreground():
		s.alarms.in(tryTerminal, soon, func() { // bg: outside the program would stop again
			if s.runs() {
				s.want(syscall.SIGTTIN)
			}
		})
		return
	default:
		s.give()
		return
	}
	s.signalProgram(syscall.SIGCONT)
}
