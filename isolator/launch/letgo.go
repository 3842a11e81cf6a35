package launch

import (
	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// A box that is detached from the terminal it was started in gives the shell there its
// prompt back, and goes on: the launcher stops itself, as for ^Z, whoever detaches it sees
// the shell take its terminal, and has the launcher continue in the background. When the
// shell brings that job to the foreground (fg), the box has the terminal again.

// letGo has the box go on without its terminal, for the connection fd.
func (s *session) letGo(fd int, words string) {
	if !s.runs() {
		_ = wire.Send(fd, wire.Msg{Kind: wire.Failed, Text: notRunning})
		return
	}
	s.join.stay = true
	if s.join.away {
		_ = wire.Send(fd, wire.Msg{Kind: wire.Detach})
		return
	}
	s.join.detacher = fd
	if words = wire.Line(words); s.join.guest >= 0 {
		words = "detached"
	}
	s.moveTo(-1, -1, words)
}

// givePrompt stops our group, so that the shell takes the terminal. Whoever detaches the box
// is told before.
func (s *session) givePrompt(terminal int) {
	group, err := unix.IoctlGetInt(terminal, unix.TIOCGPGRP)
	sid, _ := unix.Getsid(0)
	if err != nil || sid == unix.Getpid() { // there is no shell that could bring us back
		s.tellDetacher()
		return
	}
	s.alarms.in(recallTerminal, foregroundEvery, s.recall)
	if group != unix.Getpgrp() { // no shell waits for us there
		s.tellDetacher()
		return
	}
	_ = wire.Send(s.join.detacher, wire.Msg{Kind: wire.Stopped})
	s.suspend(unix.SIGTSTP)
}

// tellDetacher says to whoever detaches the box, if anybody does, that it goes on.
func (s *session) tellDetacher() {
	if s.join.detacher >= 0 {
		_ = wire.Send(s.join.detacher, wire.Msg{Kind: wire.Detach})
		s.join.detacher = -1
	}
}

// recall gives the box, which is elsewhere, the terminal we were started in when a shell has
// brought us to the foreground there. That is looked for: bash sends no signal to a job that
// runs already.
func (s *session) recall() {
	if !s.elsewhere() {
		return
	}
	fd := openControlling()
	if fd < 0 {
		return // it is gone
	}
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if err != nil || group != unix.Getpgrp() || s.over() || s.join.guest >= 0 && s.console.real.controls() {
		unix.Close(fd)
		s.alarms.in(recallTerminal, foregroundEvery, s.recall)
		return
	}
	s.moveTo(fd, -1, "taken over from another terminal")
}
