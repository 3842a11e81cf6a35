package netproxy

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/enr/inner/profile/hosts"
)

// Rule is an entry of a list.
type Rule struct {
	hosts.Entry
	// Origin is where the entry is from, for people: a profile, a capability, a group.
	Origin string
	// Private lets the name be an address of a private network, for a registry that
	// the user's own clients are set to. Never of this machine or a cloud's metadata;
	// of this machine when the name is localhost.
	Private bool
}

// Policy is what a box may reach. What it denies never changes; what it allows may become more, for what is decided
// from then on.
type Policy struct {
	allow atomic.Pointer[[]Rule]
	deny  []Rule
}

// NewPolicy returns the policy of two lists, which nobody changes any more. Deny goes
// before allow. An empty list of either is about nothing: no rule to allow means
// that nothing is allowed.
//
// A rule to deny that names no port is about every port. Groups are passed over:
// their members are rules of their own.
func NewPolicy(allow, deny []Rule) *Policy {
	p := &Policy{deny: deny}
	p.allow.Store(&allow)
	return p
}

// Allow allows more, except what is denied. It is called by one goroutine at a time.
func (p *Policy) Allow(more ...Rule) {
	all := slices.Concat(*p.allow.Load(), more)
	p.allow.Store(&all)
}

// grant is what the rules for one target allow together.
type grant struct {
	rule    *Rule // the first of them
	private bool  // a private address will do
	stated  bool  // a rule names the port
}

// denied returns the rule that denies a target, or nil. An address is also
// compared as the IPv4 address it carries.
func (p *Policy) denied(name string, addr netip.Addr, port uint16) *Rule {
	for i := range p.deny {
		r := &p.deny[i]
		if (r.Matches(name, addr) || name == "" && r.Matches("", plain(addr))) &&
			(!r.Stated() || slices.Contains(r.Ports, port)) {
			return r
		}
	}
	return nil
}

// allowed returns what the list grants of a target.
func (p *Policy) allowed(name string, addr netip.Addr, port uint16) (grant, bool) {
	var g grant
	list := *p.allow.Load()
	for i := range list {
		r := &list[i]
		if !r.Matches(name, addr) || !slices.Contains(r.Ports, port) {
			continue
		}
		if g.rule == nil {
			g.rule = r
		}
		g.private = g.private || r.Private
		g.stated = g.stated || r.Stated()
	}
	return g, g.rule != nil
}

// ports returns those at which the list has a name, and whether an entry is about that name alone.
func (p *Policy) ports(name string) (ports []uint16, exact bool) {
	for _, r := range *p.allow.Load() {
		if !r.Matches(name, netip.Addr{}) {
			continue
		}
		exact = exact || !r.Wild
		for _, port := range r.Ports {
			if !slices.Contains(ports, port) && p.denied(name, netip.Addr{}, port) == nil {
				ports = append(ports, port)
			}
		}
	}
	return ports, exact
}

// addresses returns the places that the list has by their addresses, but for the loopback of the box.
func (p *Policy) addresses() (places []place) {
	for _, r := range *p.allow.Load() {
		if !r.Addr.IsValid() || hosts.Loopback("", r.Addr) {
			continue
		}
		for _, port := range r.Ports {
			if to := (place{addr: r.Addr, port: port}); !slices.Contains(places, to) {
				places = append(places, to)
			}
		}
	}
	return places
}

// check says why an address that a name was looked up as is refused, or "".
func (p *Policy) check(name string, g grant, addr netip.Addr, port uint16, own []netip.Addr) (Kind, string) {
	if r := p.denied("", addr, port); r != nil {
		return Denied, fmt.Sprintf("is at %s, which network_allow refuses", addr)
	}
	if _, ok := p.allowed("", addr.Unmap(), port); ok { // the address itself was granted
		return "", ""
	}
	self := slices.Contains(own, plain(addr)) || slices.Contains(own, addr.Unmap())
	switch {
	case self && !plain(addr).IsLoopback():
		return Address, fmt.Sprintf("is at %s, an address of this machine", addr)
	case public(addr), (g.private || name != "" && p.inRange(addr)) && Private(addr), g.private && name == "localhost" && plain(addr).IsLoopback():
		return "", ""
	}
	return Address, fmt.Sprintf("is at %s, which is not a public address", addr)
}

// inRange reports whether listed names may be at an address.
func (p *Policy) inRange(addr netip.Addr) bool {
	return slices.ContainsFunc(*p.allow.Load(), func(r Rule) bool { return r.Range.Contains(plain(addr)) })
}

// cure returns the range to write so that listed names may be at an address that was refused and near
// it, or "" where none allows it.
func cure(kind Kind, addr netip.Addr, own []netip.Addr) string {
	bits := 64
	if addr = plain(addr); addr.Is4() {
		bits = 24
	}
	around, err := addr.Prefix(bits)
	if e, wrong := hosts.ParseAllow(around.String()); err == nil && wrong == nil &&
		kind == Address && Private(addr) && !slices.Contains(own, addr) {
		return e.String()
	}
	return ""
}

// Refuses looks up a listed name and says why it is refused for where it is, and the range that allows
// that; "" where it is not, or cannot be looked up.
func (p *Policy) Refuses(ctx context.Context, name string, port uint16) (why, around string) {
	g, ok := p.allowed(name, netip.Addr{}, port)
	if !ok {
		return "", ""
	}
	found, _ := resolve(ctx, name)
	own := ownAddrs()
	for _, a := range found {
		a = a.Unmap()
		if kind, why := p.check(name, g, a, port, own); kind != "" {
			return name + " " + why, cure(kind, a, own)
		}
	}
	return "", ""
}

// Listed says what the lists say of a place that is asked for by its name, or by its
// address when name is "": the entry that denies it, else the one that allows it. Neither
// asks any network; what a name leads to is looked at when it is asked for.
func (p *Policy) Listed(name string, addr netip.Addr, port uint16) (allowed, denied *Rule) {
	if r := p.denied(name, addr, port); r != nil {
		return nil, r
	}
	g, _ := p.allowed(name, addr, port)
	return g.rule, nil
}
