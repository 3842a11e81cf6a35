package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// Network is what the launcher has of the box's network: a socket stays in the
// namespace it was made in, so what is accepted and dialled here, on the host's
// side, is accepted and dialled in the box. The first process of the box makes the sockets. What is done
// with them from here is done with the rights of the launcher, which made the user namespace that owns the
// network (user_namespaces(7)): a port below 1024, an address of the box.
type Network struct {
	// Listeners are those of each port of Plan.Listen, in its order: one on
	// 127.0.0.1 and, where the box has IPv6, one on ::1. Who takes them closes them.
	Listeners [][]net.Listener

	// Dial connects to a port of the box's loopback, 127.0.0.1 or else ::1. It is
	// nil unless the plan publishes a port.
	Dial func(ctx context.Context, port uint16) (net.Conn, error)

	Box Running
}

const (
	// dialTime is how long a socket may take to be connected on a loopback.
	dialTime = 5 * time.Second
	// backlog is how many connections may wait to be accepted; the kernel takes
	// its own limit when that is lower (listen(2)).
	backlog = 4096
)

// network is the box's network, in our hands. What stands before mu is the loop's.
type network struct {
	ports   []uint16          // of Plan.Listen
	up      bool              // nothing is to be done before the program
	asked   []chan madeSocket // for sockets that have not come, in their order; each gets one
	over    chan struct{}     // closed when there is nobody to ask any more
	refused refusals

	mu     sync.Mutex
	cookie uint64                       // of its namespace, once a socket of it is there
	ahead  map[uint32][]chan madeSocket // that were asked for before they are wanted, by the questions
}

// madeSocket is the answer to a question for a socket.
type madeSocket struct {
	fd  int // -1 with err
	err error
}

// takeNetwork listens in the box and hands on its network. The program starts after that.
func (s *session) takeNetwork() {
	n := &s.network
	if n.up = s.program.at == ended || s.o.Network == nil || len(n.ports) == 0 && !s.publishes; n.up {
		return // nobody accepts
	}
	net := Network{Box: Running{s}}
	if s.publishes {
		net.Dial = s.dial
	}
	go func() { // it asks for sockets, whose answers are the loop's to read
		var err error
		if net.Listeners, err = net.Box.listenAll(n.ports); err == nil {
			err = s.o.Network(net)
		}
		s.inbox.do(func() {
			if n.up = true; err != nil && s.mounts.failure == nil { // which ends the box, and with it the sockets
				s.fail("network: " + err.Error())
				return
			}
			s.release()
		})
	}()
}

// listenAll opens the listeners of the plan.
func (r Running) listenAll(ports []uint16) ([][]net.Listener, error) {
	list := make([][]net.Listener, len(ports))
	var err error
	for i, port := range ports {
		if list[i], err = r.Loopback(port); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Loopback listens on a port of both loopbacks. Without IPv6 in the kernel there is one.
func (r Running) Loopback(port uint16) ([]net.Listener, error) {
	four, err := r.Listen(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port))
	if six, none := r.Listen(netip.AddrPortFrom(netip.IPv6Loopback(), port)); none == nil {
		return []net.Listener{four, six}, err
	}
	return []net.Listener{four}, err
}

// Listen listens on TCP at an address of the box. Who asked for it closes it.
func (r Running) Listen(at netip.AddrPort) (l net.Listener, err error) {
	err = r.s.bound(at, unix.SOCK_STREAM, unix.IPPROTO_TCP, func(f *os.File) error {
		if err := unix.Listen(int(f.Fd()), backlog); err != nil {
			return err
		}
		l, err = net.FileListener(f)
		return err
	})
	return l, err
}

// ListenPacket is Listen for UDP.
func (r Running) ListenPacket(at netip.AddrPort) (c net.PacketConn, err error) {
	err = r.s.bound(at, unix.SOCK_DGRAM, unix.IPPROTO_UDP, func(f *os.File) error {
		c, err = net.FilePacketConn(f)
		return err
	})
	return c, err
}

// bound does something with a socket of the box that is bound to an address there.
func (s *session) bound(at netip.AddrPort, kind, proto int, do func(*os.File) error) error {
	fd, err := s.askSocket(family(at.Addr()), kind, proto)
	if err == nil {
		f := os.NewFile(uintptr(fd), "socket of the box")
		defer f.Close()
		if at.Addr().Is6() { // an address of a local route: IPv4 needs no option for it
			_ = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_FREEBIND, 1)
		}
		if err = unix.Bind(fd, sockaddr(at)); err == nil {
			err = do(f)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot listen on %s in the box: %w", at, err)
	}
	return nil
}

func family(a netip.Addr) int {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

func sockaddr(at netip.AddrPort) unix.Sockaddr {
	if at.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16()}
}

func (s *session) dial(ctx context.Context, port uint16) (net.Conn, error) {
	c, err := s.dialAt(ctx, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port))
	if errors.Is(err, unix.ECONNREFUSED) { // a server may listen on the other one alone
		if c, err := s.dialAt(ctx, netip.AddrPortFrom(netip.IPv6Loopback(), port)); err == nil {
			return c, nil
		}
	}
	return c, err
}

