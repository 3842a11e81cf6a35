package hosts_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/profile/hosts"
)

func TestParse(t *testing.T) {
	web := []uint16{443, 80}
	addr := netip.MustParseAddr
	for _, c := range []struct {
		in    string
		want  hosts.Entry
		print string // when it is not in
	}{
		{"example.com", hosts.Entry{Host: "example.com", Ports: web}, ""},
		{"EXAMPLE.com", hosts.Entry{Host: "example.com", Ports: web}, "example.com"},
		{"example.com.", hosts.Entry{Host: "example.com", Ports: web}, "example.com"},
		{"example.com:8443", hosts.Entry{Host: "example.com", Ports: []uint16{8443}}, ""},
		{"example.com:443", hosts.Entry{Host: "example.com", Ports: []uint16{443}}, ""},
		{"*.example.com", hosts.Entry{Host: "example.com", Wild: true, Ports: web}, ""},
		{"*.Example.com.:22", hosts.Entry{Host: "example.com", Wild: true, Ports: []uint16{22}}, "*.example.com:22"},
		{"localhost:5432", hosts.Entry{Host: "localhost", Ports: []uint16{5432}}, ""},
		{"my_host.example", hosts.Entry{Host: "my_host.example", Ports: web}, ""},
		{"a--b.example", hosts.Entry{Host: "a--b.example", Ports: web}, ""},
		{"xn--bcher-kva.example", hosts.Entry{Host: "xn--bcher-kva.example", Ports: web}, ""},
		{"1and1.com", hosts.Entry{Host: "1and1.com", Ports: web}, ""},
		{"1.2.3.4.example", hosts.Entry{Host: "1.2.3.4.example", Ports: web}, ""},
		{"0x7f.example", hosts.Entry{Host: "0x7f.example", Ports: web}, ""},
		{"192.0.2.7", hosts.Entry{Addr: addr("192.0.2.7"), Ports: web}, ""},
		{"192.0.2.7:5432", hosts.Entry{Addr: addr("192.0.2.7"), Ports: []uint16{5432}}, ""},
		{"::1", hosts.Entry{Addr: addr("::1"), Ports: web}, ""},
		{"[::1]", hosts.Entry{Addr: addr("::1"), Ports: web}, "::1"},
		{"[::1]:5432", hosts.Entry{Addr: addr("::1"), Ports: []uint16{5432}}, ""},
		{"2001:DB8:0:0::7", hosts.Entry{Addr: addr("2001:db8::7"), Ports: web}, "2001:db8::7"},
		{"::ffff:192.0.2.7", hosts.Entry{Addr: addr("192.0.2.7"), Ports: web}, "192.0.2.7"},
		{"[::ffff:c000:207]:80", hosts.Entry{Addr: addr("192.0.2.7"), Ports: []uint16{80}}, "192.0.2.7:80"},
		{"@npm", hosts.Entry{Group: "npm"}, ""},
		{"@github", hosts.Entry{Group: "github"}, ""},
	} {
		got, err := hosts.Parse(c.in)
		if err != nil || got.Host != c.want.Host || got.Wild != c.want.Wild || got.Addr != c.want.Addr ||
			!slices.Equal(got.Ports, c.want.Ports) || got.Group != c.want.Group {
			t.Errorf("Parse(%q) = %+v, %v; want %+v", c.in, got, err, c.want)
		}
		if c.print == "" {
			c.print = c.in
		}
		if got.String() != c.print {
			t.Errorf("Parse(%q) prints %q, want %q", c.in, got, c.print)
		}
	}
}

