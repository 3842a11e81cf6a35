package export

import (
	"net/netip"
	"net/url"
	"strconv"

	"github.com/enr/inner/profile/hosts"
)

// networks returns the ranges of private addresses that listed hosts may be in.
func (r *Request) networks() (out []string) {
	for _, text := range r.written("sandbox.network_allow") {
		if e, err := hosts.ParseAllow(text); err == nil && e.Range.IsValid() {
			out = append(out, e.String())
		}
	}
	return out
}

// addresses returns the private addresses that are named as such, each once.
func (r *Request) addresses() []netip.AddrPort {
	var out []netip.AddrPort
	seen := map[netip.AddrPort]bool{}
	add := func(addr netip.Addr, port uint16) {
		if a := netip.AddrPortFrom(addr, port); addr.IsPrivate() && !seen[a] {
			seen[a] = true
			out = append(out, a)
		}
	}
	for _, text := range r.written("sandbox.network_allow") {
		e, err := hosts.Parse(text)
		if err != nil || !e.Addr.IsValid() {
			continue
		}
		for _, port := range e.Ports {
			add(e.Addr, port)
		}
	}
	for _, t := range r.Tasks {
		u, err := url.Parse(t.Repo)
		if err != nil {
			continue
		}
		addr, err := netip.ParseAddr(u.Hostname())
		if err != nil {
			continue
		}
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		if n, err := strconv.ParseUint(port, 10, 16); err == nil {
			add(addr, uint16(n))
		}
	}
	return out
}
