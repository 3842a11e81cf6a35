// Package visit is what other processes do with a box that runs. One with a terminal of its own they put into their
// terminal, let go on without one, start without one, or ask where it is; any they give more. The launcher, at
// the other end of the socket, is package launch (join.go, letgo.go).
package visit

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/launch/box"
	"github.com/enr/inner/isolator/launch/wire"
)

const (
	// joinPatience is how long a launcher may take to answer.
	joinPatience = 5 * time.Second
	// grantPatience is how long it may look at the host before it gives its box something.
	grantPatience = 30 * time.Second
	// stoppedEvery is how often a client in the background looks whether it is to go on.
	stoppedEvery = 100 * time.Millisecond
)

var (
	errNotLetIn = errors.New("its inner does not let this process in")
	errSilent   = errors.New("its inner does not answer")
	// ErrEnded is how a visit ends when the launcher is gone, also while who visits was stopped.
	ErrEnded = errors.New("its inner has ended without an answer")
)

// RefusedError is what a launcher says to whoever it does not let in.
type RefusedError struct{ Words string }

// Error is its words.
func (e *RefusedError) Error() string { return e.Words }

// Attached is how a visit of a box ended.
type Attached struct {
	Code  int    // of the program, when Ended
	Ended bool   // the program has ended
	Words string // otherwise, why the terminal was let go
}

// Attach puts the box whose launcher has this number, and listens at path, into a terminal. It returns
// when the program has ended and the launcher with it, or the box goes on without this terminal. The
// terminal has its modes back then.
func Attach(path string, launcher int, terminal *os.File) (a Attached, err error) {
	sock, err := enter(path, launcher)
	if err != nil {
		return a, err
	}
	defer unix.Close(sock)
	if lookAt(launcher).stopped {
		return a, &RefusedError{"it is stopped in the terminal it was started in, and not detached"}
	}
	fd := int(terminal.Fd())
	saved, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return a, os.NewSyscallError("terminal", err)
	}
	defer func() {
		if inFront(fd) { // a shell has modes of its own there
			_ = box.Quietly(func() error { return unix.IoctlSetTermios(fd, unix.TCSETS, saved) })
		}
	}()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGTTOU, syscall.SIGTTIN)
	defer signal.Stop(signals)
	if wire.Send(sock, wire.Msg{Kind: wire.Terminal}, fd) != nil {
		return a, errNotLetIn
	}
	var letGo atomic.Bool
	go func() {
		for sig := range signals {
			switch sig {
			case syscall.SIGWINCH:
				_ = wire.Send(sock, wire.Msg{Kind: wire.Size})
			case syscall.SIGHUP, syscall.SIGTERM:
				letGo.Store(true)
				_ = unix.Shutdown(sock, unix.SHUT_RDWR)
			}
		}
	}()
	if err = a.stay(sock, lookAt(launcher), fd, saved); err == errNotLetIn {
		switch {
		case a.Ended:
			err = nil
		case letGo.Load():
			a.Words, err = "this terminal was let go", nil
		default:
			err = ErrEnded
		}
	}
	return a, err
}

// stay follows a visit to its end. errNotLetIn is that of the connection.
func (a *Attached) stay(sock int, job jobOf, terminal int, modes *unix.Termios) error {
	sid, _ := unix.Getsid(0)
	_, elsewhere := unix.IoctlGetInt(terminal, unix.TIOCGPGRP)
	ofShell := job.session == sid && elsewhere == nil // it is a job of the shell here, as this process is
	back := func() {                                  // unless the shell has it
		if front, err := unix.IoctlGetInt(terminal, unix.TIOCGPGRP); ofShell && err == nil && front == job.group {
			putFront(terminal, unix.Getpgrp())
		}
	}
	defer back()
	for patience := joinPatience; ; patience = -time.Millisecond {
		m, err := answerOf(sock, patience)
		switch {
		case err != nil:
			return err
		case m.Kind == wire.Released:
			a.Words = m.Text
			return nil
		case m.Kind == wire.Ended:
			a.Ended, a.Code = true, int(m.N)
		case m.Kind == wire.Stopped:
			back()
			if suspend(sock, terminal, modes) && wire.Send(sock, wire.Msg{Kind: wire.Terminal}, terminal) != nil {
				return errNotLetIn
			}
		case m.Kind == wire.Terminal && ofShell:
			putFront(terminal, job.group)
			_ = wire.Send(sock, wire.Msg{Kind: wire.Size})
		}
	}
}

// suspend stops this process and its group, as ^Z does, and reports whether they are in the foreground again: not so when
// the visit is over, or something came, after they went on in the background.
func suspend(sock, terminal int, modes *unix.Termios) bool {
	_ = box.Quietly(func() error { return unix.IoctlSetTermios(terminal, unix.TCSETS, modes) })
	for looks := 0; ; looks++ {
		if looks%10 == 0 { // who goes on because of a signal, such as SIGTERM, has a second to follow it
			_ = unix.Kill(0, unix.SIGTSTP) // the others: this process has caught it
			launch.StopSelf()              // which nothing does in an orphaned group
		}
		if inFront(terminal) {
			return true
		}
		if wire.Poll(sock, unix.POLLIN, int(stoppedEvery/time.Millisecond)) != 0 {
			return false
		}
	}
}

