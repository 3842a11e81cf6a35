// Package hosts is the grammar of the places a box may reach by name: the
// entries of network_allow, and the names a program asks for.
//
// Both go through the same strict reading, so that what was compared with the
// list is what is looked up, and nothing else. A filter that read a name one way
// and a resolver that read it another are how such lists have been walked round:
// a NUL in the middle, an address in octal, a dot at the end. What has more than
// one reading is refused here, not repaired; the two exceptions are case, which
// is folded, and one dot at the end, which is taken off.
//
//	example.com        ports 443 and 80 of this name
//	example.com:8443   this port of it
//	*.example.com      every name below it, not example.com itself
//	192.0.2.7:5432     exactly this address and port; [2001:db8::7]:5432
//	@npm               a group; see Groups
//	10.0.0.0/8         where listed names may be, in network_allow; see ParseAllow
package hosts

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/visible"
)

// Entry is one entry of network_allow, without its !. Exactly one of Host,
// Addr, Group and Range is set.
type Entry struct {
	// Host is a name as Name returns it, without the "*." of Wild.
	Host string
	// Wild means every name below Host, at any depth, and not Host itself.
	Wild bool
	// Addr is a literal address: no zone, IPv4 never in its IPv6 form.
	Addr netip.Addr
	// Ports are the ports of the entry: the one that was written, or 443 and 80.
	// A group has none: its members have.
	Ports []uint16
	// Group is one of Groups, without the "@".
	Group string
	// Range is a private network that listed names may be in. It names no place itself.
	Range netip.Prefix
}

// Groups returns the names of the groups, without the "@".
func Groups() []string {
	return []string{"crates", "debian", "github", "gitlab", "go", "maven", "npm", "pypi"}
}

// Parse reads an entry. The error is one line that names the entry and says what
// is wrong with it.
func Parse(s string) (Entry, error) {
	e, err := parse(s)
	if err != nil {
		return Entry{}, fmt.Errorf("%q %w", visible.Short(s), err)
	}
	return e, nil
}

// ParseAllow reads an entry of network_allow. That may be a range of private addresses, and is not
// this computer itself but for a port that the box can have, too.
func ParseAllow(s string) (Entry, error) {
	if p, err := netip.ParsePrefix(s); err == nil {
		inside := func(network string) bool {
			n := netip.MustParsePrefix(network)
			return n.Bits() <= p.Bits() && n.Contains(p.Addr())
		}
		if p != p.Masked() || !slices.ContainsFunc([]string{"10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"}, inside) {
			return Entry{}, fmt.Errorf("%q is no range of private addresses: write one like 10.1.0.0/16", s)
		}
		return Entry{Range: p}, nil
	}
	e, err := Parse(s)
	here := e.Loopback() || e.Addr.IsUnspecified()
	if err == nil && here && !(e.Loopback() && e.Stated() && e.Ports[0] >= 1024) {
		return e, fmt.Errorf("%q is this computer itself, of which a box has single ports: write them into host_ports", s)
	}
	return e, err
}

func parse(s string) (Entry, error) {
	if group, ok := strings.CutPrefix(s, "@"); ok {
		if !slices.Contains(Groups(), group) {
			return Entry{}, errors.New("is not a group: there are @" + strings.Join(Groups(), " @"))
		}
		return Entry{Group: group}, nil
	}
	switch {
	case s == "":
		return Entry{}, errors.New("is empty")
	case s == "*" || strings.HasPrefix(s, "*:"):
		return Entry{}, errors.New(`is everything, which only network_mode = "full" gives`)
	case strings.Contains(s, "://"):
		return Entry{}, errors.New("is an address of a page: write the host alone")
	case strings.Contains(s, "/"):
		return Entry{}, errors.New("has a path or a range: write one host")
	}
	host, port, err := Split(s)
	if err != nil {
		return Entry{}, err
	}
	ports := []uint16{443, 80}
	if port != "" {
		n, err := Port(port)
		if err != nil {
			return Entry{}, err
		}
		ports = []uint16{n}
	}
	e, err := pattern(host)
	e.Ports = ports
	return e, err
}

// pattern reads the host of an entry, which may be every name below one.
func pattern(host string) (e Entry, err error) {
	host, e.Wild = strings.CutPrefix(host, "*.")
	if strings.Contains(host, "*") {
		return e, errors.New("has a * that is not the whole first label")
	}
	if e.Host, e.Addr, err = Host(host); err != nil {
		return e, err
	}
	if e.Wild && e.Addr.IsValid() {
		return e, errors.New("is a * before an address")
	}
	if e.Wild && !strings.Contains(e.Host, ".") {
		return e, fmt.Errorf("is every name below %s: write at least two labels after the *", e.Host)
	}
	return e, nil
}

