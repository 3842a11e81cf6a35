package launch

import (
	"os"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// listen has signals, or the end of Options.Done, come to the wake pipe, and the end of bwrap
// where there is no pidfd.
func (s *session) listen() {
	w := s.wakeW
	if s.o.Done != nil {
		s.caughtAll = true // whoever makes several runs catches signals itself
		s.awaitDone()
	} else {
		s.catch()
	}
	if s.pidfd < 0 { // before Linux 5.4
		go func() {
			var info unix.Siginfo
			for unix.Waitid(unix.P_PID, s.pid, &info, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
			}
			_, _ = unix.Write(w, []byte{wakeChild})
		}()
	}
}

// awaitDone tells the loop when Done is closed.
func (s *session) awaitDone() {
	s.finished, s.awaited = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(s.awaited)
		select {
		case <-s.o.Done:
			_, _ = unix.Write(s.wakeW, []byte{wakeDone})
		case <-s.finished:
		}
	}()
}

// cancel ends the box at once, when Done is closed. bwrap is killed only once the program has
// started, see giveUp.
func (s *session) cancel() {
	s.cancelled = true
	switch {
	case s.over():
	case s.started:
		s.killBox()
	default:
		s.giveUp(syscall.SIGTERM)
	}
}

// catch starts catching signals. That happens on another thread, with
// wakeCaught at its end: each signal costs some handing over between threads,
// which this one, being locked, cannot afford while bwrap works. A signal that
// was ignored when inner started stays ignored, as nohup(1) and background
// jobs of scripts want it.
func (s *session) catch() {
	s.signals = make(chan os.Signal, 64)
	w, signals := s.wakeW, s.signals
	go func() {
		// SIGURG is the Go runtime's own; SIGTTIN and SIGTTOU must stop us.
		wanted := slices.DeleteFunc([]os.Signal{
			syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2,
			syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGWINCH,
		}, signal.Ignored)
		signal.Notify(signals, wanted...)
		_, _ = unix.Write(w, []byte{wakeCaught})
		for sig := range signals {
			if n, ok := sig.(syscall.Signal); ok {
				_, _ = unix.Write(w, []byte{byte(n)})
			}
		}
	}()
}