// Each has a twin in TestParse: the same without what is wrong with it.
func TestParseRefuses(t *testing.T) {
	long := strings.Repeat("a", 64)
	for _, c := range []struct{ in, want string }{
		{"", "is empty"},
		{"*", `is everything, which only network_mode = "full" gives`},
		{"*:443", `is everything, which only network_mode = "full" gives`},
		{"*.com", "is every name below com: write at least two labels after the *"},
		{"*.com.", "is every name below com: write at least two labels after the *"},
		{"*.localhost", "is every name below localhost: write at least two labels after the *"},
		{"*.", "has no host"},
		{"*.192.0.2.7", "is a * before an address"},
		{"*example.com", "has a * that is not the whole first label"},
		{"a.*.com", "has a * that is not the whole first label"},
		{"*.*.com", "has a * that is not the whole first label"},
		{"example.*", "has a * that is not the whole first label"},
		{"https://example.com", "is an address of a page: write the host alone"},
		{"example.com/x", "has a path or a range: write one host"},
		{"10.0.0.0/8", "has a path or a range: write one host"},
		{"example.com:", "has a colon and no port"},
		{"example.com:0", `has the port "0": a port is 1 to 65535`},
		{"example.com:65536", `has the port "65536": a port is 1 to 65535`},
		{"example.com:+80", `has the port "+80": a port is 1 to 65535`},
		{"example.com:080", `has the port "080": a port is 1 to 65535`},
		{"example.com:8o", `has the port "8o": a port is 1 to 65535`},
		{"example.com:80,443", `has the port "80,443": a port is 1 to 65535`},
		{"example.com: 80", `has the port " 80": a port is 1 to 65535`},
		{":443", "has no host"},
		{".", "has no host"},
		{"example.com..", "has an empty label"},
		{".example.com", "has an empty label"},
		{"example..com", "has an empty label"},
		{"-a.example", "has a label that begins or ends with a hyphen"},
		{"a-.example", "has a label that begins or ends with a hyphen"},
		{long + ".example", "has a label longer than 63 characters"},
		{strings.Repeat("abcdefghi.", 26) + "example", "is longer than 253 characters"},
		{"user@example.com", "has a user: write the host alone"},
		{"user:pass@example.com", `has the port "pass@example.com": a port is 1 to 65535`},
		{"example%2ecom", "has a percent sign: write the host as it is"},
		{"example.com\x00.evil.example", "has a control character"},
		{"example.com\n", "has a control character"},
		{"example.com\x7f", "has a control character"},
		{"example .com", "has ' ', which no host has"},
		{" example.com", "has ' ', which no host has"},
		{"example.com?", "has '?', which no host has"},
		{`example.com\`, `has '\\', which no host has`},
		{"exämple.com", "has letters beyond ASCII: write the xn-- form"},
		{"example。com", "has letters beyond ASCII: write the xn-- form"},
		{"example.com\xff", "has letters beyond ASCII: write the xn-- form"},
		{"2130706433", "ends in a number and is not an address: write it as 192.0.2.7"},
		{"0x7f000001", "ends in a number and is not an address: write it as 192.0.2.7"},
		{"0X7F.1", "ends in a number and is not an address: write it as 192.0.2.7"},
		{"127.0x1", "ends in a number and is not an address: write it as 192.0.2.7"},
		{"0177.0.0.1", "ends in a number and is not an address: write it as 192.0.2.7"},
		{"127.1", "ends in a number and is not an address: write it as 192.0.2.7"},
		{"127.0.0.1.", "ends in a number and is not an address: write it as 192.0.2.7"},
		{"127.0.0.256", "ends in a number and is not an address: write it as 192.0.2.7"},
		{"1.2.3.4.5", "ends in a number and is not an address: write it as 192.0.2.7"},
		{"example.0", "ends in a number and is not an address: write it as 192.0.2.7"},
		{"example.0x", "ends in a number and is not an address: write it as 192.0.2.7"},
		{"[example.com]:80", "has brackets round what is not an IPv6 address"},
		{"[192.0.2.7]:80", "has brackets round what is not an IPv6 address"},
		{"[::1", "has brackets round what is not an IPv6 address"},
		{"[::1]80", "has no port after the brackets"},
		{"[::1]:", "has no port after the brackets"},
		{"[::g]:80", "is not an address"},
		{":::1", "is not an address"},
		{"fe80::1%eth0", "has a zone: write the address alone"},
		{"[fe80::1%25eth0]:80", "has a zone: write the address alone"},
		{"@", "is not a group: there are @crates @debian @github @gitlab @go @maven @npm @pypi"},
		{"@nmp", "is not a group: there are @crates @debian @github @gitlab @go @maven @npm @pypi"},
		{"@npm:443", "is not a group: there are @crates @debian @github @gitlab @go @maven @npm @pypi"},
	} {
		_, err := hosts.Parse(c.in)
		if err == nil || !strings.HasSuffix(err.Error(), `" `+c.want) || strings.ContainsAny(err.Error(), "\n\x00") {
			t.Errorf("Parse(%q): %v; want %s", c.in, err, c.want)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		entry, host string
		want        bool
	}{
		{"example.com", "example.com", true},
		{"example.com", "EXAMPLE.COM.", true},
		{"example.com", "a.example.com", false},
		{"example.com", "example.com.evil.test", false},
		{"example.com", "notexample.com", false},
		{"*.example.com", "a.example.com", true},
		{"*.example.com", "a.b.example.com", true},
		{"*.example.com", "example.com", false},
		{"*.example.com", "notexample.com", false},
		{"*.example.com", "a.example.com.evil.test", false},
		{"192.0.2.7", "192.0.2.7", true},
		{"192.0.2.7", "::ffff:192.0.2.7", true},
		{"192.0.2.7", "192.0.2.70", false},
		{"::ffff:192.0.2.7", "192.0.2.7", true},
		{"::1", "0:0::1", true},
		{"::1", "127.0.0.1", false},
		{"@npm", "npm", false},
	} {
		e, err := hosts.Parse(c.entry)
		if err != nil {
			t.Fatal(err)
		}
		name, addr, err := hosts.Host(c.host)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Matches(name, addr); got != c.want {
			t.Errorf("%s matches %s: %v", c.entry, c.host, got)
		}
	}
	if (hosts.Entry{}).Matches("", netip.Addr{}) {
		t.Error("an empty entry matches an empty host")
	}
}

// An accepted entry prints as one that means the same, and its host is nothing a
// resolver or another program could read differently.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"example.com", "*.example.com:22", "[::1]:5432", "192.0.2.7", "@npm", "2130706433", "0x7f.1", "a@b", "::ffff:1.2.3.4",
		"example.com.", "a\x00b", "ä.example", "fe80::1%x", "_a.b-c.d:1", "*",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := hosts.Parse(s)
		if err != nil {
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Errorf("Parse(%q): the error has a control character: %q", s, err)
			}
			return
		}
		again, err := hosts.Parse(e.String())
		if err != nil || again.String() != e.String() || !slices.Equal(again.Ports, e.Ports) || again.Addr != e.Addr || again.Host != e.Host || again.Wild != e.Wild {
			t.Errorf("Parse(%q) = %+v prints %q, which is %+v, %v", s, e, e, again, err)
		}
		set := 0
		for _, is := range []bool{e.Host != "", e.Addr.IsValid(), e.Group != ""} {
			if is {
				set++
			}
		}
		if set != 1 {
			t.Errorf("Parse(%q) = %+v", s, e)
		}
		if e.Host != "" {
			if strings.Trim(e.Host, "abcdefghijklmnopqrstuvwxyz0123456789_-.") != "" || len(e.Host) > 253 {
				t.Errorf("Parse(%q) has the host %q", s, e.Host)
			}
			if n, err := hosts.Name(strings.ToUpper(e.Host) + "."); err != nil || n != e.Host {
				t.Errorf("Name(%q) = %q, %v", e.Host, n, err)
			}
			if !e.Wild && !e.Matches(e.Host, netip.Addr{}) || e.Wild && (e.Matches(e.Host, netip.Addr{}) || !e.Matches("x."+e.Host, netip.Addr{})) {
				t.Errorf("%+v does not match what it says", e)
			}
		}
		if e.Addr.IsValid() && (e.Addr.Zone() != "" || e.Addr.Is4In6()) {
			t.Errorf("Parse(%q) has the address %s", s, e.Addr)
		}
	})
}

