package netproxy

import (
	"net/netip"
	"slices"
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, s := range texts {
		list[i] = netip.MustParsePrefix(s)
	}
	return list
}

// NotPublic4 returns the addresses that IANA's registry of special addresses (RFC 6890) does not
// call globally reachable, everything from 224.0.0.0 on, and one address of a cloud that looks
// public but belongs to the machine's own host.
func NotPublic4() []netip.Prefix {
	return prefixes(
		"0.0.0.0/8",        // this network; Linux connects 0.0.0.0 to itself
		"10.0.0.0/8",       // private
		"100.64.0.0/10",    // carriers, overlay networks
		"127.0.0.0/8",      // loopback
		"168.63.129.16/32", // Azure's wire server
		"169.254.0.0/16",   // link-local; metadata of clouds
		"172.16.0.0/12",    // private
		"192.0.0.0/24",     // protocol assignments; metadata of one cloud
		"192.0.2.0/24",     // documentation
		"192.88.99.0/24",   // relays of 6to4, given up
		"192.168.0.0/16",   // private
		"198.18.0.0/15",    // benchmarks
		"198.51.100.0/24",  // documentation
		"203.0.113.0/24",   // documentation
		"224.0.0.0/4",      // multicast
		"240.0.0.0/4",      // reserved; broadcast
	)
}

// NotPublic6 returns the same for IPv6 within 2000::/3, which contains all public addresses
// (RFC 4291). [SixTo4] is not among them: what it reaches is in the address.
func NotPublic6() []netip.Prefix {
	return prefixes(
		"2001::/23",     // protocol assignments; Teredo, which carries IPv4
		"2001:db8::/32", // documentation
		"3fff::/20",     // documentation
	)
}

// SixTo4 is the range of IPv6 whose addresses carry one of IPv4 (RFC 3056), which may be private.
func SixTo4() netip.Prefix { return netip.MustParsePrefix("2002::/16") }

// plain returns the address that is reached through a: the IPv4 address in one of the two ranges of IPv6
// that carry one and may be public, or a itself. NAT64 has it in the last four bytes (RFC 6052), 6to4 after
// the first two. The local NAT64 range, 64:ff9b:1::/48, has no one place for it, and is not public.
func plain(a netip.Addr) netip.Addr {
	a = a.Unmap()
	b := a.As16()
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(a):
		return netip.AddrFrom4([4]byte(b[12:16]))
	case SixTo4().Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return a
}

// public reports whether an address is one of the public internet.
func public(a netip.Addr) bool {
	a = plain(a)
	never := NotPublic4()
	if a.Is6() {
		never = NotPublic6()
	}
	return (a.Is4() || netip.MustParsePrefix("2000::/3").Contains(a)) && a.Zone() == "" && !within(never, a)
}

// within reports whether an address is in one of the ranges.
func within(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Offered reports whether a place may be proposed to a person: not an address at which a cloud gives a machine its keys,
// nor one of nobody.
func Offered(host string) bool {
	a, err := netip.ParseAddr(host)
	return err != nil || public(a) || Private(a)
}

// Private reports whether an address is of a network that an organisation has for
// itself, where its mirrors are: not loopback, not link-local, and none of the
// addresses at which clouds give a machine its keys. The ranges for documentation
// and benchmarks are nobody's on the internet, and gateways hand them out as their
// own.
func Private(a netip.Addr) bool {
	a = plain(a)
	organisations := prefixes("100.64.0.0/10", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24")
	// Where clouds give a machine its keys, in private ranges. The other such
	// addresses are link-local, or in ranges that are never private.
	keys := prefixes(
		"100.100.100.200/32",     // Alibaba
		"fd00:ec2::254/128",      // Amazon
		"fd20:ce::254/128",       // Google
		"fd00:c1::a9fe:a9fe/128", // Oracle
	)
	return (a.IsPrivate() || within(organisations, a)) && a.Zone() == "" && !within(keys, a)
}
