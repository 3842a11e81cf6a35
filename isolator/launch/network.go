package launch

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// Network is what the launcher has of the box's network: a socket stays in the
// namespace it was made in, so what is accepted and dialled here, on the host's
// side, is accepted and dialled in the box.
type Network struct {
	// Listeners are those of each port of Plan.Listen, in its order: one on
	// 127.0.0.1 and, where the box has IPv6, one on ::1. They are closed at the end
	// of the run.
	Listeners [][]net.Listener

	// Dial connects to a port of the box's loopback, 127.0.0.1 or else ::1. It is
	// nil unless the plan publishes a port.
	Dial func(ctx context.Context, port uint16) (net.Conn, error)

	Box Running
}

// dialTime is how long a socket may take to be connected on a loopback.
const dialTime = 5 * time.Second

// network is the box's network, in our hands. All but Network is the loop's.
type network struct {
	Network
	asked   []chan madeSocket // for sockets that have not come, in their order; each gets one
	over    chan struct{}     // closed when there is nobody to ask any more
	refused refusals
}

// madeSocket is the answer to a question for a socket.
type madeSocket struct {
	fd  int // -1 with err
	err error
}

// takeNetwork hands on the network, of which all is there.
func (s *session) takeNetwork() {
	n := &s.network
	for _, l := range n.Listeners {
		if len(l) == 0 {
			s.noNetwork(errors.New("the box sent too few listeners"))
			return
		}
	}
	if s.program.at == ended || s.o.Network == nil { // nobody accepts: what connects is refused once they are closed
		return
	}
	if s.publishes {
		n.Dial = s.dial
	}
	if len(n.Listeners) == 0 && !s.publishes {
		return
	}
	n.Box = Running{s}
	if err := s.o.Network(n.Network); err != nil {
		s.noNetwork(err)
	}
}

func (s *session) noNetwork(err error) {
	s.fail("network: " + err.Error())
}

// takeListener keeps a socket that the box listens on for us, of the listeners of a port.
func (s *session) takeListener(index, fd int) {
	f := os.NewFile(uintptr(fd), "listener of the box")
	defer f.Close()
	listening, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	if err != nil || listening != 1 || index >= len(s.network.Listeners) {
		s.noNetwork(errors.New("the box sent something that is not a listener"))
		return
	}
	l, err := net.FileListener(f)
	if err != nil {
		s.noNetwork(err)
		return
	}
	s.network.Listeners[index] = append(s.network.Listeners[index], l)
}

func (n *network) close() {
	closeFds(&n.refused.packets)
	for _, ls := range n.Listeners {
		for _, l := range ls {
			_ = l.Close()
		}
	}
}

func (s *session) dial(ctx context.Context, port uint16) (net.Conn, error) {
	c, err := s.dialFamily(ctx, unix.AF_INET, &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}})
	if errors.Is(err, unix.ECONNREFUSED) { // a server may listen on the other one alone
		if c, err := s.dialFamily(ctx, unix.AF_INET6, &unix.SockaddrInet6{Port: int(port), Addr: [16]byte{15: 1}}); err == nil {
			return c, nil
		}
	}
	return c, err
}

func (s *session) dialFamily(ctx context.Context, family int, to unix.Sockaddr) (net.Conn, error) {
	fd, err := s.askSocket(family)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "socket of the box")
	defer f.Close()
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	end := time.Now().Add(dialTime)
	if at, ok := ctx.Deadline(); ok && at.Before(end) {
		end = at
	}
	err = unix.Connect(fd, to)
	if err == unix.EINPROGRESS || err == unix.EINTR {
		if wire.Poll(fd, unix.POLLOUT, max(0, int(time.Until(end)/time.Millisecond))) == 0 {
			return nil, unix.ETIMEDOUT
		}
		var failed int
		if failed, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR); err == nil && failed != 0 {
			err = unix.Errno(failed)
		}
	}
	if err != nil {
		return nil, err
	}
	return net.FileConn(f)
}

// askSocket asks for a fresh TCP socket of the box. Any goroutine but the loop's may call it.
func (s *session) askSocket(family int) (fd int, err error) {
	n := &s.network
	answer := make(chan madeSocket, 1)
	s.inbox.do(func() {
		if s.sock < 0 {
			return
		}
		if err := wire.Send(s.sock, wire.Msg{Kind: wire.Socket, N: uint32(family)}); err != nil {
			answer <- madeSocket{-1, err}
			return
		}
		n.asked = append(n.asked, answer)
	})
	got := madeSocket{-1, net.ErrClosed}
	select {
	case got = <-answer:
	case <-n.over:
	}
	if got.err != nil {
		return -1, got.err
	}
	for _, want := range [][2]int{{unix.SO_DOMAIN, family}, {unix.SO_TYPE, unix.SOCK_STREAM}} {
		if v, err := unix.GetsockoptInt(got.fd, unix.SOL_SOCKET, want[0]); err != nil || v != want[1] {
			unix.Close(got.fd)
			return -1, errors.New("the box sent something that is not a socket")
		}
	}
	return got.fd, nil
}

// tookSocket hands on the answer of the first process, which come in the order of the questions, and reports whether it
// was one.
func (n *network) tookSocket(m wire.Msg, fds []int) bool {
	if len(n.asked) == 0 || len(fds) > 1 {
		return false
	}
	got := madeSocket{-1, unix.Errno(m.N)}
	if len(fds) == 1 {
		got = madeSocket{fd: fds[0]}
	}
	n.asked[0] <- got
	n.asked = n.asked[1:]
	return true
}
