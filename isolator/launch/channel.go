package launch

import (
	"github.com/enr/inner/isolator/launch/wire"
	"golang.org/x/sys/unix"
)

// channel is the way to the first process of the box.
type channel struct {
	sock int // -1 once closed
	pid  int // of that process, as we see it; 0 until it has spoken
}

// open makes the socketpair and returns the other end.
func (c *channel) open() (theirs int, err error) {
	c.sock, theirs, err = wire.Pair()
	return theirs, err
}

// receive returns the next message, as [wire.Receive] does.
func (c *channel) receive() (wire.Msg, []int, error) {
	m, fds, pid, err := wire.Receive(c.sock)
	if c.pid == 0 && pid > 0 {
		c.pid = pid
	}
	return m, fds, err
}

// send sends a message.
func (c *channel) send(m wire.Msg, fds ...int) error { return wire.SendPatiently(c.sock, m, fds...) }

// refuse has the first process end when it waits for a job: it sees that none will come.
func (c *channel) refuse() {
	if c.sock >= 0 {
		_ = unix.Shutdown(c.sock, unix.SHUT_WR)
	}
}