func (s *session) dialAt(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	fd, err := s.askSocket(family(to.Addr()), unix.SOCK_STREAM, unix.IPPROTO_TCP)
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
	err = unix.Connect(fd, sockaddr(to))
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

// question is that for a socket, see wire.Socket.
func question(domain, kind, proto int) uint32 { return uint32(domain | kind<<8 | proto<<16) }

// wantSocket asks for a fresh socket of the box, unless that has ended.
func (s *session) wantSocket(question uint32, answer chan madeSocket) {
	if s.sock < 0 {
		return
	}
	if wire.Send(s.sock, wire.Msg{Kind: wire.Socket, N: question}) != nil {
		answer <- madeSocket{-1, net.ErrClosed} // nobody is there any more to make it
		return
	}
	s.network.asked = append(s.network.asked, answer)
}

// askAhead asks for what a box with a proxy gets before its program starts: a way there and back for each takes as
// long as all the rest. The answers lie ready when the box is.
func (s *session) askAhead() {
	n := &s.network
	if s.o.Network == nil || len(n.ports) == 0 {
		return
	}
	four, six := question(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP), question(unix.AF_INET6,
		unix.SOCK_STREAM, unix.IPPROTO_TCP)
	list := []uint32{
		question(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE),
		question(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDP),
	}
	for range n.ports {
		list = append(list, four, six)
	}
	n.ahead = map[uint32][]chan madeSocket{}
	for _, q := range list {
		answer := make(chan madeSocket, 1)
		n.ahead[q] = append(n.ahead[q], answer)
		s.wantSocket(q, answer)
	}
}

// unwanted closes what was asked for and nobody took.
func (n *network) unwanted() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, list := range n.ahead {
		for _, answer := range list {
			select {
			case got := <-answer:
				closeFds(&got.fd)
			default:
			}
		}
	}
	n.ahead = nil
}

// askSocket returns a fresh socket of the box. Any goroutine but the loop's may call it.
func (s *session) askSocket(domain, kind, proto int) (fd int, err error) {
	n, q := &s.network, question(domain, kind, proto)
	var answer chan madeSocket
	n.mu.Lock()
	if list := n.ahead[q]; len(list) > 0 {
		answer, n.ahead[q] = list[0], list[1:]
	}
	n.mu.Unlock()
	if answer == nil {
		answer = make(chan madeSocket, 1)
		s.inbox.do(func() { s.wantSocket(q, answer) })
	}
	got := madeSocket{-1, net.ErrClosed}
	select {
	case got = <-answer:
	case <-n.over:
	}
	if got.err != nil {
		return -1, got.err
	}
	if !n.has(got.fd, domain, kind, proto) {
		unix.Close(got.fd)
		return -1, errors.New("the box sent something that is not the socket it was asked for")
	}
	return got.fd, nil
}

// has reports whether a descriptor is a socket as it was asked for, of the one network that the box has. What
// is done with it is done with rights that the box does not have: with one of our own network the routes of
// this computer would be changed.
func (n *network) has(fd, domain, kind, proto int) bool {
	for option, want := range map[int]int{unix.SO_DOMAIN: domain, unix.SO_TYPE: kind, unix.SO_PROTOCOL: proto} {
		if v, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, option); err != nil || v != want {
			return false
		}
	}
	cookie, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	if err != nil { // before Linux 5.14: such a socket listens and connects on a loopback, and nothing else
		return err == unix.ENOPROTOOPT && domain != unix.AF_NETLINK
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cookie == 0 {
		n.cookie = cookie
	}
	return cookie == n.cookie && cookie != ourCookie()
}

// Names reports whether the kernel tells networks apart, without which addresses of a box are not touched.
func Names() bool { return ourCookie() != 0 }

// ourCookie is that of the network that we are in ourselves, for good.
var ourCookie = sync.OnceValue(func() uint64 {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	cookie, _ := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	return cookie
})

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
