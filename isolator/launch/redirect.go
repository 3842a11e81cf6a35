package launch

import (
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// Every port of a range can be listened to at once: a rule of the box's network (nf_tables) leads all that is
// connected to there to one listener, which is told what was meant. It leaves the ports of the range to the
// box's own servers at 0.0.0.0. Not every kernel has it.

// redirected is the port of such a listener on a loopback: no program of the box can have it.
const redirected = 1

// Redirect leads what is connected to by TCP in a range, of whole bytes, to a listener that it returns.
func (r Running) Redirect(to netip.Prefix) (net.Listener, error) {
	// The box's own processes, the first one included, may make no such socket (package seccomp).
	fd, err := socketIn(r.s.first, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if !r.s.network.has(fd, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER) { // another process has that number
		return nil, unix.ESRCH
	}
	// One answer for each of the three things that are made.
	if err := exchange(fd, rules(byte(family(to.Addr())), to.Addr().AsSlice()[:to.Bits()/8]), 3); err != nil {
		return nil, err
	}
	at := netip.IPv6Loopback()
	if to.Addr().Is4() {
		at = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return r.Listen(netip.AddrPortFrom(at, redirected))
}

// rules are, as nft(8) has them: table ip inner { chain out { type nat hook output priority -100;
// ip daddr NETWORK meta l4proto tcp redirect to :1 } }, or the same with ip6.
func rules(family byte, network []byte) []byte {
	at := uint32(16) // of the destination in the header of IPv4
	if family == unix.AF_INET6 {
		at = 24
	}
	number := func(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
	text := func(s string) []byte { return append([]byte(s), 0) }
	attr := func(kind uint16, parts ...[]byte) []byte { return attribute(nil, kind, slices.Concat(parts...)) }
	nest := func(kind uint16, parts ...[]byte) []byte { return attr(kind|unix.NLA_F_NESTED, parts...) }
	step := func(name string, data ...[]byte) []byte {
		return nest(unix.NFTA_LIST_ELEM, attr(unix.NFTA_EXPR_NAME, text(name)), nest(unix.NFTA_EXPR_DATA, data...))
	}
	var out []byte
	// A message has the family and, at both ends of the batch, the subsystem that it is for.
	add := func(kind, flags uint16, head [4]byte, parts ...[]byte) {
		out = append(out, message(kind, flags, slices.Concat(append([][]byte{head[:]}, parts...)...))...)
	}
	const nft = unix.NFNL_SUBSYS_NFTABLES << 8
	all, ip := [4]byte{3: unix.NFNL_SUBSYS_NFTABLES}, [4]byte{family}
	one := attr(unix.NFTA_PAYLOAD_DREG, number(unix.NFT_REG_1)) // the register is the first attribute of several steps
	equal := func(b ...byte) []byte {
		return step("cmp", one, attr(unix.NFTA_CMP_OP, number(unix.NFT_CMP_EQ)),
			nest(unix.NFTA_CMP_DATA, attr(unix.NFTA_DATA_VALUE, b)))
	}
	table, chain := text("inner"), text("out")
	const create = unix.NLM_F_ACK | unix.NLM_F_CREATE
	const before = 100 // of other rules, NF_IP_PRI_NAT_DST
	add(unix.NFNL_MSG_BATCH_BEGIN, 0, all)
	add(nft|unix.NFT_MSG_NEWTABLE, create, ip, attr(unix.NFTA_TABLE_NAME, table))
	add(nft|unix.NFT_MSG_NEWCHAIN, create, ip, attr(unix.NFTA_CHAIN_TABLE, table), attr(unix.NFTA_CHAIN_NAME, chain), attr(unix.NFTA_CHAIN_TYPE, text("nat")),
		nest(unix.NFTA_CHAIN_HOOK, attr(unix.NFTA_HOOK_HOOKNUM, number(unix.NF_INET_LOCAL_OUT)), attr(unix.NFTA_HOOK_PRIORITY, number(^uint32(before-1)))))
	add(nft|unix.NFT_MSG_NEWRULE, create|unix.NLM_F_APPEND, ip, attr(unix.NFTA_RULE_TABLE, table), attr(unix.NFTA_RULE_CHAIN, chain), nest(unix.NFTA_RULE_EXPRESSIONS,
		step("payload", one, attr(unix.NFTA_PAYLOAD_BASE, number(unix.NFT_PAYLOAD_NETWORK_HEADER)),
			attr(unix.NFTA_PAYLOAD_OFFSET, number(at)), attr(unix.NFTA_PAYLOAD_LEN, number(uint32(len(network))))),
		equal(network...),
		step("meta", attr(unix.NFTA_META_KEY, number(unix.NFT_META_L4PROTO)),
			attr(unix.NFTA_META_DREG, number(unix.NFT_REG_1))),
		equal(unix.IPPROTO_TCP),
		step("immediate", one, nest(unix.NFTA_IMMEDIATE_DATA, attr(unix.NFTA_DATA_VALUE, binary.BigEndian.AppendUint16(nil, redirected)))),
		step("redir", attr(unix.NFTA_REDIR_REG_PROTO_MIN, number(unix.NFT_REG_1))),
	))
	add(unix.NFNL_MSG_BATCH_END, 0, all)
	return out
}

// Meant returns where a connection to such a listener was meant to go.
func (r Running) Meant(c net.Conn) (at netip.AddrPort) {
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		return at
	}
	_ = raw.Control(func(fd uintptr) {
		// A struct sockaddr_in, for whose 16 bytes the one type has room, or a struct sockaddr_in6 with its 28.
		if to, err := unix.GetsockoptIPv6Mreq(int(fd), unix.SOL_IP, unix.SO_ORIGINAL_DST); err == nil {
			b := to.Multiaddr
			at = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), binary.BigEndian.Uint16(b[2:]))
		} else if to, err := unix.GetsockoptIPv6MTUInfo(int(fd), unix.SOL_IPV6, unix.SO_ORIGINAL_DST); err == nil {
			port := binary.NativeEndian.AppendUint16(nil, to.Addr.Port)
			at = netip.AddrPortFrom(netip.AddrFrom16(to.Addr.Addr), binary.BigEndian.Uint16(port))
		}
	})
	return at
}