// inFront reports whether nobody else has the terminal.
func inFront(terminal int) bool {
	group, err := unix.IoctlGetInt(terminal, unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// putFront puts a group of our session into the foreground of the terminal, from the
// background, too.
func putFront(terminal, group int) {
	_ = box.Quietly(func() error { return unix.IoctlSetPointerInt(terminal, unix.TIOCSPGRP, group) })
}

// Detach has the box go on without the terminal that it is in, with a line of words there when it
// is the one that it was started in: the shell there has its prompt again when Detach returns.
func Detach(path string, launcher int, words string) error {
	sock, err := enter(path, launcher)
	if err != nil {
		return err
	}
	defer unix.Close(sock)
	own := State(path, launcher) == launch.InItsTerminal // else a shell has it
	if wire.Send(sock, wire.Msg{Kind: wire.Detach, Text: words}) != nil {
		return errNotLetIn
	}
	for end := time.Now().Add(joinPatience); wire.Poll(sock, unix.POLLIN, int(stoppedEvery/time.Millisecond)) == 0 && time.Now().Before(end); {
		WakeUp(launcher) // it stops again where its program wants the terminal
	}
	if _, err = answerOf(sock, joinPatience); err == nil && own && givePrompt(launcher) {
		_ = wire.Send(sock, wire.Msg{Kind: wire.Stopped})
	}
	return err
}

// startsWithin is how long after its socket a box has started.
const startsWithin = time.Minute

// State is where the terminal of a box is; "" when it has none of its own, or none that is known: an earlier
// version said that otherwise.
func State(path string, launcher int) string {
	text, err := os.ReadFile(path + launch.WhereSuffix)
	door, gone := os.Lstat(path)
	switch {
	case gone != nil:
		return ""
	case lookAt(launcher).stopped:
		return launch.Stopped
	case err == nil:
		return string(text)
	case time.Since(door.ModTime()) > startsWithin:
		return ""
	}
	return launch.Starting
}

// Grant has the launcher that listens at path give its box something, and returns what it says of that. What it refuses
// is a RefusedError.
func Grant(path string, launcher int, request []byte) (words string, err error) {
	sock, err := enter(path, launcher)
	if _, none := errors.AsType[*RefusedError](err); none { // of an engine's container, too
		return "", &RefusedError{"needs a new run: it cannot be reached, or has ended"}
	} else if err != nil {
		return "", err
	}
	defer unix.Close(sock)
	if lookAt(launcher).stopped {
		return "", &RefusedError{"it is stopped in the terminal it was started in"}
	}
	file, err := wire.Memfd(request)
	if err != nil {
		return "", err
	}
	defer unix.Close(file)
	if wire.Send(sock, wire.Msg{Kind: wire.Grant}, file) != nil {
		return "", errNotLetIn
	}
	m, err := answerOf(sock, grantPatience)
	return m.Text, err
}

// enter connects to a launcher, which answers once its program runs.
func enter(path string, launcher int) (sock int, err error) {
	switch sock, err = wire.Dial(path); err {
	case nil:
	case unix.ENOENT, unix.ECONNREFUSED:
		return -1, &RefusedError{launch.NoTerminal}
	default:
		return -1, fmt.Errorf("socket %s: %w", path, err)
	}
	for end := time.Now().Add(joinPatience); unix.Access(path+launch.WhereSuffix, unix.F_OK) != nil && !lookAt(launcher).stopped; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			unix.Close(sock)
			return -1, fmt.Errorf("its inner is of another version, and can only be ended: kill %d", launcher)
		}
	}
	return sock, nil
}

// answerOf is what a launcher says within so long, or after any time when that is negative.
func answerOf(sock int, patience time.Duration) (wire.Msg, error) {
	if wire.Poll(sock, unix.POLLIN, int(patience/time.Millisecond)) == 0 {
		return wire.Msg{}, errSilent
	}
	m, fds, err := wire.Await(sock)
	wire.CloseAll(fds)
	switch {
	case err != nil:
		return m, errNotLetIn
	case m.Kind == wire.Failed:
		return m, &RefusedError{m.Text}
	}
	return m, nil
}

// Holder finds the process that holds a run by flock, in the form of proc_locks(5), 0 where
// the kernel does not say:
//
//	1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF
//
// The kernel stops all locking to list it, which takes 10 ms and more: no run looks. It lists in pieces, and leaves
// some out when others go in between.
func Holder(base, id string) int {
	var st syscall.Stat_t
	if syscall.Lstat(filepath.Join(base, id, "lock"), &st) != nil {
		return 0
	}
	form := fmt.Sprintf("%%d: FLOCK ADVISORY WRITE %%d %02x:%02x:%d 0 EOF", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	for range 5 {
		locks, _ := os.ReadFile("/proc/locks") // without it no process is known
		for line := range strings.Lines(string(locks)) {
			var number, pid int
			if _, err := fmt.Sscanf(line, form, &number, &pid); err == nil {
				return max(pid, 0)
			}
		}
	}
	return 0
}

// Signal sends a signal to the process that holds a run, and to no other: it is named by a
// descriptor, and asked once more whether it still holds the run.
func Signal(base, id string, sig syscall.Signal) error {
	pid := Holder(base, id)
	if pid == 0 {
		return fmt.Errorf("the process of run %s is unknown", id)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("run %s: %w", id, err)
	}
	defer unix.Close(fd)
	if Holder(base, id) != pid {
		return fmt.Errorf("run %s has ended meanwhile", id)
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}
