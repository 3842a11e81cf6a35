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

// dialTime is how long the dispenser may take for a socket, and a socket to be
// connected on a loopback.
const dialTime = 5 * time.Second

// network is the box's network, in our hands.
type network struct {
	Network
	dispenser *dispenser // nil without one
	taken     bool       // all of it is in our hands, or there is none
}

// takeListener keeps a socket that the supervisor listens on for us.
func (s *session) takeListener(rest []byte, fds []int) bool {
	if s.network.taken || len(rest) != 1 {
		return false
	}
	if err := s.network.keepListener(int(rest[0]), fds); err != nil {
		s.noNetwork(err)
	}
	return true
}

// takeNetwork hands on the network, of which all is there.
func (s *session) takeNetwork(fds []int) bool {
	if s.network.taken {
		return false
	}
	err := s.network.connect(fds, s.spec.Dispense)
	if err == nil && s.o.Network != nil { // else nobody accepts: what connects is refused once they are closed
		s.network.Refused, _ = watchRefusals(s.channel.pid) // it only tells
		err = s.o.Network(s.network.Network)
	}
	if err != nil {
		s.noNetwork(err)
		return true
	}
	s.network.taken = true
	s.release()
	return true
}

func (s *session) noNetwork(err error) {
	if s.program.failure == nil {
		s.fail("network: " + err.Error())
	}
}

// keepListener keeps a socket of the listeners of a port.
func (n *network) keepListener(index int, fds []int) error {
	if len(fds) != 1 || index >= len(n.Listeners) {
		wire.CloseAll(fds)
		return errors.New("the supervisor sent something that is not a listener")
	}
	listening, err := unix.GetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	if err != nil || listening != 1 {
		wire.CloseAll(fds)
		return errors.New("the supervisor sent something that is not a listener")
	}
	f := os.NewFile(uintptr(fds[0]), "listener of the box")
	defer f.Close()
	l, err := net.FileListener(f)
	if err == nil {
		n.Listeners[index] = append(n.Listeners[index], l)
	}
	return err
}

// connect takes the socket of the dispenser, if there is one, and makes sure that nothing is
// missing.
func (n *network) connect(fds []int, dispense bool) error {
	switch {
	case !dispense && len(fds) == 0:
	case !dispense || len(fds) != 1:
		wire.CloseAll(fds)
		return errors.New("the supervisor sent something that was not asked for")
	default:
		n.dispenser = &dispenser{sock: fds[0]}
		n.Dial = n.dispenser.dial
	}
	for _, l := range n.Listeners {
		if len(l) == 0 {
			return errors.New("the supervisor sent too few listeners")
		}
	}
	return nil
}

func (n *network) close() {
	for _, ls := range n.Listeners {
		for _, l := range ls {
			_ = l.Close()
		}
	}
	if n.dispenser != nil {
		n.dispenser.close()
	}
}

// dispenser is our end of the process in the box that makes sockets there.
type dispenser struct {
	mu   sync.Mutex
	sock int // -1 once closed
}

func (d *dispenser) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sock >= 0 {
		unix.Close(d.sock)
		d.sock = -1
	}
}

func (d *dispenser) dial(ctx context.Context, port uint16) (net.Conn, error) {
	c, err := d.dialFamily(ctx, unix.AF_INET, &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}})
	if errors.Is(err, unix.ECONNREFUSED) { // a server may listen on the other one alone
		if c, err := d.dialFamily(ctx, unix.AF_INET6, &unix.SockaddrInet6{Port: int(port), Addr: [16]byte{15: 1}}); err == nil {
			return c, nil
		}
	}
	return c, err
}

func (d *dispenser) dialFamily(ctx context.Context, family int, to unix.Sockaddr) (net.Conn, error) {
	fd, err := d.socket(family)
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
		var n int
		if n, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR); err == nil && n != 0 {
			err = unix.Errno(n)
		}
	}
	if err != nil {
		return nil, err
	}
	return net.FileConn(f)
}

// socket asks for a fresh TCP socket of the box.
func (d *dispenser) socket(family int) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sock < 0 {
		return -1, net.ErrClosed
	}
	if err := wire.Send(d.sock, []byte{byte(family)}); err != nil {
		return -1, err
	}
	var buf [8]byte
	if wire.Poll(d.sock, unix.POLLIN, int(dialTime/time.Millisecond)) == 0 {
		unix.Close(d.sock) // an answer that comes late would be taken for another's
		d.sock = -1
		return -1, unix.ETIMEDOUT
	}
	n, _, fds, err := wire.Receive(d.sock, buf[:])
	switch {
	case err != nil:
		return -1, err
	case n == 2 && buf[0] == wire.MsgFailed:
		wire.CloseAll(fds)
		return -1, unix.Errno(buf[1])
	case n != 1 || len(fds) != 1:
		wire.CloseAll(fds)
		return -1, net.ErrClosed
	}
	for _, want := range [][2]int{{unix.SO_DOMAIN, family}, {unix.SO_TYPE, unix.SOCK_STREAM}} {
		if v, err := unix.GetsockoptInt(fds[0], unix.SOL_SOCKET, want[0]); err != nil || v != want[1] {
			wire.CloseAll(fds)
			return -1, errors.New("the box sent something that is not a socket")
		}
	}
	return fds[0], nil
}
