package export

import (
	"net/netip"
	"net/url"
	"strconv"

	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/hosts"
)

// networkPolicy returns the second layer: what the pod as a whole can reach, should the box fail.
// No connection comes in. The pod may ask DNS servers, and connect to the public internet and to
// those private addresses and ranges that the profile or a repository names. A pod whose profile
// has no network, and that fetches nothing, reaches nothing.
func (r *Request) networkPolicy() fields {
	return fields{
		{"apiVersion", "networking.k8s.io/v1"},
		{"kind", "NetworkPolicy"},
		{"metadata", r.metadata()},
		{"spec", fields{
			{"podSelector", fields{{"matchLabels", fields{{labelFleet, r.objectName()}, {labelRole, "box"}}}}},
			{"policyTypes", words("Ingress", "Egress")},
			{"ingress", list{}},
			{"egress", r.world()},
		}},
	}
}

// world returns the destinations that the policy allows for a pod with the profile's network.
func (r *Request) world() list {
	egress := list{}
	if network(r.Profile) == profile.NetOff && r.Tasks[0].Repo == "" {
		return egress
	}
	egress = append(
		egress,
		fields{{"ports", list{fields{{"protocol", "UDP"}, {"port", 53}}, fields{{"protocol", "TCP"}, {"port", 53}}}}},
		fields{{"to", list{
			fields{{"ipBlock", fields{{"cidr", "0.0.0.0/0"}, {"except", ranges(netproxy.NotPublic4()...)}}}},
			fields{{"ipBlock", fields{{"cidr", "2000::/3"}, {"except", ranges(append(netproxy.NotPublic6(), netproxy.SixTo4())...)}}}},
		}}},
	)
	for _, network := range r.networks() {
		egress = append(egress, fields{{"to", list{fields{{"ipBlock", fields{{"cidr", network}}}}}}})
	}
	for _, a := range r.addresses() {
		egress = append(egress, fields{
			{"to", list{fields{{"ipBlock", fields{{"cidr", netip.PrefixFrom(a.Addr(), a.Addr().BitLen()).String()}}}}}},
			{"ports", list{fields{{"protocol", "TCP"}, {"port", int(a.Port())}}}},
		})
	}
	return egress
}

func ranges(prefixes ...netip.Prefix) list {
	out := list{}
	for _, p := range prefixes {
		out = append(out, p.String())
	}
	return out
}

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
