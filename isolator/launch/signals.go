package launch

import (
	"os"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// Catch has signals that are a program's, and more, come to a channel, but for those that were ignored when inner
// started: they stay so, as nohup(1) and background jobs of scripts want it. SIGURG is the Go runtime's own; SIGTTIN
// and SIGTTOU must stop us, and what SIGCONT ends, see suspend.
func Catch(to chan<- os.Signal, more ...os.Signal) {
	signal.Notify(to, slices.DeleteFunc(append(more, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTSTP), signal.Ignored)...)
}

// catch starts catching signals, or where whoever makes several runs does that itself, waits for Options.Done. It is
// done on another thread, which says when it has begun: each signal costs some handing over between threads, which this
// one, being locked, cannot afford while bwrap works.
func (s *session) catch() {
	over := make(chan struct{})
	s.stopWaiting = func() {
		close(over)
		s.keepLate()
	}
	s.caught = s.o.Done != nil
	go func() {
		if s.o.Done == nil {
			Catch(caught, syscall.SIGWINCH)
			signal.Stop(quits) // see QuitPlainly
			s.inbox.do(func() {
				s.caught = true
				s.release()
			})
		}
		for {
			select {
			case got := <-caught:
				sig := got.(syscall.Signal)
				if sig != syscall.SIGWINCH {
					s.late.Store(int32(sig))
				}
				if !s.inbox.do(func() {
					if !s.over() || s.started() {
						s.late.Store(0)
					}
					s.onSignal(sig)
				}) {
					s.keepLate()
					return
				}
			case <-s.o.Done:
				s.inbox.do(s.cancel)
				return
			case <-over:
				return
			}
		}
	}()
}

// keepLate keeps the last signal of a try that is over for the next one. Nobody waits for the one who catches, who does
// the same with what it takes when the inbox is closed.
func (s *session) keepLate() {
	if sig := syscall.Signal(s.late.Swap(0)); sig != 0 {
		select {
		case caught <- sig:
		default:
		}
	}
}

// quits are what QuitPlainly waits for.
var quits = make(chan os.Signal, 1)

// QuitPlainly has SIGQUIT end this process as it ends others, until a box is started, which passes it on: a Go program
// prints what it is doing, and ends with 2.
func QuitPlainly() {
	if signal.Ignored(syscall.SIGQUIT) {
		return
	}
	go func() {
		signal.Notify(quits, syscall.SIGQUIT)
		<-quits
		defaultAction(syscall.SIGQUIT)
		_ = unix.Kill(unix.Getpid(), unix.SIGQUIT)
	}()
}

// caught are the signals of this process. What comes when a try of a run is over waits for the next one, if
// there is one.
var caught = make(chan os.Signal, 64)

func (s *session) onSignal(sig syscall.Signal) {
	s.program.interrupted = s.program.interrupted || sig == syscall.SIGINT && !s.console.elsewhere()
	switch sig {
	case syscall.SIGWINCH:
		s.resize()
		if !s.console.full {
			s.signalProgram(sig) // nobody else tells it, without a controlling terminal
		}
	case syscall.SIGHUP:
		stays := s.join.stay && s.runs()
		switch {
		case stays && s.console.elsewhere(): // it is about the terminal that the box was started in
		case s.console.full && s.console.real.gone():
			s.hangUp()
		case !stays:
			s.passOn(sig)
		}
	case syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP:
		switch {
		case s.console.elsewhere(): // typed at the terminal that the box was started in
		case sig == syscall.SIGTSTP:
			s.stopJob()
		default:
			s.passOn(sig)
		}
	default:
		s.passOn(sig)
	}
}

// passOn has the program get a signal.
func (s *session) passOn(sig syscall.Signal) {
	if s.over() {
		s.output.abandoned = s.output.abandoned || s.child.reaped
		return
	}
	if s.program.at != running {
		s.giveUp(sig)
	}
	s.signalProgram(sig)
}

// stopJob follows SIGTSTP: the program stops, and inner with it.
func (s *session) stopJob() {
	if s.program.at < told { // there is none that could say when it has stopped
		stopGroup(syscall.SIGTSTP)
		return
	}
	if s.console.full || s.program.at != running {
		s.signalProgram(syscall.SIGTSTP) // it says when it has stopped
		return
	}
	// Its group is orphaned: there SIGTSTP does nothing, and nobody looks.
	s.signalProgram(syscall.SIGSTOP)
	s.output.settle()
	s.suspend(syscall.SIGTSTP)
}

// giveUp follows a signal that came before the program was started. It is not
// started if we have not given the word for it; if we have, it finds the
// signal when it starts. bwrap is not killed: its child would wait for ever to
// be released by it (bwrap 0.8.0). Only when it hangs.
func (s *session) giveUp(sig syscall.Signal) {
	if s.program.early = sig; s.program.at < told {
		s.refuse()
		s.program.at = ended
	}
	s.killAfter(earlyGrace)
}

// hangUp follows the end of the real terminal.
func (s *session) hangUp() {
	if s.console.at == hungUp || s.console.at == none {
		return
	}
	if s.join.stay && s.runs() {
		s.moveTo(-1, -1, wire.Msg{})
		return
	}
	s.console.at = hungUp
	s.dropQuestions()
	s.console.real.raw = false // there is nothing to restore
	if s.child.reaped {
		s.output.abandoned = true
		return
	}
	s.passOn(syscall.SIGHUP)
}

// cancel ends the box at once, when Done is closed. bwrap is killed only once the program has
// started, see giveUp.
func (s *session) cancel() {
	s.cancelled = true
	switch {
	case s.over():
	case s.program.at == running:
		s.killBox()
	default:
		s.giveUp(syscall.SIGTERM)
	}
}
