package launch

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// suspension is that we have stopped ourselves, after the program.
type suspension struct {
	on      bool
	caught  sigaction // of SIGTSTP, to be put back after that
	guessed time.Time // when we went on without having seen SIGCONT
}

// stopWithin is how long a stop may take to reach us. In an orphaned process group it never
// does, and the job goes on.
const stopWithin = 100 * time.Millisecond

// stop stops us as the terminal does it: our whole group, with the default action. It returns
// when we go on, or will be stopped a moment later.
func (p *suspension) stop(sig syscall.Signal) {
	p.on, p.caught = true, defaultAction(syscall.SIGTSTP)
	_ = unix.Kill(0, sig)
}

// end follows the end of that, and reports whether we had stopped.
func (p *suspension) end() bool {
	if !p.on {
		return false
	}
	p.on = false
	setAction(syscall.SIGTSTP, &p.caught)
	return true
}

// continued reports whether a SIGCONT is news. One for which we did not wait comes late: the
// job has gone on.
func (p *suspension) continued() bool {
	news := p.guessed.IsZero() || time.Since(p.guessed) >= time.Second
	p.guessed = time.Time{}
	return news
}
