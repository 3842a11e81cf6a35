package launch

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// channel is the way to the supervisor.
type channel struct {
	sock int // -1 once closed
	// pid is the supervisor, or what it has become; 0 until it has spoken.
	pid   int
	pidfd int // of it, or -1
}

// open makes the socketpair and returns the supervisor's end.
func (c *channel) open() (theirs int, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socketpair", err)
	}
	c.sock = pair[0]
	_ = unix.SetsockoptInt(c.sock, unix.SOL_SOCKET, unix.SO_PASSCRED, 1)
	return pair[1], nil
}

// receive returns the next message. The error is unix.EAGAIN when there is none for now, and
// io.EOF when there will be none any more.
func (c *channel) receive(buf []byte) (m []byte, fds []int, err error) {
	n, pid, fds, err := wire.Receive(c.sock, buf)
	switch {
	case err == unix.EAGAIN:
		return nil, nil, err
	case err == unix.ECONNRESET:
		// Told once, and before what lies there, when the supervisor ended without
		// having read the word (unix_release_sock): why it did comes next.
		return c.receive(buf)
	case err != nil || n == 0:
		wire.CloseAll(fds)
		return nil, nil, io.EOF
	}
	if c.pid == 0 && pid > 1 {
		c.pid = pid
	}
	return buf[:n], fds, nil
}

// follow opens a pidfd of the supervisor, which waits for us: it becomes the program.
func (c *channel) follow() {
	if c.pidfd < 0 && c.pid > 1 {
		c.pidfd, _ = unix.PidfdOpen(c.pid, 0)
	}
}

// send sends a message.
func (c *channel) send(m ...byte) { _ = wire.Send(c.sock, m) }

// wake sees to it that the supervisor reads: the program may have stopped it.
func (c *channel) wake() {
	if c.pid > 1 {
		_ = unix.Kill(c.pid, unix.SIGCONT)
	}
}

// signalGroup signals the process group of the program that the supervisor has become, and that
// it leads. bwrap, which is not waited for, keeps the number from being anybody else's for
// longer than it takes to end.
func (c *channel) signalGroup(sig syscall.Signal) {
	if c.pid > 1 {
		_ = unix.Kill(-c.pid, sig)
	}
}

// refuse has the supervisor end when it waits for the word: it sees that none will come.
func (c *channel) refuse() {
	if c.sock >= 0 {
		_ = unix.Shutdown(c.sock, unix.SHUT_WR)
	}
}

// exitStatus finds out how the program has ended that the supervisor has become, which
// the kernel tells since Linux 6.15 (PIDFD_GET_INFO).
func (c *channel) exitStatus() (syscall.WaitStatus, bool) {
	if c.pidfd < 0 {
		return 0, false
	}
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	if err := unix.IoctlPidfdInfo(c.pidfd, &info); err != nil || info.Mask&unix.PIDFD_INFO_EXIT == 0 {
		return 0, false
	}
	return syscall.WaitStatus(info.Exit_code), true
}