// TestParseAllow: of network_allow a range is of private addresses alone, and this computer is a port
// that a box can have.
func TestParseAllow(t *testing.T) {
	for s, ok := range map[string]bool{
		"name.example": true, "10.0.0.5:22": true,
		"10.0.0.0/8": true, "10.1.2.0/24": true, "172.16.0.0/12": true, "192.168.1.0/24": true, "100.64.0.0/10": true, "fd00::/8": true, "10.1.2.3/32": true,
		"10.1.2.3/8": false, "8.0.0.0/7": false, "10.0.0.0/7": false, "0.0.0.0/0": false, "8.8.8.0/24": false, "127.0.0.0/8": false, "169.254.0.0/16": false,
		"::/0": false, "::1/128": false, "fe80::/10": false, "::ffff:10.0.0.0/104": false, "name.example/24": false, "10.0.0.0/33": false, "10.0.0.0/8:443": false,
		"127.0.0.1:5432": true, "[::1]:5432": true, "localhost:5432": true, "LocalHost.:5432": true, "[::ffff:127.0.0.1]:5432": true,
		"127.0.0.1": false, "localhost": false, "127.0.0.1:80": false, "::1": false, "127.0.0.2:5432": true, "0.0.0.0:5432": false,
	} {
		e, err := hosts.ParseAllow(s)
		if (err == nil) != ok {
			t.Errorf("%s: %v", s, err)
		} else if again, err := hosts.ParseAllow(e.String()); ok && (err != nil || again.String() != e.String()) {
			t.Errorf("%s is written %q: %v", s, e, err)
		}
	}
	if _, err := hosts.Parse("10.0.0.0/8"); err == nil {
		t.Error("a range is read where none belongs")
	}
}
