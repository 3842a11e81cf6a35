package launch

import (
	"encoding/binary"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// readMessages takes what the supervisor said. The program cannot speak in
// its place, but nothing here trusts that: lengths and order are checked, and
// descriptors are taken once.
func (s *session) readMessages() {
	var buf [wire.MaxMessage]byte
	for s.sock >= 0 {
		n, pid, fds, err := wire.Receive(s.sock, buf[:])
		if err == unix.EAGAIN {
			return
		}
		if err == unix.ECONNRESET {
			// Told once, and before what lies there, when the supervisor ended without
			// having read the word (unix_release_sock): why it did comes next.
			continue
		}
		if err != nil || n == 0 {
			wire.CloseAll(fds)
			s.closeSock()
			return
		}
		if s.boxPid == 0 && pid > 1 {
			s.boxPid = pid
			if !s.full {
				s.boxFd, _ = unix.PidfdOpen(pid, 0) // it waits for us
			}
		}
		s.message(buf[:n], fds)
	}
}

// message does what the supervisor says, where it may say that now: the rest is ignored.
func (s *session) message(m []byte, fds []int) {
	kind, rest := m[0], m[1:]
	if s.take(kind, rest, fds) {
		return
	}
	wire.CloseAll(fds)
	if s.started && s.o.Calls != nil {
		s.limits.group.Look()
		s.o.Calls.look(s.limits.group)
		if s.o.Calls.message(kind, rest) {
			return
		}
	}
	running := s.full && s.started && !s.ended // the supervisor tells of the program
	switch {
	case kind == wire.MsgReady && !s.ready:
		s.ready = true
		s.release()
	case kind == wire.MsgStart && !s.started:
		s.begin()
	case kind == wire.MsgFailed && len(rest) >= 1 && s.failure == nil && !s.ended:
		s.started, s.failure = false, &failure{int(rest[0]), wire.Line(string(rest[1:]))}
		s.alarms.off(timeLimit)
	case kind == wire.MsgStopped && len(rest) == 1 && running && !s.stopped:
		s.programStopped(syscall.Signal(rest[0]))
	case kind == wire.MsgEnded && len(rest) == 4 && running:
		s.end(syscall.WaitStatus(binary.LittleEndian.Uint32(rest)))
	}
}

// end follows the end of the program. The supervisor has killed whatever else ran, and bwrap has
// nothing left to tell.
func (s *session) end(status syscall.WaitStatus) {
	s.ended, s.status = true, status
	s.dropQuestions()
	s.endRelays()
	s.killBox()
}

// take takes the descriptors that come with a message, and reports whether it did.
func (s *session) take(kind byte, rest []byte, fds []int) bool {
	switch kind {
	case wire.MsgMaster:
		return s.takeMasters(fds)
	case wire.MsgListen:
		return s.takeListener(rest, fds)
	case wire.MsgNetwork:
		return s.takeNetwork(fds)
	case wire.MsgFilled:
		return s.takeFilled(rest, fds)
	case wire.MsgObserve:
		return s.takeObserver(fds)
	}
	return false
}

func (s *session) takeFilled(rest []byte, fds []int) bool {
	if s.started || s.o.Filled == nil || len(rest) != 1 || int(rest[0]) >= len(s.spec.Fills) || len(fds) != 1 {
		return false
	}
	s.o.Filled(int(rest[0]), os.NewFile(uintptr(fds[0]), s.spec.Fills[rest[0]].Dest))
	return true
}

func (s *session) takeObserver(fds []int) bool {
	if s.observed || s.o.Observe == nil || len(fds) != 1 {
		return false
	}
	s.observed = true
	s.o.Observe(os.NewFile(uintptr(fds[0]), "listener of calls"))
	return true
}

// failure is why a program did not start.
type failure struct {
	code int // that of inner
	text string
}

// fail ends the box before its program has started.
func (s *session) fail(why string) {
	s.failure = &failure{CodeNoSandbox, wire.Line(why)}
	s.killBox()
}

// begin follows the start of the program.
func (s *session) begin() {
	s.started = true
	if s.cancelled {
		s.killBox()
	}
	if s.early != 0 {
		s.alarms.off(killTime) // it is up to the program now
		if !s.full {
			s.signalJob(s.early) // there was nobody to send it to
		}
		s.lastCall(s.early)
	}
	s.letGoOfPipes()
	s.spec.Argv, s.spec.Env = nil, nil
	if s.o.Calls != nil {
		s.o.Calls.open(s.sock, s.boxPid)
	}
	if s.o.Begun != nil {
		s.o.Begun()
	}
	if s.o.Done == nil {
		s.alarms.in(giveBackMemory, trimAfter)
	}
	if s.o.Over != nil {
		s.alarms.in(lookAtLimits, lookEvery)
	}
	if s.o.Timeout > 0 {
		s.alarms.in(timeLimit, s.o.Timeout)
	}
}

// programStopped gives a program that stopped for its terminal that terminal, or stops inner, too.
func (s *session) programStopped(sig syscall.Signal) {
	switch sig {
	case syscall.SIGTTIN, syscall.SIGTTOU:
		s.want(sig)
	default:
		s.stop(syscall.SIGTSTP)
	}
}

// endRelays has the relays pass on what is in the terminals' buffers, and end:
// the program has ended, and nothing else of the box runs on.
func (s *session) endRelays() {
	for _, r := range s.relays {
		r.request(askStop)
	}
	if s.reaped { // before that a pipe may still be written to
		for _, r := range s.pumps {
			r.request(askStop)
		}
	}
}

// takeMasters starts the relays for the box's terminals.
func (s *session) takeMasters(fds []int) bool {
	if s.started || len(s.relays) > 0 || len(fds) == 0 || len(fds) != len(s.ptys) {
		return false
	}
	if s.join.stay && !s.join.away {
		s.join.away = true
		s.put(-1, s.ptys...) // what goes wrong is still told on standard error
	}
	for i, fd := range fds {
		// Only a pty master has a number.
		if _, err := unix.IoctlGetInt(fd, unix.TIOCGPTN); err != nil || unix.SetNonblock(fd, true) != nil {
			wire.CloseAll(fds[i:])
			s.killBox()
			return true
		}
		r := &relay{master: fd, out: s.ptys[i], wake: s.wakeW, watch: s.o.Watch}
		if !s.o.Clipboard {
			r.filter = new(filter)
		}
		r, err := newRelay(r)
		if err != nil {
			wire.CloseAll(fds[i:])
			s.killBox()
			return true
		}
		s.relays = append(s.relays, r)
		s.running++
		if i == 0 {
			s.whoBreaks()
		}
		go r.run()
	}
	s.resize()
	if s.full {
		s.o.Ask.begin(s.wakeW)
		s.deliver()
		s.release()
	}
	return true
}

// letGoOfPipes replaces our own ends of the pipes that the program now has, so
// that their other ends see the program alone: end of file when it closes its
// output, SIGPIPE when it closes its input.
func (s *session) letGoOfPipes() {
	for i := range 2 {
		fd := s.stdio[i]
		if fd >= 0 && s.spec.Stdio[i] == wire.FromLauncher && s.pipes[i] < 0 && isPipe(fd) {
			letGo(fd)
		}
	}
}

// letGo replaces a descriptor by /dev/null.
func letGo(fd int) {
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	flags := unix.O_CLOEXEC
	if fd <= 2 {
		flags = 0
	}
	_ = unix.Dup3(null, fd, flags)
	unix.Close(null)
}

// readWake takes signals and the relays' words from the wake pipe.
func (s *session) readWake() {
	var buf [64]byte
	n, err := unix.Read(s.wakeR, buf[:])
	if err != nil {
		return
	}
	for _, b := range buf[:n] {
		switch b {
		case wakeChild:
			s.reap(false)
		case wakeRelay:
			s.running--
		case wakeIdle:
		case wakeHeld:
			if s.join.moving != nil && s.relays[0].heldFor.Load() == s.holds {
				s.moved()
			} else {
				s.pose()
			}
		case wakeAsk:
			s.ask()
		case wakeDone:
			s.cancel()
		case wakeCaught:
			s.caughtAll = true
			s.release()
		default:
			s.onSignal(syscall.Signal(b))
		}
	}
}

func (s *session) onSignal(sig syscall.Signal) {
	s.interrupted = s.interrupted || sig == syscall.SIGINT && !s.elsewhere()
	switch sig {
	case syscall.SIGWINCH:
		s.resize()
		if !s.full {
			s.signalJob(sig) // nobody else tells it, without a controlling terminal
		}
	case syscall.SIGCONT:
		s.continued()
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
		s.abandoned = s.abandoned || s.reaped
		return
	}
	if !s.started {
		s.giveUp(sig)
	}
	s.signalJob(sig)
	if s.started {
		s.lastCall(sig)
	}
}

// continued follows SIGCONT. One for which we did not wait comes late: the job has gone on.
func (s *session) continued() {
	if s.resumed.IsZero() || time.Since(s.resumed) >= time.Second {
		s.resume(true)
	}
	s.resumed = time.Time{}
}

// stopJob follows SIGTSTP: the program stops, and inner with it.
func (s *session) stopJob() {
	if s.full || !s.started || s.stopped {
		s.signalJob(syscall.SIGTSTP) // it says when it has stopped
		return
	}
	// Its group is orphaned: there SIGTSTP does nothing, and nobody looks.
	s.signalJob(syscall.SIGSTOP)
	s.stop(syscall.SIGTSTP)
}

// lostTerminal follows SIGHUP, and reports whether that was all about the terminal.
func (s *session) lostTerminal() bool {
	switch {
	case s.join.stay && s.runs():
		if !s.elsewhere() && s.real.gone() {
			s.goAway()
		}
	case s.full && s.real.gone():
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
	s.early = sig
	if !s.released && s.sock >= 0 {
		_ = unix.Shutdown(s.sock, unix.SHUT_WR)
	}
	s.killAfter(earlyGrace)
}

// release makes the real terminal ready and gives the supervisor the word to
// start the program, once that will wait for it and signals are caught.
func (s *session) release() {
	if s.sock < 0 || s.early != 0 || !s.ready || !s.caughtAll || !s.networked || s.failure != nil || s.released {
		return
	}
	if !s.limited() || !s.completed() {
		return
	}
	if s.full {
		s.attach()
		if len(s.real.typed) > 0 && len(s.relays) == 0 {
			return // it is the program's, and comes first: takeMasters releases
		}
	}
	s.released = true
	_ = wire.Send(s.sock, []byte{wire.MsgGo})
}

// signalJob has the supervisor signal the program's process group.
func (s *session) signalJob(sig syscall.Signal) {
	switch {
	case s.full:
		s.tell(wire.MsgSignal, byte(sig))
	case s.started && !s.reaped && s.boxPid > 1:
		// The supervisor has become the program, leader of its group; bwrap,
		// which is not waited for, keeps the number from being anybody else's
		// for longer than it takes to end.
		_ = unix.Kill(-s.boxPid, sig)
	}
}

// tell sends a message to the supervisor, awake or not: the program may have
// stopped it.
func (s *session) tell(msg ...byte) {
	if s.sock < 0 || !s.released || s.ended {
		return
	}
	_ = wire.Send(s.sock, msg)
	if s.boxPid > 1 {
		_ = unix.Kill(s.boxPid, unix.SIGCONT)
	}
}

// hangUp follows the end of the real terminal.
func (s *session) hangUp() {
	if s.hungUp || s.join.away {
		return
	}
	if s.join.stay && s.runs() {
		s.goAway()
		return
	}
	s.hungUp = true
	s.dropQuestions()
	s.real.raw = false // there is nothing to restore
	if s.reaped {
		s.abandoned = true
		return
	}
	if !s.started {
		s.giveUp(syscall.SIGHUP)
	}
	s.tell(wire.MsgHangup)
	s.killAfter(killGrace)
}
