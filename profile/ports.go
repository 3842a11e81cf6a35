package profile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/profile/hosts"
	"github.com/enr/inner/profile/strict"
)

// ProxyPort is where the proxy of a box listens, on the loopback of the box.
const ProxyPort = 61080

// Port is one entry of publish or host_ports: a port of this computer and one
// of the box, each on its own loopback.
type Port struct {
	Host, Box uint16
	File      string // where it was written, for messages
	Line      int
}

// String writes a port as a profile does.
func (p Port) String() string {
	if p.Host == p.Box {
		return strconv.Itoa(int(p.Host))
	}
	return fmt.Sprintf("%d:%d", p.Host, p.Box)
}

// BoxPort returns how a box has a port of this computer: as the same one, but where nobody in a box can
// listen (ip(7), ip_unprivileged_port_start; the supervisor has no capabilities).
func BoxPort(port uint16) Port {
	p := Port{Host: port, Box: port}
	if port < 1024 {
		p.Box += 8000
	}
	return p
}

// words is a port for people.
func (p Port) words() string {
	if p.Host == p.Box {
		return strconv.Itoa(int(p.Host))
	}
	return fmt.Sprintf("%d (%d in the box)", p.Host, p.Box)
}

// ParsePort reads "3000" and "8080:3000", which is host:box.
func ParsePort(text string) (Port, bool) {
	host, box, two := strings.Cut(text, ":")
	if !two {
		box = host
	}
	var p Port
	var errs [2]error
	p.Host, errs[0] = hosts.Port(host)
	p.Box, errs[1] = hosts.Port(box)
	return p, errs[0] == nil && errs[1] == nil
}

// port checks an entry of publish or host_ports.
func (v *validator) port(key string, it strict.Item) {
	p, ok := ParsePort(strings.TrimPrefix(it.Text, "-"))
	if !ok {
		v.Add(it.At, key, fmt.Sprintf("%q is not a port from 1 to 65535", it.Text), `write it like "3000", or "8080:3000" for port 8080 of this computer and 3000 of the box`)
	} else if problem, hint := p.Problem(); problem != "" && (key == "sandbox.host_ports" || p.Box == ProxyPort) {
		v.Add(it.At, key, fmt.Sprintf("%q: %s", it.Text, problem), hint)
	}
}

// Problem says why a port of this computer cannot be that one of the box, and what can; "" when it can.
func (p Port) Problem() (problem, hint string) {
	switch box := BoxPort(p.Box).Box; {
	case p.Box == ProxyPort:
		return fmt.Sprintf("port %d of a box is inner's own", ProxyPort), ""
	case p.Box < 1024:
		return "in a box nobody can listen below port 1024", fmt.Sprintf(`"%d:%d" makes it port %d of the box`, p.Host, box, box)
	}
	return "", ""
}

// networkOf is the mode that a profile asks for, or "".
func networkOf(s *source) Network {
	mode, on := s.Value("sandbox.network_mode"), s.Value("sandbox.network")
	switch {
	case mode.Set:
		return Network(mode.V)
	case on.On():
		return NetFull
	case on.Set:
		return NetOff
	}
	return ""
}

// networkLists looks whether the lists fit the mode the profile itself asks
// for, and reads the ports. What a flag says of the mode comes later.
func (r *resolver) networkLists() {
	allow, rc := r.s.Value("sandbox.network_allow").Items, &r.rc
	for _, it := range allow {
		if !rc.Network.ByName() && (!refuses(it.Text) || rc.Network == NetFull) {
			r.add(it.At, "sandbox.network_allow", fmt.Sprintf("network_mode is %q, which reads no list", rc.Network), `network_mode = "allowlist" does`)
			break
		}
	}
	rc.Publish = r.ports("sandbox.publish")
	rc.HostPorts = r.ports("sandbox.host_ports")
	for _, it := range allow {
		port := loopbackPort(it.Text)
		if port == 0 || port == ProxyPort || slices.ContainsFunc(rc.HostPorts, func(p Port) bool { return p.Box == port }) {
			continue
		}
		rc.HostPorts = append(rc.HostPorts, Port{Host: port, Box: port, File: it.At.File, Line: it.At.Line})
	}
	for _, pub := range rc.Publish {
		for _, own := range rc.HostPorts {
			if pub.Box == own.Box {
				at := strict.Pos{File: pub.File, Line: pub.Line}
				r.add(at, "sandbox.publish", fmt.Sprintf("port %d of the box is taken by host_ports (%s)", pub.Box, place(strict.Pos{File: own.File, Line: own.Line}, at)), "")
			}
		}
	}
}

// loopbackPort returns the port of this computer that an entry of network_allow is, or 0.
func loopbackPort(entry string) uint16 {
	if e, err := hosts.ParseAllow(entry); err == nil && e.Loopback() {
		return e.Ports[0]
	}
	return 0
}

func (r *resolver) ports(key string) []Port {
	l := r.s.Value(key)
	if len(l.Items) > 0 && r.rc.Network == NetFull {
		r.add(l.Items[0].At, key, `network_mode is "full": the box has this computer's ports already`, "take it out")
		return nil
	}
	var out []Port
	taken := map[uint16]bool{} // ports that are listened on: the host's for publish, the box's for host_ports
	for _, it := range l.Items {
		p, _ := ParsePort(it.Text)
		p.File, p.Line = it.At.File, it.At.Line
		listens := p.Host
		if key == "sandbox.host_ports" {
			listens = p.Box
		}
		if taken[listens] {
			r.add(it.At, key, fmt.Sprintf("port %d is listed twice", listens), "")
		}
		taken[listens] = true
		out = append(out, p)
	}
	return out
}
