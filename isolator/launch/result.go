package launch

import (
	"bytes"
	"errors"
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
	p := &s.program
	r := p.res
	switch {
	case p.at == running:
		r = s.lost()
	case p.early != 0 && !r.Started:
		r = Result{Code: 128 + int(p.early), Signal: p.early, Interrupted: p.early == syscall.SIGINT}
		r.Reason = fmt.Sprintf("interrupted by %v before the program started", p.early)
	case p.at != ended:
		r = Result{Code: CodeNoSandbox, Reason: s.reason(), Forbidden: errors.As(s.mounts.failure, new(forbidden))}
	}
	r.TimedOut = p.timedOut
	s.mounts.covered.tell(&r)
	r.Reached, r.Refused = s.reached(r), s.network.refused.told()
	if !r.Started && slices.Contains(r.Reached, "memory") {
		r.Reason = "the memory limit is too small for the sandbox itself"
	}
	if r.TimedOut {
		r.Code = CodeTimeout
	}
	s.tellEnd(r.Code)
	return r
}

// lost is the end of a program that the first process did not live to tell: bwrap, or we, or the program itself
// killed it.
func (s *session) lost() Result {
	p := &s.program
	r := Result{Started: true, Code: wire.ExitCode(s.child.status)}
	if p.early != 0 {
		r.Code = 128 + int(p.early)
	}
	if n := r.Code - 128; n > 0 && n <= 64 {
		r.Signal = syscall.Signal(n)
		r.Interrupted = p.interrupted && r.Signal == syscall.SIGINT
	}
	return r
}

// programEnd is how a program ended, by its status.
func programEnd(st syscall.WaitStatus) Result {
	r := Result{Started: true, Code: wire.ExitCode(st)}
	if st.Signaled() {
		r.Signal, r.Interrupted = st.Signal(), st.Signal() == syscall.SIGINT
	}
	return r
}

// quiet reads what the terminals still answer to questions of the box: the person's
// shell would take it for typed.
func (s *session) quiet() {
	if s.output.abandoned || s.console.at == hungUp || s.output.busy() {
		return
	}
	if s.console.real.raw {
		if s.output.asked() {
			s.console.real.drain(s.console.ptys[0])
		}
		return
	}
	// Of terminals that the box could only write to nobody has read any answers.
	for i, r := range s.output.relays {
		if r.asked.IsZero() || r.gone {
			continue
		}
		fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", s.console.ptys[i]),
			unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		t := tty{fd: fd}
		if group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err == nil && group == unix.Getpgrp() && t.makeRaw() {
			t.drain(s.console.ptys[i])
			t.restore()
		}
		unix.Close(fd)
	}
}

// farewell switches off on the real terminals what the program left on, and
// restores their modes.
func (s *session) farewell() {
	s.output.resets()
	if out := s.console.stdio[1]; s.started() && !s.output.abandoned && s.console.at != hungUp &&
		s.job.Stdio[1] != wire.FromLauncher {
		switch s.o.CursorFix {
		case "newlines":
			_ = wire.WriteAll(out, []byte("\r\n\r\n\r\n"))
		case "shell":
			_ = wire.WriteAll(out, []byte("\r\n"))
		}
	}
	s.quiet()
	s.restore()
	s.output.close()
}

// reason says why there is no box, when the supervisor did not.
func (s *session) reason() string {
	if s.mounts.failure != nil {
		return wire.Line(s.mounts.failure.Error())
	}
	text := bwrapReason(s.child.errText(), s.child.status)
	if s.container == nil {
		return text
	}
	text = strings.TrimPrefix(text, "Error: ")
	return s.container.Engine + ": " + strings.Replace(text, "bwrap ", s.container.Engine+" ", 1)
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
