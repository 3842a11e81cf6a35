package launch

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
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

	// Refused are the connections within the box that nothing listened for; nil where the kernel does
	// not let us see them. The callee closes it.
	Refused *Refusals
}

// dialTime is how long the box may take for a socket, and a socket to be
// connected on a loopback.
const dialTime = 5 * time.Second

// network is the box's network, in our hands.
type network struct {
	Network
	mu      sync.Mutex      // held while a socket is asked for
	asks    sync.Mutex      // held while the question is put
	sock    int             // to the first process of the box; -1 when there is nobody to ask
	asked   uint32          // how many were: an answer that comes late is nobody's
	sockets chan madeSocket // what came
}

// madeSocket is the answer to a question for a socket.
type madeSocket struct {
	asked uint32
	fd    int // -1 with errno
	errno unix.Errno
}

// takeListener keeps a socket that the box listens on for us.
func (s *session) takeListener(index, fd int) bool {
	if err := s.network.keepListener(index, fd); err != nil {
		s.noNetwork(err)
	}
	return true
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
	if s.program.failure != nil || s.o.Network == nil { // nobody accepts: what connects is refused once they are closed
		return
	}
	if n.sock = s.sock; s.publishes {
		n.Dial, n.sockets = n.dial, make(chan madeSocket, 8)
	}
	if len(n.Listeners) == 0 && !s.publishes {
		return
	}
	n.Refused, _ = watchRefusals(s.first) // it only tells
	if err := s.o.Network(n.Network); err != nil {
		s.noNetwork(err)
	}
}

func (s *session) noNetwork(err error) {
	if s.program.failure == nil {
		s.fail("network: " + err.Error())
	}
}

// keepListener keeps a socket of the listeners of a port.
func (n *network) keepListener(index, fd int) error {
	f := os.NewFile(uintptr(fd), "listener of the box")
	defer f.Close()
	listening, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	if err != nil || listening != 1 || index >= len(n.Listeners) {
		return errors.New("the box sent something that is not a listener")
	}
	l, err := net.FileListener(f)
	if err == nil {
		n.Listeners[index] = append(n.Listeners[index], l)
	}
	return err
}

func (n *network) close() {
	for _, ls := range n.Listeners {
		for _, l := range ls {
			_ = l.Close()
		}
	}
}

// hangUp says that the first process of the box is gone.
func (n *network) hangUp() {
	n.asks.Lock()
	defer n.asks.Unlock()
	n.sock = -1
}

// ask asks for a socket.
func (n *network) ask(family int) error {
	n.asks.Lock()
	defer n.asks.Unlock()
	if n.sock < 0 {
		return net.ErrClosed
	}
	return wire.Send(n.sock, wire.Msg{Kind: wire.Socket, Job: n.asked, N: uint32(family)})
}

func (n *network) dial(ctx context.Context, port uint16) (net.Conn, error) {
	c, err := n.dialFamily(ctx, unix.AF_INET, &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}})
	if errors.Is(err, unix.ECONNREFUSED) { // a server may listen on the other one alone
		if c, err := n.dialFamily(ctx, unix.AF_INET6, &unix.SockaddrInet6{Port: int(port), Addr: [16]byte{15: 1}}); err == nil {
			return c, nil
		}
	}
	return c, err
}

func (n *network) dialFamily(ctx context.Context, family int, to unix.Sockaddr) (net.Conn, error) {
	fd, err := n.socket(family)
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

// socket asks for a fresh TCP socket of the box.
func (n *network) socket(family int) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	if err := n.ask(family); err != nil {
		return -1, err
	}
	late := time.After(dialTime)
	for {
		select {
		case <-late:
			return -1, unix.ETIMEDOUT
		case got := <-n.sockets:
			switch {
			case got.asked != n.asked:
				closeFds(&got.fd)
				continue
			case got.fd < 0:
				return -1, got.errno
			}
			for _, want := range [][2]int{{unix.SO_DOMAIN, family}, {unix.SO_TYPE, unix.SOCK_STREAM}} {
				if v, err := unix.GetsockoptInt(got.fd, unix.SOL_SOCKET, want[0]); err != nil || v != want[1] {
					unix.Close(got.fd)
					return -1, errors.New("the box sent something that is not a socket")
				}
			}
			return got.fd, nil
		}
	}
}

// tookSocket hands on the answer to whoever asked, and reports whether it was one.
func (n *network) tookSocket(m wire.Msg, fds []int) bool {
	got := madeSocket{asked: m.Job, fd: -1, errno: unix.Errno(m.N)}
	if len(fds) > 1 || len(fds) == 0 && got.errno == 0 {
		return false
	}
	if len(fds) == 1 {
		got.fd = fds[0]
	}
	select {
	case n.sockets <- got:
		return true
	default: // nobody waits
		return false
	}
}