// Split takes the port off; it is "" where there is none. A host in brackets must
// be an IPv6 address, and one with more than one colon outside brackets is one,
// without a port.
func Split(s string) (host, port string, err error) {
	rest, brackets := strings.CutPrefix(s, "[")
	if !brackets {
		if strings.Count(s, ":") > 1 {
			return s, "", nil
		}
		host, port, ok := strings.Cut(s, ":")
		if ok && port == "" {
			return "", "", errors.New("has a colon and no port")
		}
		return host, port, nil
	}
	host, rest, ok := strings.Cut(rest, "]")
	if !ok || !strings.Contains(host, ":") {
		return "", "", errors.New("has brackets round what is not an IPv6 address")
	}
	if rest == "" {
		return host, "", nil
	}
	if port, ok = strings.CutPrefix(rest, ":"); !ok || port == "" {
		return "", "", errors.New("has no port after the brackets")
	}
	return host, port, nil
}

// Port reads a port: decimal, 1 to 65535, no sign and no zero in front.
func Port(s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || s[0] == '0' || s[0] == '+' {
		return 0, fmt.Errorf("has the port %q: a port is 1 to 65535", visible.Short(s))
	}
	return uint16(n), nil
}

// Host reads what stands where a host belongs, without brackets: an address in
// its canonical form, or else a name. One of the two results is set.
func Host(s string) (name string, addr netip.Addr, err error) {
	if a, err := netip.ParseAddr(s); err == nil {
		if a.Zone() != "" {
			return "", netip.Addr{}, errors.New("has a zone: write the address alone")
		}
		return "", a.Unmap(), nil
	}
	if strings.Contains(s, ":") {
		return "", netip.Addr{}, errors.New("is not an address")
	}
	name, err = Name(s)
	return name, netip.Addr{}, err
}

// Name reads the name of a host and returns it in the one spelling that is
// compared and looked up: lower case, no dot at the end. An address is not a
// name, and neither is anything some program reads as one.
//
// Underscores are accepted, as the DNS does in practice; a label does not begin
// or end with a hyphen. Only ASCII: a name with other letters has an xn-- form,
// and in that form two names that look alike do not.
func Name(s string) (string, error) {
	for i := range len(s) {
		if err := checkByte(s[i]); err != nil {
			return "", err
		}
	}
	name := strings.ToLower(strings.TrimSuffix(s, "."))
	if name == "" {
		return "", errors.New("has no host")
	}
	if len(name) > 253 {
		return "", errors.New("is longer than 253 characters")
	}
	for label := range strings.SplitSeq(name, ".") {
		switch {
		case label == "":
			return "", errors.New("has an empty label")
		case len(label) > 63:
			return "", errors.New("has a label longer than 63 characters")
		case label[0] == '-' || label[len(label)-1] == '-':
			return "", errors.New("has a label that begins or ends with a hyphen")
		}
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	// inet_aton(3) and the URL standard of browsers ("ends in a number") read
	// 0x7f.1, 0177.0.0.1, 127.1 and 2130706433 as 127.0.0.1.
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return "", errors.New("ends in a number and is not an address: write it as 192.0.2.7")
	}
	return name, nil
}

func checkByte(c byte) error {
	switch {
	case c < ' ' || c == 0x7f:
		return errors.New("has a control character")
	case c >= 0x80:
		return errors.New("has letters beyond ASCII: write the xn-- form")
	case c == '@':
		return errors.New("has a user: write the host alone")
	case c == '%':
		return errors.New("has a percent sign: write the host as it is")
	case strings.IndexByte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.", c) < 0:
		return fmt.Errorf("has %q, which no host has", c)
	}
	return nil
}

// String returns the entry as Parse reads it, in its one spelling.
func (e Entry) String() string {
	host := e.Host
	switch {
	case e.Group != "":
		return "@" + e.Group
	case e.Range.IsValid():
		return e.Range.String()
	case e.Wild:
		host = "*." + host
	case e.Addr.IsValid():
		host = e.Addr.String()
	}
	if !e.Stated() {
		return host
	}
	if e.Addr.Is6() {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(e.Ports[0]))
}

// Stated reports whether the entry names its port.
func (e Entry) Stated() bool { return len(e.Ports) == 1 }

// Loopback reports whether the entry is this computer by one of the names that NO_PROXY has in a box.
func (e Entry) Loopback() bool { return !e.Wild && Loopback(e.Host, e.Addr) }

// Loopback is that of a name or an address, as Host returned them.
func Loopback(name string, addr netip.Addr) bool {
	return name == "localhost" || slices.Contains([]string{"127.0.0.1", "::1"}, addr.String())
}

// Matches reports whether the entry is about a host, whatever the port: the
// name or the address as Host returned them.
func (e Entry) Matches(name string, addr netip.Addr) bool {
	switch {
	case e.Addr.IsValid():
		return e.Addr == addr
	case e.Host == "" || name == "":
		return false
	case e.Wild:
		below, ok := strings.CutSuffix(name, e.Host)
		return ok && len(below) > 1 && below[len(below)-1] == '.'
	}
	return e.Host == name
}
