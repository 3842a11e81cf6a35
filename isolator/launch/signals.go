package launch

import "syscall"

// readInbox takes signals and the relays' words.
func (s *session) readInbox() {
	for _, b := range s.inbox.take() {
		switch b {
		case wakeChild:
			s.reap(false)
		case wakeRelay:
			s.output.running--
		case wakeIdle:
		case wakeHeld:
			s.held()
		case wakeAsk:
			s.ask()
		case wakeDo:
			s.inbox.doAll()
		case wakeDone:
			s.cancel()
		case wakeCaught:
			s.caught = true
			s.release()
		default:
			s.onSignal(syscall.Signal(b))
		}
	}
}

// held follows a relay that holds: for another terminal, or for a question.
func (s *session) held() {
	switch {
	case !s.output.held():
		// It was about an earlier one.
	case s.join.moving != nil:
		s.moved()
	default:
		s.pose()
	}
}

func (s *session) onSignal(sig syscall.Signal) {
	s.program.interrupted = s.program.interrupted || sig == syscall.SIGINT && !s.elsewhere()
	switch sig {
	case syscall.SIGWINCH:
		s.resize()
		if !s.console.full {
			s.signalJob(sig) // nobody else tells it, without a controlling terminal
		}
	case syscall.SIGCONT:
		if s.suspended.continued() {
			s.resume(true)
		}
	case syscall.SIGHUP:
		if !s.lostTerminal() {
			s.passOn(sig)
		}
	case syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP:
		switch {
		case s.elsewhere(): // typed at the terminal that the box was started in
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
	if !s.program.started {
		s.giveUp(sig)
	}
	s.signalJob(sig)
	if s.program.started {
		s.lastCall(sig)
	}
}

// stopJob follows SIGTSTP: the program stops, and inner with it.
func (s *session) stopJob() {
	if s.console.full || !s.program.started || s.suspended.on {
		s.signalJob(syscall.SIGTSTP) // it says when it has stopped
		return
	}
	// Its group is orphaned: there SIGTSTP does nothing, and nobody looks.
	s.signalJob(syscall.SIGSTOP)
	s.stop()
}

// lostTerminal follows SIGHUP, and reports whether that was all about the terminal.
func (s *session) lostTerminal() bool {
	switch {
	case s.join.stay && s.runs():
		if !s.elsewhere() && s.console.real.gone() {
			s.goAway()
		}
	case s.console.full && s.console.real.gone():
		s.hangUp()
	default:
		return false
	}
	return true
}

// lastCall gives the box killGrace to follow a signal that is meant to end it. Who
// asks inner to end, and kills it when it does not, would lose what comes after the
// program: the look at what it changed.
func (s *session) lastCall(sig syscall.Signal) {
	if sig == syscall.SIGTERM || sig == syscall.SIGHUP {
		s.killAfter(killGrace)
	}
}

// giveUp follows a signal that came before the program was started. It is not
// started if we have not given the word for it; if we have, it finds the
// signal when it starts. bwrap is not killed: its child would wait for ever to
// be released by it (bwrap 0.8.0). Only when it hangs.
func (s *session) giveUp(sig syscall.Signal) {
	s.program.early = sig
	if !s.program.released {
		s.channel.refuse()
	}
	s.killAfter(earlyGrace)
}

// hangUp follows the end of the real terminal.
func (s *session) hangUp() {
	if s.console.hungUp || s.join.away {
		return
	}
	if s.join.stay && s.runs() {
		s.goAway()
		return
	}
	s.console.hungUp = true
	s.dropQuestions()
	s.console.real.raw = false // there is nothing to restore
	if s.child.reaped {
		s.output.abandoned = true
		return
	}
	if !s.program.started {
		s.giveUp(syscall.SIGHUP)
	}
	s.signalJob(syscall.SIGHUP)
	s.killAfter(killGrace)
}

// cancel ends the box at once, when Done is closed. bwrap is killed only once the program has
// started, see giveUp.
func (s *session) cancel() {
	s.cancelled = true
	switch {
	case s.over():
	case s.program.started:
		s.killBox()
	default:
		s.giveUp(syscall.SIGTERM)
	}
}
