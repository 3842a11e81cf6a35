package netproxy

import (
	"encoding/hex"
	"net"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/enr/inner/profile/hosts"
)

const (
	maxQuestion = 1500 // bytes
	answerTTL   = 30   // seconds
)

// answerPackets answers by UDP, in which every answer has room. With too many questions at once some are lost: who asked asks again.
func (n *names) answerPackets(c net.PacketConn) {
	if !n.p.keep(c) {
		return
	}
	defer n.p.drop(c)
	buf := make([]byte, maxQuestion)
	for {
		size, from, err := c.ReadFrom(buf)
		if err != nil {
			return
		}
		question := append([]byte(nil), buf[:size]...)
		select {
		case n.slots <- struct{}{}:
			go func() {
				if a := n.answer(question); a != nil {
					_, _ = c.WriteTo(a, from)
				}
				<-n.slots
			}()
		default:
		}
	}
}

// answer returns nil for what is no question.
func (n *names) answer(message []byte) []byte {
	var in dnsmessage.Parser
	asked, err := in.Start(message)
	if err != nil || asked.Response {
		return nil
	}
	head := dnsmessage.Header{
		ID: asked.ID, Response: true, OpCode: asked.OpCode, Authoritative: true,
		RecursionDesired: asked.RecursionDesired, RecursionAvailable: true,
	}
	q, err := in.Question()
	var addrs []netip.Addr
	var of string
	switch {
	case asked.OpCode != 0:
		head.RCode = dnsmessage.RCodeNotImplemented
	case err != nil || q.Class != dnsmessage.ClassINET:
		head.RCode = dnsmessage.RCodeFormatError
	default:
		addrs, of, head.RCode = n.look(strings.TrimSuffix(q.Name.String(), "."), q.Type)
	}
	out := dnsmessage.NewBuilder(nil, head)
	out.EnableCompression()
	if err == nil {
		_ = out.StartQuestions()
		_ = out.Question(q)
	}
	_ = out.StartAnswers()
	record := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: answerTTL}
	for _, a := range addrs {
		switch {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			_ = out.AResource(record, dnsmessage.AResource{A: a.As4()})
		case a.Is6() && q.Type == dnsmessage.TypeAAAA:
			_ = out.AAAAResource(record, dnsmessage.AAAAResource{AAAA: a.As16()})
		}
	}
	if name, err := dnsmessage.NewName(of + "."); err == nil && q.Type == dnsmessage.TypePTR && of != "" {
		_ = out.PTRResource(record, dnsmessage.PTRResource{PTR: name})
	}
	answer, _ := out.Finish()
	return answer
}

// look looks a name up: its addresses, or the name of the address that it is one for.
func (n *names) look(text string, kind dnsmessage.Type) (addrs []netip.Addr, of string, code dnsmessage.RCode) {
	n.mu.Lock()
	of, known := n.reverse[strings.ToLower(text)]
	n.mu.Unlock()
	host, err := hosts.Name(text)
	switch wants := kind == dnsmessage.TypeA || kind == dnsmessage.TypeAAAA; {
	case known:
		return nil, of, dnsmessage.RCodeSuccess
	case err != nil:
		return nil, "", dnsmessage.RCodeNameError
	case host == "localhost" || strings.HasSuffix(host, ".localhost"): // RFC 6761
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, "", dnsmessage.RCodeSuccess
	case slices.ContainsFunc(n.p.o.Loopback, func(own string) bool { return strings.EqualFold(own, host) }):
		return nil, "", dnsmessage.RCodeSuccess
	case wants:
		addrs, code = n.lookUp(host)
		return addrs, "", code
	}
	// Other types are asked for by the way, and who asks for them does not want to go there.
	if ports, _ := n.p.o.Policy.ports(host); len(ports) == 0 {
		return nil, "", dnsmessage.RCodeNameError
	}
	return nil, "", dnsmessage.RCodeSuccess
}

// reverse is the name that an address is asked for by (RFC 1035 section 3.5, RFC 3596 section 2.5).
func reverse(a netip.Addr) string {
	if a.Is4() {
		b := a.As4()
		return netip.AddrFrom4([4]byte{b[3], b[2], b[1], b[0]}).String() + ".in-addr.arpa"
	}
	b := a.As16()
	text, out := hex.EncodeToString(b[:]), ""
	for _, digit := range text {
		out = string(digit) + "." + out
	}
	return out + "ip6.arpa"
}
