package launch

import (
	"encoding/binary"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// What is set in the box's network from outside. A request that names its destination is judged by who sends it
// alone (netlink_ns_capable); without one, by who opened the socket, too, and that is the box.

// Local makes every address of these ranges one of the box's own: connections to it stay in the box, and what
// is bound to it is reached. The second address of each stands on the loopback as well, with a scope that is
// not of this host: a program that asks for names of families which are configured (AI_ADDRCONFIG) asks for
// both then.
func (r Running) Local(ranges ...netip.Prefix) []error {
	fd, err := r.s.askSocket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	if err == nil {
		defer unix.Close(fd)
	}
	errs := make([]error, len(ranges))
	for i, to := range ranges {
		if errs[i] = err; err != nil {
			continue
		}
		f, bits := byte(family(to.Addr())), byte(to.Bits())
		// rtnetlink(7): a struct rtmsg, and the attributes of a route.
		route := []byte{f, bits, 0, 0, unix.RT_TABLE_LOCAL, unix.RTPROT_STATIC, unix.RT_SCOPE_HOST, unix.RTN_LOCAL, 0, 0, 0, 0}
		route = attribute(route, unix.RTA_DST, to.Addr().AsSlice())
		route = attribute(route, unix.RTA_OIF, binary.NativeEndian.AppendUint32(nil, loopback))
		requests, answers := message(unix.RTM_NEWROUTE, replace, route), 1
		if own := to.Addr().Next(); to.Contains(own) {
			// A struct ifaddrmsg, and the attributes of an address.
			addr := []byte{f, byte(own.BitLen()), unix.IFA_F_NODAD, unix.RT_SCOPE_UNIVERSE, loopback, 0, 0, 0}
			addr = attribute(addr, unix.IFA_LOCAL, own.AsSlice())
			requests = append(requests, message(unix.RTM_NEWADDR, replace, attribute(addr, unix.IFA_ADDRESS, own.AsSlice()))...)
			answers++
		}
		errs[i] = exchange(fd, requests, answers)
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

// replace are the flags of a request to make something, and to say that it is made.
const replace = unix.NLM_F_ACK | unix.NLM_F_CREATE | unix.NLM_F_REPLACE

// message is a request, see netlink(7).
func message(kind, flags uint16, body []byte) []byte {
	m := binary.NativeEndian.AppendUint32(nil, uint32(unix.NLMSG_HDRLEN+len(body)))
	m = binary.NativeEndian.AppendUint16(m, kind)
	m = binary.NativeEndian.AppendUint16(m, unix.NLM_F_REQUEST|flags)
	return append(append(m, make([]byte, 8)...), body...)
}

// exchange sends requests, and returns the first error of so many answers.
func exchange(fd int, requests []byte, answers int) error {
	timeout := unix.NsecToTimeval(int64(time.Second)) // a kernel that lacks something answers less
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout); err != nil {
		return err
	}
	if err := unix.Sendto(fd, requests, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 16<<10)
	for answers > 0 {
		n, err := wire.Read(fd, answer)
		if err != nil {
			return os.NewSyscallError("netlink", err)
		}
		for b := answer[:n]; len(b) >= unix.NLMSG_HDRLEN+4; answers-- {
			errno := -int32(binary.NativeEndian.Uint32(b[unix.NLMSG_HDRLEN:]))
			if kind := binary.NativeEndian.Uint16(b[4:]); kind != unix.NLMSG_ERROR || errno != 0 {
				return os.NewSyscallError("netlink", unix.Errno(errno))
			}
			b = b[min(len(b), max(unix.NLMSG_HDRLEN, int(binary.NativeEndian.Uint32(b)+3)&^3)):]
		}
	}
	return nil
}
