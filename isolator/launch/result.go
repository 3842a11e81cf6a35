package launch

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// result puts the terminals back and says how the run ended.
func (s *session) result() Result {
	s.dropQuestions()
	s.farewell()
	r := Result{Started: s.started, TimedOut: s.timedOut}
	s.covered.tell(&r)
	switch {
	case !s.started && s.failure != nil:
		r.Code, r.Reason = s.failure.code, s.failure.text
	case !s.started && s.early != 0:
		r.Code, r.Signal = 128+int(s.early), s.early
		r.Interrupted = s.early == syscall.SIGINT
		r.Reason = fmt.Sprintf("interrupted by %v before the program started", s.early)
	case !s.started:
		r.Code, r.Reason = CodeNoSandbox, s.reason()
	case s.ended || s.programEnded():
		r.Code = wire.ExitCode(s.status)
		if s.status.Signaled() {
			r.Signal = s.status.Signal()
			r.Interrupted = r.Signal == syscall.SIGINT
		}
	default:
		// The supervisor did not live to tell: bwrap, or we, or the program
		// itself killed it.
		r.Code = wire.ExitCode(s.bwrap)
		if s.early != 0 {
			r.Code = 128 + int(s.early)
		}
		if n := r.Code - 128; n > 0 && n <= 64 {
			r.Signal = syscall.Signal(n)
			// A program may also end with that code of itself, which only
			// programEnded can tell.
			r.Interrupted = s.started && s.interrupted && r.Signal == syscall.SIGINT
		}
	}
	r.Reached = s.reached(r)
	if !s.started && slices.Contains(r.Reached, "memory") {
		r.Reason = "the memory limit is too small for the sandbox itself"
	}
	if s.timedOut {
		r.Code = CodeTimeout
	}
	s.tellEnd(r.Code)
	return r
}

// programEnded finds out how a program that took the supervisor's place has ended.
// bwrap hands on a code, in which 130 may be a program that died of SIGINT as well as
// one that caught it, and whoever waits for inner has to see the one or the other.
// Since Linux 6.15 the kernel tells (PIDFD_GET_INFO).
func (s *session) programEnded() bool {
	if s.boxFd < 0 || s.full {
		return false
	}
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	if err := unix.IoctlPidfdInfo(s.boxFd, &info); err != nil || info.Mask&unix.PIDFD_INFO_EXIT == 0 {
		return false
	}
	s.status = syscall.WaitStatus(info.Exit_code)
	return true
}

// quiet reads what the terminals still answer to questions of the box: the person's
// shell would take it for typed.
func (s *session) quiet() {
	if s.abandoned || s.hungUp || s.running > 0 {
		return
	}
	if s.real.raw {
		if s.mayAnswer(askedWithin) {
			s.real.drain(s.ptys[0])
		}
		return
	}
	// Of terminals that the box could only write to nobody has read any answers.
	for i, r := range s.relays {
		if r.asked.Load() == 0 || r.gone {
			continue
		}
		fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", s.ptys[i]), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		t := tty{fd: fd}
		if group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err == nil && group == unix.Getpgrp() && t.makeRaw() {
			t.drain(s.ptys[i])
			t.restore()
		}
		unix.Close(fd)
	}
}

// farewell switches off on the real terminals what the program left on, and
// restores their modes.
func (s *session) farewell() {
	for _, r := range s.relays {
		if s.running > 0 || r.gone {
			continue // a relay that hangs on its terminal still owns the rest
		}
		_ = wire.WriteAll(r.out, r.modes.resets())
	}
	if out := s.stdio[1]; s.started && !s.abandoned && !s.hungUp && slices.Contains(s.ptys, out) && s.spec.Stdio[1] != wire.FromLauncher {
		switch s.o.CursorFix {
		case "newlines":
			_ = wire.WriteAll(out, []byte("\r\n\r\n\r\n"))
		case "shell":
			_ = wire.WriteAll(out, []byte("\r\n"))
		}
	}
	s.quiet()
	s.restore()
	if s.running > 0 {
		return // the leaked goroutine still uses them; the process is about to end
	}
	for _, r := range append(s.relays, s.pumps...) {
		unix.Close(r.master)
		unix.Close(r.ask)
	}
	s.relays, s.pumps = nil, nil
}

// reason says why there is no box, when the supervisor did not.
func (s *session) reason() string {
	text := bwrapReason(s.errText, s.bwrap)
	if s.contained == nil {
		return text
	}
	text = strings.TrimPrefix(text, "Error: ")
	return s.contained.c.Engine + ": " + strings.Replace(text, "bwrap ", s.contained.c.Engine+" ", 1)
}

// bwrapReason finds the line in which bwrap says why there is no box.
func bwrapReason(text []byte, st syscall.WaitStatus) string {
	last := ""
	for line := range bytes.Lines(text) {
		l := strings.TrimSpace(string(line))
		if rest, ok := strings.CutPrefix(l, "bwrap: "); ok {
			return wire.Line(rest)
		}
		if l != "" {
			last = l
		}
	}
	switch {
	case last != "":
		return wire.Line(last)
	case st.Signaled():
		return fmt.Sprintf("bwrap was killed by signal %d (%v)", int(st.Signal()), st.Signal())
	default:
		return fmt.Sprintf("bwrap ended with code %d and no message", st.ExitStatus())
	}
}
