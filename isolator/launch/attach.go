package launch

import (
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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
	sock, err := dial(path)
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
	if sendMsg(sock, []byte{joinAsk}, fd) != nil {
		return a, errNotLetIn
	}
	said := make(chan []byte)
	go listenTo(sock, said)
	asked := time.After(joinPatience)
	for {
		select {
		case m, ok := <-said:
			switch {
			case !ok && a.Ended:
				return a, nil
			case !ok:
				return a, errors.New("its inner has ended without a word")
			case m[0] == joinDone:
				asked = nil
			case m[0] == joinNo:
				return a, &RefusedError{string(m[1:])}
			case m[0] == joinLetGo:
				a.Words = string(m[1:])
				return a, nil
			case m[0] == joinEnded && len(m) == 2:
				a.Ended, a.Code, asked = true, int(m[1]), nil
			}
		case sig := <-signals:
			switch sig {
			case syscall.SIGWINCH:
				_ = sendMsg(sock, []byte{joinSize})
			case syscall.SIGHUP, syscall.SIGTERM:
				a.Words = "this terminal was let go"
				return a, nil
			}
		case <-asked:
			return a, errors.New("its inner does not answer")
		}
	}
}

// listenTo hands on what a launcher says, until it ends.
func listenTo(sock int, said chan<- []byte) {
	defer close(said)
	for {
		var buf [256]byte
		if pollOne(sock, unix.POLLIN, -1) == 0 {
			continue
		}
		n, _, fds, err := recvMsg(sock, buf[:])
		closeAll(fds)
		switch {
		case err == unix.EAGAIN:
		case err != nil || n == 0:
			return
		default:
			said <- append([]byte{}, buf[:n]...)
		}
	}
}

// Detach has the box whose launcher listens at path go on when its terminal is gone, and
// lets go of the terminal of inner attach.
func Detach(path string) error {
	_, err := ask(path, joinLeave)
	return err
}

// State is where the terminal of that box is.
func State(path string) (string, error) {
	m, err := ask(path, joinState)
	if err != nil {
		return "", err
	}
	return string(m), nil
}

// ask sends one word to a launcher, and returns what follows the first letter of the answer.
func ask(path string, word byte) ([]byte, error) {
	sock, err := dial(path)
	if err != nil {
		return nil, err
	}
	defer unix.Close(sock)
	if sendMsg(sock, []byte{word}) != nil {
		return nil, errNotLetIn
	}
	var buf [256]byte
	if pollOne(sock, unix.POLLIN, int(joinPatience/time.Millisecond)) == 0 {
		return nil, errors.New("its inner does not answer")
	}
	n, _, fds, err := recvMsg(sock, buf[:])
	closeAll(fds)
	switch {
	case err != nil || n == 0:
		return nil, errNotLetIn
	case buf[0] == joinNo:
		return nil, &RefusedError{string(buf[1:n])}
	}
	return buf[1:n], nil
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
