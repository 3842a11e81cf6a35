package launch

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// What is set in the box's network from outside. A request that names its destination is judged by who sends it
// alone (netlink_ns_capable); without one, by who opened the socket, too, and that is the box.

// local makes every address of these ranges one of the box's own: connections to it stay in the box, and what is bound to
// it is reached. The second address of each stands on the loopback as well, with a scope that is not of this host:
// a program that asks for names of families which are configured (AI_ADDRCONFIG) asks for both then.
func (s *session) local(ranges ...netip.Prefix) []error {
	fd, err := s.askSocket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	if err == nil {
		defer unix.Close(fd)
	}
	errs := make([]error, len(ranges))
	for i, r := range ranges {
		if errs[i] = err; err != nil {
			continue
		}
		f, bits := byte(family(r.Addr())), byte(r.Bits())
		// rtnetlink(7): a struct rtmsg, and the attributes of a route.
		route := []byte{f, bits, 0, 0, unix.RT_TABLE_LOCAL, unix.RTPROT_STATIC, unix.RT_SCOPE_HOST, unix.RTN_LOCAL, 0, 0, 0, 0}
		route = attribute(route, unix.RTA_DST, r.Addr().AsSlice())
		route = attribute(route, unix.RTA_OIF, binary.NativeEndian.AppendUint32(nil, loopback))
		err := request(fd, unix.RTM_NEWROUTE, route)
		if own := r.Addr().Next(); err == nil && r.Contains(own) {
			// A struct ifaddrmsg, and the attributes of an address.
			addr := []byte{f, byte(own.BitLen()), unix.IFA_F_NODAD, unix.RT_SCOPE_UNIVERSE, loopback, 0, 0, 0}
			addr = attribute(addr, unix.IFA_LOCAL, own.AsSlice())
			err = request(fd, unix.RTM_NEWADDR, attribute(addr, unix.IFA_ADDRESS, own.AsSlice()))
		}
		errs[i] = err
	}
	return errs
}

// loopback is the number of lo, the first interface of every network.
const loopback = 1

// attribute appends one to a request, see rtnetlink(3).
func attribute(b []byte, kind uint16, value []byte) []byte {
	b = binary.NativeEndian.AppendUint16(b, uint16(4+len(value)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, value...)
	return append(b, make([]byte, -len(value)&3)...)
}

// request sends one to the kernel, and returns its answer.
func request(fd int, kind uint16, body []byte) error {
	m := binary.NativeEndian.AppendUint32(nil, uint32(unix.NLMSG_HDRLEN+len(body)))
	m = binary.NativeEndian.AppendUint16(m, kind)
	m = binary.NativeEndian.AppendUint16(m, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_REPLACE)
	m = append(m, make([]byte, 8)...)
	if err := unix.Sendto(fd, append(m, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, err := wire.Read(fd, answer)
	switch {
	case err != nil:
		return err
	case n < unix.NLMSG_HDRLEN+4 || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR:
		return errors.New("netlink: an answer that cannot be read")
	}
	if errno := -int32(binary.NativeEndian.Uint32(answer[unix.NLMSG_HDRLEN:])); errno != 0 {
		return unix.Errno(errno)
	}
	return nil
}
