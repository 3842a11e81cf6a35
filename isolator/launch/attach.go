package launch

import (
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// joinPatience is how long a launcher may take to answer.
const joinPatience = 5 * time.Second

var errNotLetIn = errors.New("its inner does not let this process in")

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

// Attach puts the box whose launcher listens at path into a terminal, and returns when the
// program has ended and the launcher with it, or the box goes on without this terminal. The
// terminal has its modes back then.
func Attach(path string, terminal *os.File) (a Attached, err error) {
	sock, err := enter(path)
	if err != nil {
		return a, err
	}
	defer unix.Close(sock)
	fd := int(terminal.Fd())
	saved, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return a, os.NewSyscallError("terminal", err)
	}
	t := tty{fd: fd}
	defer t.set(saved)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGTTOU, syscall.SIGTTIN)
	defer signal.Stop(signals)
	if wire.SendBytes(sock, []byte{joinAsk}, fd) != nil {
		return a, errNotLetIn
	}
	err = a.stay(sock, &t, signals)
	return a, err
}

// enter connects to a launcher whose program runs.
func enter(path string) (sock int, err error) {
	state, err := waitForStart(path)
	if err != nil {
		return -1, err
	}
	if state == Stopped {
		return -1, &RefusedError{"it is stopped in the terminal it was started in, and not detached"}
	}
	return dial(path)
}

// stay follows a visit to its end.
func (a *Attached) stay(sock int, t *tty, signals <-chan os.Signal) error {
	job := lookAt(launcherAt(sock))
	sid, _ := unix.Getsid(0)
	ofShell := job.session == sid && t.controls() // it is a job of the shell here, as this process is
	said := make(chan []byte)
	go listenTo(sock, said)
	asked := time.After(joinPatience)
	for {
		select {
		case m, ok := <-said:
			if !ok && !a.Ended {
				return errors.New("its inner has ended without an answer")
			}
			if !ok {
				return nil
			}
			if m[0] == joinDone && ofShell {
				t.putFront(job.group)
				defer t.putFront(unix.Getpgrp())
				_ = wire.SendBytes(sock, []byte{joinSize})
			}
			if m[0] == joinDone || m[0] == joinEnded {
				asked = nil
			}
			if over, err := a.told(m); over {
				return err
			}
		case sig := <-signals:
			switch sig {
			case syscall.SIGWINCH:
				_ = wire.SendBytes(sock, []byte{joinSize})
			case syscall.SIGHUP, syscall.SIGTERM:
				a.Words = "this terminal was let go"
				return nil
			}
		case <-asked:
			return errors.New("its inner does not answer")
		}
	}
}

// told takes what the launcher says, and reports whether the visit is over with that.
func (a *Attached) told(m []byte) (over bool, err error) {
	switch {
	case m[0] == joinNo:
		return true, &RefusedError{string(m[1:])}
	case m[0] == joinLetGo:
		a.Words = string(m[1:])
		return true, nil
	case m[0] == joinEnded && len(m) == 2:
		a.Ended, a.Code = true, int(m[1])
	}
	return false, nil
}

// listenTo hands on what a launcher says, until it ends.
func listenTo(sock int, said chan<- []byte) {
	defer close(said)
	for {
		var buf [256]byte
		if wire.Poll(sock, unix.POLLIN, -1) == 0 {
			continue
		}
		n, _, fds, err := wire.ReceiveBytes(sock, buf[:])
		wire.CloseAll(fds)
		switch {
		case err == unix.EAGAIN:
		case err != nil || n == 0:
			return
		default:
			said <- append([]byte{}, buf[:n]...)
		}
	}
}

// Detach has the box whose launcher listens at path go on without the terminal that it is
// in, with a line of words there when it is the one that it was started in: the shell there
// has its prompt again when Detach returns.
func Detach(path, words string) error {
	if _, err := waitForStart(path); err != nil {
		return err
	}
	sock, err := dial(path)
	if err != nil {
		return err
	}
	defer unix.Close(sock)
	pid := launcherAt(sock)
	stopped := lookAt(pid).stopped // by ^Z
	if wire.SendBytes(sock, append([]byte{joinLeave}, words...)) != nil {
		return errNotLetIn
	}
	if stopped {
		WakeUp(pid)
	}
	m, err := answerOf(sock)
	if err == nil && m[0] == joinStops {
		goOn(sock, pid)
	}
	return err
}

// State is where the terminal of that box is.
func State(path string) (string, error) {
	sock, err := dial(path)
	if err != nil {
		return "", err
	}
	defer unix.Close(sock)
	if lookAt(launcherAt(sock)).stopped {
		return Stopped, nil
	}
	if wire.SendBytes(sock, []byte{joinState}) != nil {
		return "", errNotLetIn
	}
	m, err := answerOf(sock)
	if err != nil {
		return "", err
	}
	return string(m[1:]), nil
}

// waitForStart waits for a program that is just being started, and says where its terminal
// is then.
func waitForStart(path string) (state string, err error) {
	for end := time.Now().Add(joinPatience); ; time.Sleep(10 * time.Millisecond) {
		if state, err = State(path); err != nil || state != Starting || time.Now().After(end) {
			return state, err
		}
	}
}

// answerOf is what a launcher answers.
func answerOf(sock int) ([]byte, error) {
	buf := make([]byte, wire.MaxMessage)
	if wire.Poll(sock, unix.POLLIN, int(joinPatience/time.Millisecond)) == 0 {
		return nil, errors.New("its inner does not answer")
	}
	n, _, fds, err := wire.ReceiveBytes(sock, buf)
	wire.CloseAll(fds)
	switch {
	case err != nil || n == 0:
		return nil, errNotLetIn
	case buf[0] == joinNo:
		return nil, &RefusedError{string(buf[1:n])}
	}
	return buf[:n], nil
}

// launcherAt is the process that listens at the other end, or 0.
func launcherAt(sock int) int {
	peer, err := unix.GetsockoptUcred(sock, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0
	}
	return int(peer.Pid)
}

func dial(path string) (int, error) {
	sock, at, err := joinSocket(path)
	if err != nil {
		return -1, err
	}
	defer unix.Close(at.dir)
	if err := unix.Connect(sock, &unix.SockaddrUnix{Name: at.name}); err != nil {
		unix.Close(sock)
		if err == unix.ENOENT || err == unix.ECONNREFUSED {
			return -1, &RefusedError{"its program has no terminal of its own to be joined by"}
		}
		return -1, os.NewSyscallError("socket "+strings.TrimSpace(path), err)
	}
	return sock, nil
}
