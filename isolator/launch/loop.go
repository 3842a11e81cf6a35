package launch

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
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
	// How long output may keep coming after the box is dead.
	outputGrace = 200 * time.Millisecond

	maxErrText = 4 << 10 // kept of bwrap's messages
)

// loop follows the run to its end: bwrap has been waited for, and everything
// the box wrote to its terminals has been passed on.
func (s *session) loop() {
	for !s.reaped || (s.running > 0 && !s.abandoned) {
		set := s.pollSet()
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
			switch int(p.Fd) {
			case s.sock:
				s.readMessages()
			case s.errPipe:
				s.readErrors()
			case s.wakeR:
				s.readWake()
			case s.pidfd:
				s.reap(false)
			case s.real.fd:
				s.readKeys()
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
	if !s.reaped {
		add(s.pidfd, unix.POLLIN)
	}
	if s.wantKeys() {
		if s.keys.empty() {
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
	return s.full && s.real.raw && len(s.relays) > 0 && !s.ended && !s.reaped && !s.stopped && !s.hungUp
}

// patience returns how long poll may wait, in milliseconds.
func (s *session) patience() int {
	var first time.Time
	for _, t := range []time.Time{s.timeout, s.kill, s.wake, s.lastCall} {
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
	if due(&s.lastCall, now) {
		for _, r := range s.relays {
			r.request(askStop)
		}
	}
	if due(&s.wake, now) {
		switch {
		case s.stopped:
			s.resume()
			s.resumed = now
		case s.full && !s.real.raw:
			s.attach()
		}
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
	s.readMessages()
	s.readErrors()
	s.closeSock() // a supervisor that outlived bwrap ends now
	s.lastCall = time.Now().Add(outputGrace)
	s.timeout, s.kill, s.wake = time.Time{}, time.Time{}, time.Time{}
}

func (s *session) closeSock() {
	if s.sock >= 0 {
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

// readMessages takes what the supervisor said. The program cannot speak in
// its place, but nothing here trusts that: lengths and order are checked, and
// descriptors are taken once.
func (s *session) readMessages() {
	var buf [maxMessage]byte
	for s.sock >= 0 {
		n, fds, err := recvMsg(s.sock, buf[:])
		if err == unix.EAGAIN {
			return
		}
		if err != nil || n == 0 {
			closeAll(fds)
			s.closeSock()
			return
		}
		s.message(buf[:n], fds)
	}
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

func (s *session) message(m []byte, fds []int) {
	if m[0] == msgMaster && len(fds) == len(s.ptys) && len(s.relays) == 0 && !s.started {
		s.takeMasters(fds)
		return
	}
	closeAll(fds)
	switch {
	case m[0] == msgStart && !s.started:
		s.started = true
		if s.early != 0 && !s.hungUp {
			s.kill = time.Time{} // it is up to the program now
		}
		s.letGoOfPipes()
		if s.o.Timeout > 0 {
			s.timeout = time.Now().Add(s.o.Timeout)
		}
	case m[0] == msgFailed && len(m) >= 2 && !s.failed && !s.ended:
		s.started, s.failed, s.failCode = false, true, int(m[1])
		s.failText = cleanLine(string(m[2:]))
		s.timeout = time.Time{}
	case m[0] == msgStopped && s.started && !s.ended && !s.stopped:
		s.stop()
	case m[0] == msgEnded && len(m) == 5 && s.started && !s.ended:
		s.ended = true
		s.leave()
		s.status = syscall.WaitStatus(uint32(m[1]) | uint32(m[2])<<8 | uint32(m[3])<<16 | uint32(m[4])<<24)
	}
}

// leave ends the run once the program has ended: whatever else ran in the box
// has been killed by the supervisor, so all there is to pass on is in the
// terminals' buffers, and bwrap has nothing left to tell.
func (s *session) leave() {
	for _, r := range s.relays {
		r.request(askStop)
	}
	s.killBox()
}

// takeMasters starts the relays for the box's terminals.
func (s *session) takeMasters(fds []int) {
	for i, fd := range fds {
		// Only a pty master has a number.
		if _, err := unix.IoctlGetInt(fd, unix.TIOCGPTN); err != nil || unix.SetNonblock(fd, true) != nil {
			closeAll(fds[i:])
			s.killBox()
			return
		}
		r, err := startRelay(fd, s.ptys[i], s.wakeW)
		if err != nil {
			closeAll(fds[i:])
			s.killBox()
			return
		}
		s.relays = append(s.relays, r)
		s.running++
	}
	s.resize()
}

// letGoOfPipes replaces our own ends of the pipes that the program now has, so
// that their other ends see the program alone: end of file when it closes its
// output, SIGPIPE when it closes its input.
func (s *session) letGoOfPipes() {
	for i := range 2 {
		fd := s.stdio[i]
		if fd < 0 || s.spec.Stdio[i] != fromLauncher || !isPipe(fd) {
			continue
		}
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
		case wakeReady:
			s.release()
		default:
			s.onSignal(syscall.Signal(b))
		}
	}
}

func (s *session) onSignal(sig syscall.Signal) {
	switch sig {
	case syscall.SIGWINCH:
		s.resize()
		if !s.full {
			s.signalJob(sig) // nobody else tells it, without a controlling terminal
		}
		return
	case syscall.SIGCONT:
		if !s.resumed.IsZero() && time.Since(s.resumed) < time.Second {
			s.resumed = time.Time{} // the same one, seen late: the job has gone on
			return
		}
		s.resume()
		return
	case syscall.SIGTSTP:
		s.signalJob(sig)
		return
	case syscall.SIGHUP:
		if s.full && s.real.gone() {
			s.hangUp()
			return
		}
	}
	if s.ended || s.reaped {
		s.abandoned = s.abandoned || s.reaped
		return
	}
	if !s.started {
		s.giveUp(sig)
	}
	s.signalJob(sig)
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
// start the program.
func (s *session) release() {
	if s.sock < 0 || s.early != 0 {
		return
	}
	if s.full {
		s.attach()
	}
	s.released = true
	_ = sendMsg(s.sock, []byte{msgGo})
}

// signalJob has the supervisor signal the program's process group.
func (s *session) signalJob(sig syscall.Signal) {
	if s.sock >= 0 && s.released && !s.ended {
		_ = sendMsg(s.sock, []byte{msgSignal, byte(sig)})
	}
}

// hangUp follows the end of the real terminal.
func (s *session) hangUp() {
	if s.hungUp {
		return
	}
	s.hungUp = true
	s.real.raw = false // there is nothing to restore
	if s.reaped {
		s.abandoned = true
		return
	}
	if !s.started {
		s.giveUp(syscall.SIGHUP)
	}
	if s.sock >= 0 && s.released {
		_ = sendMsg(s.sock, []byte{msgHangup})
	}
	s.killAfter(killGrace)
}

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
}

// resize gives the box's terminals the size of the real ones. The kernel
// tells the program in the foreground when it changed.
func (s *session) resize() {
	for i, r := range s.relays {
		w := winsize(s.ptys[i])
		_ = unix.IoctlSetWinsize(r.master, unix.TIOCSWINSZ, &w)
	}
}

// stop follows the job: the person's shell has to see a stopped job too.
func (s *session) stop() {
	s.settle()
	s.real.restore()
	s.stopped = true
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

// result puts the terminals back and says how the run ended.
func (s *session) result() Result {
	s.farewell()
	r := Result{Started: s.started, TimedOut: s.timedOut}
	switch {
	case !s.started && s.failed:
		r.Code, r.Reason = s.failCode, s.failText
	case !s.started && s.early != 0:
		r.Code, r.Signal = 128+int(s.early), s.early
		r.Reason = fmt.Sprintf("interrupted by %v before the program started", s.early)
	case !s.started:
		r.Code, r.Reason = CodeNoSandbox, bwrapReason(s.errText, s.bwrap)
	case s.ended:
		r.Code = exitCode(s.status)
		if s.status.Signaled() {
			r.Signal = s.status.Signal()
		}
	default:
		// The supervisor did not live to tell: bwrap, or we, or the program
		// itself killed it.
		r.Code = exitCode(s.bwrap)
		if s.early != 0 {
			r.Code = 128 + int(s.early)
		}
		if n := r.Code - 128; n > 0 && n <= 64 {
			r.Signal = syscall.Signal(n)
		}
	}
	if s.timedOut {
		r.Code = CodeTimeout
	}
	return r
}

// farewell switches off on the real terminals what the program left on, and
// restores their modes.
func (s *session) farewell() {
	for _, r := range s.relays {
		if s.running > 0 || r.gone {
			continue // a relay that hangs on its terminal still owns the rest
		}
		_ = writeAll(r.out, r.modes.resets())
	}
	if out := s.stdio[1]; s.started && !s.abandoned && !s.hungUp && slices.Contains(s.ptys, out) && s.spec.Stdio[1] != fromLauncher {
		switch s.o.CursorFix {
		case "newlines":
			_ = writeAll(out, []byte("\r\n\r\n\r\n"))
		case "shell":
			_ = writeAll(out, []byte("\r\n"))
		}
	}
	s.real.restore()
	if s.running > 0 {
		return // the leaked goroutine still uses them; the process is about to end
	}
	for _, r := range s.relays {
		unix.Close(r.master)
		unix.Close(r.ask)
	}
	s.relays = nil
}

// bwrapReason finds the line in which bwrap says why there is no box.
func bwrapReason(text []byte, st syscall.WaitStatus) string {
	last := ""
	for line := range bytes.Lines(text) {
		l := strings.TrimSpace(string(line))
		if rest, ok := strings.CutPrefix(l, "bwrap: "); ok {
			return cleanLine(rest)
		}
		if l != "" {
			last = l
		}
	}
	switch {
	case last != "":
		return cleanLine(last)
	case st.Signaled():
		return fmt.Sprintf("bwrap was killed by signal %d (%v)", int(st.Signal()), st.Signal())
	default:
		return fmt.Sprintf("bwrap ended with code %d and no message", st.ExitStatus())
	}
}
