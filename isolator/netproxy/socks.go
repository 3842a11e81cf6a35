package netproxy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/profile/hosts"
)

// The replies of SOCKS5, RFC 1928 section 6.
const (
	socksOK          = 0
	socksFailure     = 1
	socksNotAllowed  = 2
	socksUnreachable = 4
	socksRefused     = 5
	socksExpired     = 6
	socksCommand     = 7
	socksAddress     = 8
)

// socks reads a SOCKS5 request and answers it.
func (p *Proxy) socks(w *wire, in *input) (handed bool) {
	to, f, ok := p.socksRequest(w, in)
	if !ok {
		return false
	}
	reply := func(code byte) {
		// The address that was bound is nobody's business: 0.0.0.0:0.
		w.Write([]byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0})
	}
	if f != nil {
		p.told(Target{}, f)
		reply(f.socks)
		return false
	}
	s, g, f := p.connect(to)
	if f != nil {
		p.told(to.target(), f)
		reply(f.socks)
		return false
	}
	reply(socksOK)
	return p.tunnel(w, in.b, s, to, g)
}

// greeted reads the greeting, and reports whether the program goes without a password.
func greeted(w *wire, in *input) bool {
	if in.need(2) != nil || in.need(2+int(in.b[1])) != nil {
		return false
	}
	if methods := in.take(2 + int(in.b[1]))[2:]; bytes.IndexByte(methods, 0) < 0 {
		w.Write([]byte{5, 0xff})
		return false
	}
	w.Write([]byte{5, 0})
	return true
}

// socksRequest reads the greeting and the request. It is not ok when the program has its answer
// already, or has gone.
func (p *Proxy) socksRequest(w *wire, in *input) (to place, f *fault, ok bool) {
	if !greeted(w, in) || in.need(5) != nil {
		return to, nil, false
	}
	bad := func(code byte, format string, args ...any) (place, *fault, bool) {
		f := refusal(Malformed, "a SOCKS request "+fmt.Sprintf(format, args...))
		f.socks = code
		return to, f, true
	}
	head := in.take(4)
	switch {
	case head[0] != 5 || head[2] != 0:
		return bad(socksFailure, "is not of version 5")
	case head[1] != 1:
		return bad(socksCommand, "asks for more than a connection")
	}
	kind, size := head[3], 0
	switch kind {
	case 1:
		size = 4
	case 3:
		size = int(in.take(1)[0])
	case 4:
		size = 16
	default:
		return bad(socksAddress, "has an address of an unknown kind")
	}
	if in.need(size+2) != nil {
		return to, nil, false
	}
	host := in.take(size)
	to.port = binary.BigEndian.Uint16(in.take(2))
	if to.port == 0 {
		return bad(socksFailure, "asks for port 0")
	}
	if kind != 3 {
		to.addr, _ = netip.AddrFromSlice(host)
		to.addr = to.addr.Unmap()
		return to, nil, true
	}
	var err error
	if to.name, to.addr, err = hosts.Host(string(host)); err != nil {
		return bad(socksNotAllowed, "for %q: the host %v", visible.Short(string(host)), err)
	}
	return to, nil, true
}
