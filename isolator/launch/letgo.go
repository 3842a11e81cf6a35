package launch

import (
	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// A box that is detached from the terminal it was started in goes on, and the shell there gets its prompt back:
// whoever detaches it stops the launcher, as ^Z would, sees the shell take its terminal, and has the launcher
// continue in the background (package visit). When the shell brings that job to the foreground (fg), the box has
// the terminal again.

// letGo has the box go on without its terminal, for the connection fd.
func (s *session) letGo(fd int, words string) {
	if !s.runs() || s.join.closed {
		_ = wire.Send(fd, wire.Msg{Kind: wire.Failed, Text: map[bool]string{true: NoTerminal, false: notRunning}[s.join.closed]})
		return
	}
	if words = wire.Line(words); s.console.at == guests {
		words = "detached"
	}
	s.join.stay = true
	s.moveTo(-1, -1, wire.Msg{Kind: wire.Released, Text: words})
	_ = wire.Send(fd, wire.Msg{Kind: wire.Detach})
}

// recall gives the box, which is elsewhere, the terminal we were started in when a shell that took it has
// brought us to the foreground there. That is looked for: bash sends no signal to a job that
// runs already.
func (s *session) recall() {
	fd := -1
	if s.console.elsewhere() && !s.over() {
		fd = openControlling() // -1 when it is gone
	}
	if fd < 0 {
		return
	}
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if front := err == nil && group == unix.Getpgrp(); front && s.join.taken &&
		!(s.console.at == guests && s.console.real.controls()) {
		s.moveTo(fd, -1, takenOver)
		return
	} else if !front {
		s.join.taken = true
	}
	unix.Close(fd)
	s.alarms.in(recallTerminal, foregroundEvery, s.recall)
}
