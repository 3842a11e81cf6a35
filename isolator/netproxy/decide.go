package netproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"time"
)

// OriginLearn is the origin of what is allowed only because everything is learned.
const OriginLearn = "learn"

// OriginAsk is the origin of what a person allowed when asked.
const OriginAsk = "ask"

// place is a target as it was read: a name or an address.
type place struct {
	name string
	addr netip.Addr
	port uint16
	open bool // without TLS, certainly
}

func (t place) target() Target {
	if t.name != "" {
		return Target{t.name, t.port}
	}
	return Target{t.addr.String(), t.port}
}

// connect decides about a place and connects to it, unless it was connected to when its name was asked for.
func (p *Proxy) connect(to place, n *names) (net.Conn, grant, *Refusal) {
	g, f := p.decide(to)
	var ready net.Conn
	var way func([]netip.Addr) (net.Conn, error)
	if p.o.Through != nil && to.name != "" && !to.open {
		way = p.o.Through(to.target())
	}
	if n != nil && f == nil && way == nil {
		ready = n.take(to.target())
	}
	addrs := []netip.Addr{to.addr}
	if f == nil && to.name != "" && ready == nil {
		addrs, f = p.lookUp(to, g)
	}
	if f == nil || f.Kind == "" { // also when no connection comes of it
		p.record(to.target()).note(func(h *Host) { h.Origin = g.rule.Origin })
	}
	switch {
	case f != nil:
		return nil, g, f
	case ready != nil:
		return ready, g, nil
	}
	if way != nil {
		c, err := way(addrs)
		if err != nil {
			f = &Refusal{status: "502 Bad Gateway", Reason: to.target().String() + " cannot be reached: inner-proxy has ended"}
		}
		return c, g, f
	}
	c, f := p.reach(to, addrs, p.times.dial)
	return c, g, f
}

const timedOut = "504 Gateway Timeout"

// decide says whether a place is allowed, without asking any network.
func (p *Proxy) decide(to place) (grant, *Refusal) {
	t := to.target()
	if r := p.o.Policy.denied(to.name, to.addr, to.port); r != nil {
		return grant{}, refusal(Denied, "%s is refused by profile %q (!%s in network_allow)", t, p.o.Profile, r.Entry)
	}
	g, ok := p.o.Policy.allowed(to.name, to.addr, to.port)
	if ok && to.open && p.mustTLS(to, g) {
		return g, refusal(TLS, "%s%s", t, notTLS)
	}
	if ok {
		return g, nil
	}
	unlisted := fmt.Sprintf("%s is not in network_allow of profile %q", t, p.o.Profile)
	if p.o.Mode == Allowlist {
		return g, refusal(Unlisted, "%s", unlisted)
	}
	if to.name == "" { // nobody is asked for a way into a private network
		if kind, why := p.o.Policy.check("", g, to.addr, to.port, p.own()); kind != "" {
			return g, refusal(kind, "%s %s, and that address is not in network_allow of profile %q", t, why, p.o.Profile)
		}
	}
	if p.o.Mode == Learn {
		return grant{rule: &Rule{Origin: OriginLearn}}, nil
	}
	if yes, why := p.ask(p.ctx, t); !yes {
		if _, ok = p.o.Policy.allowed(to.name, to.addr, to.port); ok { // meanwhile
			return p.decide(to)
		}
		return g, refusal(Unlisted, "%s, %s", unlisted, why)
	}
	return grant{rule: &Rule{Origin: OriginAsk}}, nil
}

const notTLS = " is not TLS: the entry in network_allow has to name the port"

// mustTLS reports whether what is said to a place must be TLS: port 443 of an
// entry that names no port is for that alone.
func (p *Proxy) mustTLS(to place, g grant) bool {
	return to.name != "" && to.port == 443 && !g.stated && p.o.Mode != Learn
}

// lookUp returns the addresses of a name, all of which are allowed.
func (p *Proxy) lookUp(to place, g grant) ([]netip.Addr, *Refusal) {
	found, f := p.find(to.name)
	if f != nil {
		return nil, f
	}
	return p.judge(to, g, found)
}

// find asks the host's resolver for a name.
func (p *Proxy) find(name string) ([]netip.Addr, *Refusal) {
	ctx, cancel := context.WithTimeout(p.ctx, p.times.resolve)
	defer cancel()
	found, err := p.resolve(ctx, name)
	if err != nil || len(found) == 0 {
		const nowhere = "has no address"
		why := nowhere
		var dns *net.DNSError
		switch {
		case ctx.Err() != nil:
			why = "was not looked up in time"
		case errors.As(err, &dns) && !dns.IsNotFound:
			why = "cannot be looked up now"
		}
		return nil, &Refusal{status: "502 Bad Gateway", Reason: name + " " + why, none: why == nowhere}
	}
	return found, nil
}

// judge returns the addresses of a name when all of them are allowed.
func (p *Proxy) judge(to place, g grant, found []netip.Addr) ([]netip.Addr, *Refusal) {
	own := p.own()
	var addrs []netip.Addr
	for _, a := range found {
		a = a.Unmap()
		kind, why := p.o.Policy.check(to.name, g, a, to.port, own)
		if kind == Address && g.rule.Origin == OriginAsk && Private(a) && !slices.Contains(own, a) {
			// The person knew the name, and not that it leads into a private network.
			if yes, no := p.ask(p.ctx, Target{a.String(), to.port}); yes {
				kind = ""
			} else {
				why += ", " + no
			}
		}
		if kind != "" {
			f := refusal(kind, "%s %s", to.target(), why)
			f.Range = cure(kind, a, own)
			return nil, f
		}
		addrs = append(addrs, a)
	}
	return addrs, nil
}

// reach connects to the first of the addresses that answers. Each has its share of
// the time, so that one that swallows packets leaves some.
func (p *Proxy) reach(to place, addrs []netip.Addr, limit time.Duration) (net.Conn, *Refusal) {
	end := time.Now().Add(limit)
	var first error
	for i, a := range addrs {
		share := time.Until(end) / time.Duration(len(addrs)-i)
		ctx, cancel := context.WithTimeout(p.ctx, share)
		c, err := p.dial(ctx, netip.AddrPortFrom(a, to.port))
		cancel()
		if err == nil {
			return c, nil
		}
		if first == nil {
			first = err
		}
	}
	f := &Refusal{status: "502 Bad Gateway", Reason: fmt.Sprintf("%s cannot be reached", to.target())}
	switch {
	case errors.Is(first, syscall.ECONNREFUSED):
		f.Reason = fmt.Sprintf("%s refuses connections", to.target())
	case errors.Is(first, context.DeadlineExceeded), errors.Is(first, os.ErrDeadlineExceeded), errors.Is(first, syscall.ETIMEDOUT):
		f.status, f.Reason = timedOut, fmt.Sprintf("%s does not answer", to.target())
	}
	return nil, f
}
