package netproxy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Each case is asked by CONNECT. want is "" for a
// tunnel that opens, or the reason; asked is what may be looked up.
func TestDecisions(t *testing.T) {
	const (
		notAllowed = ` is not in network_allow of profile "x"`
		good       = "93.184.216.34"
	)
	type test struct {
		allow, deny string // words
		names       string // "name=address,address ..."
		target      string
		want        string
		asked       bool
	}
	a := func(list string) string { return "name.example=" + list }
	for i, c := range []test{
		// Names and ports.
		{"name.example:22", "", a(good), "name.example:22", "", true},
		{"name.example", "", a(good), "name.example:80", "", true},
		{"name.example", "", a(good), "name.example:22", "name.example:22" + notAllowed, false},
		{"name.example:22", "", a(good), "name.example:80", "name.example:80" + notAllowed, false},
		{"name.example:22", "", a(good), "other.example:22", "other.example:22" + notAllowed, false},
		{"", "", a(good), "name.example:22", "name.example:22" + notAllowed, false},
		{"*.example:22", "", a(good), "", "", false}, // refused by hosts.Parse
		{"*.name.example:22", "", "a.b.name.example=" + good, "a.b.name.example:22", "", true},
		{"*.name.example:22", "", a(good), "name.example:22", "name.example:22" + notAllowed, false},
		// One name has many spellings.
		{"name.example:22", "", a(good), "NAME.Example:22", "", true},
		{"Name.EXAMPLE:22", "", a(good), "name.example.:22", "", true},
		// Deny before allow, on every port unless it names one.
		{"*.name.example:22", "bad.name.example", "bad.name.example=" + good, "bad.name.example:22", `bad.name.example:22 is refused by profile "x" (!bad.name.example in network_allow)`, false},
		{"*.name.example:22", "bad.name.example", "good.name.example=" + good, "good.name.example:22", "", true},
		{"name.example:22", "name.example:23", a(good), "name.example:22", "", true},
		{"name.example:22", "name.example:22", a(good), "name.example.:22", `name.example:22 is refused by profile "x" (!name.example:22 in network_allow)`, false},
		{"name.example:22", good, a(good), "name.example:22", "name.example:22 is at 93.184.216.34, which network_allow refuses", true},
		{"name.example:22", good, a("64:ff9b::5db8:d822"), "name.example:22", "name.example:22 is at 64:ff9b::5db8:d822, which network_allow refuses", true},
		{good + ":22", good, "", good + ":22", `93.184.216.34:22 is refused by profile "x" (!93.184.216.34 in network_allow)`, false},
		// Literal addresses are what they are, and nothing else.
		{"10.0.0.5:22", "", "", "10.0.0.5:22", "", false},
		{"10.0.0.5:22", "", "", "[::ffff:10.0.0.5]:22", "", false},
		{"[::ffff:10.0.0.5]:22", "", "", "10.0.0.5:22", "", false},
		{"10.0.0.5:22", "", "", "10.0.0.5:23", "10.0.0.5:23" + notAllowed, false},
		{"10.0.0.5:22", "", "", "10.0.0.6:22", "10.0.0.6:22" + notAllowed, false},
		{"[fd00::5]:22", "", "", "[fd00:0::5]:22", "", false},
		{"127.0.0.1:22", "", "", "127.0.0.1:22", "", false},
		{"name.example:22", "", a(good), good + ":22", good + ":22" + notAllowed, false},
		{"127.0.0.1:22", "", "", "127.0.0.2:22", "127.0.0.2:22" + notAllowed, false},
		// What a name may be looked up as.
		{"name.example:22", "", a("127.0.0.1"), "name.example:22", "name.example:22 is at 127.0.0.1, which is not a public address", true},
		{"name.example:22", "", a("::1"), "name.example:22", "name.example:22 is at ::1, which is not a public address", true},
		{"name.example:22", "", a("::ffff:127.0.0.1"), "name.example:22", "name.example:22 is at 127.0.0.1, which is not a public address", true},
		{"name.example:22", "", a("169.254.169.254"), "name.example:22", "name.example:22 is at 169.254.169.254, which is not a public address", true},
		{"name.example:22", "", a("::ffff:169.254.169.254"), "name.example:22", "name.example:22 is at 169.254.169.254, which is not a public address", true},
		{"name.example:22", "", a("64:ff9b::a9fe:a9fe"), "name.example:22", "name.example:22 is at 64:ff9b::a9fe:a9fe, which is not a public address", true},
		{"name.example:22", "", a("64:ff9b::5db8:d823"), "name.example:22", "", true},
		{"name.example:22", "", a("8.8.4.4"), "name.example:22", "name.example:22 is at 8.8.4.4, an address of this machine", true},
		{"name.example:22", "", a("64:ff9b::808:404"), "name.example:22", "name.example:22 is at 64:ff9b::808:404, an address of this machine", true},
		{"name.example:22", "", a(good + ",10.0.0.5"), "name.example:22", "name.example:22 is at 10.0.0.5, which is not a public address", true},
		{"name.example:22", "", a("10.0.0.5," + good), "name.example:22", "name.example:22 is at 10.0.0.5, which is not a public address", true},
		{"name.example:22 10.0.0.5:22", "", a(good + ",10.0.0.5"), "name.example:22", "", true},
		{"name.example:22 10.0.0.5:23", "", a("10.0.0.5"), "name.example:22", "name.example:22 is at 10.0.0.5, which is not a public address", true},
		{"localhost:22", "", "localhost=127.0.0.1", "localhost:22", "localhost:22 is at 127.0.0.1, which is not a public address", true},
		// A registry on a private network.
		{"private+name.example:22", "", a("10.0.0.5"), "name.example:22", "", true},
		{"private+name.example:22", "", a("100.64.0.5"), "name.example:22", "", true},
		{"private+name.example:22", "", a("fd00::5"), "name.example:22", "", true},
		{"private+name.example:22", "", a("127.0.0.1"), "name.example:22", "name.example:22 is at 127.0.0.1, which is not a public address", true},
		{"private+name.example:22", "", a("169.254.169.254"), "name.example:22", "name.example:22 is at 169.254.169.254, which is not a public address", true},
		{"private+name.example:22", "", a("100.100.100.200"), "name.example:22", "name.example:22 is at 100.100.100.200, which is not a public address", true},
		{"private+name.example:22", "", a("fd00:ec2::254"), "name.example:22", "name.example:22 is at fd00:ec2::254, which is not a public address", true},
		{"private+name.example:22", "", a("8.8.4.4"), "name.example:22", "name.example:22 is at 8.8.4.4, an address of this machine", true},
		{"private+localhost:22", "", "localhost=127.0.0.1,::1", "localhost:22", "", true},
		{"private+localhost:22", "", "localhost=169.254.169.254", "localhost:22", "localhost:22 is at 169.254.169.254, which is not a public address", true},
		// A range of network_allow: listed names may be there, and nothing else is reached by it.
		{"name.example:22 10.0.0.0/8", "", a("10.0.0.5"), "name.example:22", "", true},
		{"name.example:22 10.0.0.0/24", "", a("10.0.1.5"), "name.example:22", "name.example:22 is at 10.0.1.5, which is not a public address", true},
		{"name.example:22 fd00::/8", "", a("fd00::5"), "name.example:22", "", true},
		{"name.example:22 fd00::/8", "", a("fd00:ec2::254"), "name.example:22", "name.example:22 is at fd00:ec2::254, which is not a public address", true},
		{"name.example:22 100.64.0.0/10", "", a("100.100.100.200"), "name.example:22", "name.example:22 is at 100.100.100.200, which is not a public address", true},
		{"name.example:22 10.0.0.0/8", "10.0.0.5", a("10.0.0.5"), "name.example:22", "name.example:22 is at 10.0.0.5, which network_allow refuses", true},
		{"name.example:22 10.0.0.0/8", "", a("10.0.0.5"), "other.example:22", "other.example:22" + notAllowed, false},
		{"name.example:22 10.0.0.0/8", "", "", "10.0.0.5:22", "10.0.0.5:22" + notAllowed, false},
		// No address at all.
		{"name.example:22", "", "", "name.example:22", "name.example has no address", true},
	} {
		if c.target == "" {
			continue
		}
		t.Run(fmt.Sprintf("%d %s", i, c.target), func(t *testing.T) {
			w := newWorld(t)
			for _, word := range strings.Fields(c.names) {
				name, list, _ := strings.Cut(word, "=")
				w.names[name] = strings.Split(list, ",")
			}
			for _, at := range []string{
				good + ":22", good + ":80", "10.0.0.5:22", "[fd00::5]:22", "127.0.0.1:22", "[::1]:22", "100.64.0.5:22", "[64:ff9b::5db8:d823]:22",
			} {
				w.serve(at, echo(at))
			}
			words := func(s string) []Rule {
				list := strings.Fields(s)
				for i := range list {
					list[i] = strings.Replace(list[i], "+", " ", 1)
				}
				return rules(t, list...)
			}
			p, proxy := w.proxy(Options{Policy: NewPolicy(words(c.allow), words(c.deny))})
			cl, status, text := connectTo(t, proxy, c.target)
			ok := status == 200
			want := map[bool]int{true: 403, false: 502}[!strings.HasSuffix(c.want, "has no address")]
			if !ok && (status != want || text != "inner: "+c.want) {
				t.Errorf("%d %s\nwant %s", status, text, c.want)
			}
			if ok != (c.want == "") {
				t.Fatalf("opened: %v, want %q", ok, c.want)
			}
			lookUps, dialled, refused := w.seen()
			if c.asked != (len(lookUps) == 1) || len(lookUps) > 1 {
				t.Errorf("looked up: %q", lookUps)
			}
			if !ok && len(dialled) > 0 {
				t.Errorf("dialled: %q", dialled)
			}
			if ok {
				if line, err := cl.r.ReadString('\n'); err != nil || !slices.Contains(dialled, strings.TrimSpace(line)) {
					t.Errorf("%q, %v: dialled %q", line, err, dialled)
				}
			}
			if told := !ok && !strings.HasSuffix(c.want, "has no address"); told != (len(refused) == 1) {
				t.Errorf("told: %v", refused)
			}
			if r := p.Report(); len(r) != 1 || (r[0].Allowed == 1) != ok || r[0].Reason != c.want {
				t.Errorf("report: %+v", r)
			}
		})
	}
}

// What is public by the registry of special addresses, and what is not.
func TestPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"1.1.1.1": true, "93.184.216.34": true, "100.63.255.255": true, "100.128.0.1": true, "172.15.0.1": true, "172.32.0.1": true,
		"192.0.1.1": true, "198.17.0.1": true, "198.20.0.1": true, "223.255.255.254": true, "11.0.0.1": true,
		"0.0.0.0": false, "0.1.2.3": false, "10.255.255.255": false, "100.64.0.1": false, "100.127.255.255": false, "127.8.8.8": false,
		"168.63.129.16": false, "169.254.169.254": false, "172.16.0.1": false, "172.31.255.255": false, "192.0.0.192": false,
		"192.0.2.1": false, "192.88.99.1": false, "192.168.1.1": false, "198.18.0.1": false, "198.19.255.255": false,
		"198.51.100.1": false, "203.0.113.1": false, "224.0.0.1": false, "239.1.1.1": false, "240.0.0.1": false, "255.255.255.255": false,
		"2606:4700::1": true, "2a00:1450::1": true, "2001:4860::1": true, "2001:200::1": true,
		"::": false, "::1": false, "::7f00:1": false, "::ffff:127.0.0.1": false, "::ffff:1.1.1.1": true, "::ffff:0:7f00:1": false,
		"64:ff9b::101:101": true, "64:ff9b::7f00:1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b::a00:1": false, "64:ff9b:1::101:101": false,
		"100::1": false, "2001::1": false, "2001:0:53aa:64c::1": false, "2001:db8::1": false, "2002:101:101::1": true, "2002:7f00:1::1": false,
		"2002:a00:1::1": false, "2002:a9fe:a9fe::": false, "3fff::1": false, "4000::1": false, "5f00::1": false, "fc00::1": false, "fd00:ec2::254": false,
		"fe80::1": false, "fe80::1%lo": false, "fec0::1": false, "ff02::1": false, "2606:4700::1%lo": false,
	} {
		if got := public(netip.MustParseAddr(text)); got != want {
			t.Errorf("public(%s) = %v", text, got)
		}
	}
	if public(netip.Addr{}) {
		t.Error("no address is public")
	}
	if len(ownAddrs()) == 0 {
		t.Error("this machine has no addresses, not even 127.0.0.1")
	}
}

// Names whose reading differs between programs are refused, and nothing about
// them leaves the machine. TestDecisions has their twins.
func TestOddNames(t *testing.T) {
	w := newWorld(t)
	p, proxy := w.proxy(Options{Policy: NewPolicy(rules(t, "name.example:22", "127.0.0.1:22"), nil), Mode: Learn})
	for _, host := range []string{
		"name.example\x00.evil.example", "evil.example\x00.name.example", "name.example\n", "name.example\r\nX: y", " name.example", "name.example ",
		"user@name.example", "name.example@evil.example", "name%2eexample", "%6eame.example", "nàme.example", "name。example",
		"name.example..", ".name.example", "name..example", "", ".", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "127.0.0.1.",
		"127.000.000.001", "[127.0.0.1]", "name.example:22", "name.example/", "name.example#", "name.example?", "name.example\\", "*", "*.name.example",
		"fe80::1%lo", "::1%lo", strings.Repeat("a.", 127) + "a", strings.Repeat("a", 64),
	} {
		for _, target := range []string{host + ":22", "[" + host + "]:22"} {
			c := open(t, proxy)
			if status, text := c.say(t, "CONNECT "+target+" HTTP/1.1\r\n\r\n"); status != 400 || !strings.HasPrefix(text, "inner: a request ") {
				t.Errorf("CONNECT %q: %d %s", target, status, text)
			}
		}
		c := open(t, proxy)
		if status, text := c.say(t, "GET http://"+host+":22/ HTTP/1.1\r\n\r\n"); status != 400 && host != "name.example/" && host != "name.example?" && host != "name.example:22" {
			t.Errorf("GET %q: %d %s", host, status, text)
		}
	}
	lookUps, dialled, refused := w.seen()
	for _, name := range lookUps { // of "GET http://name.example/:22/", which is a path
		if name != "name.example" {
			t.Errorf("looked up: %q", name)
		}
	}
	if len(dialled) != 0 {
		t.Errorf("dialled: %q", dialled)
	}
	if len(refused) != 1 || refused[0].Kind != Malformed || refused[0].Target != (Target{}) {
		t.Errorf("told: %v", refused)
	}
	for _, r := range p.Report() {
		if strings.ContainsFunc(r.Reason+r.Host, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("report: %q", r.Reason+r.Host)
		}
	}
}

// An answer that would be another one the next time: there is no next time.
func TestOneLookUp(t *testing.T) {
	w := newWorld(t)
	w.serve("93.184.216.34:22", echo("good"))
	w.serve("127.0.0.1:22", echo("bad"))
	w.answers = func(_ string, n int) []string {
		if n%2 == 1 {
			return []string{"93.184.216.34"}
		}
		return []string{"127.0.0.1"}
	}
	_, proxy := w.proxy(Options{Policy: NewPolicy(rules(t, "name.example:22"), nil)})
	for i := range 6 {
		c, status, text := connectTo(t, proxy, "name.example:22")
		if want := []int{200, 403}[i%2]; status != want {
			t.Errorf("%d: %d %s, want %d", i, status, text, want)
		} else if status == 200 {
			if line, _ := c.r.ReadString('\n'); line != "good\n" {
				t.Errorf("%d: reached %q", i, line)
			}
		}
	}
	if lookUps, dialled, _ := w.seen(); len(lookUps) != 6 || slices.Contains(dialled, "127.0.0.1:22") {
		t.Errorf("looked up %q, dialled %q", lookUps, dialled)
	}
}

// Addresses that do not answer leave time for those that do.
func TestNextAddress(t *testing.T) {
	w := newWorld(t)
	w.names["name.example"] = []string{"1.1.1.1", "2606:4700::1", "93.184.216.34"}
	w.names["dead.example"] = []string{"1.1.1.1"}
	w.places["1.1.1.1:22"] = "silence"
	w.serve("93.184.216.34:22", echo("third"))
	quick := func(p *Proxy) { p.times.dial = 300 * time.Millisecond }
	_, proxy := w.proxy(Options{Policy: NewPolicy(rules(t, "name.example:22", "dead.example:22"), nil)}, quick)
	c, status, text := connectTo(t, proxy, "name.example:22")
	if line, _ := c.r.ReadString('\n'); status != 200 || line != "third\n" {
		t.Errorf("%d %s: %q", status, text, line)
	}
	if _, status, text := connectTo(t, proxy, "dead.example:22"); status != 504 || text != "inner: dead.example:22 does not answer" {
		t.Errorf("%d %s", status, text)
	}
	_, proxy = w.proxy(Options{Policy: NewPolicy(rules(t, "name.example:22"), nil)}, func(p *Proxy) {
		p.times.resolve = 50 * time.Millisecond
		p.resolve = func(ctx context.Context, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	})
	if _, status, text := connectTo(t, proxy, "name.example:22"); status != 502 || text != "inner: name.example was not looked up in time" {
		t.Errorf("%d %s", status, text)
	}
}

func TestAsk(t *testing.T) {
	w := newWorld(t)
	w.names["yes.example"], w.names["no.example"] = []string{"93.184.216.34"}, []string{"93.184.216.34"}
	w.names["private.example"] = []string{"10.0.0.5"}
	w.serve("93.184.216.34:22", echo("there"))
	var asked atomic.Int64
	release := make(chan struct{})
	_, proxy := w.proxy(Options{
		Policy: NewPolicy(rules(t, "listed.example:22"), rules(t, "denied.example")),
		Mode:   Ask,
		Ask: func(_ context.Context, to Target) Answer {
			asked.Add(1)
			<-release
			switch to.Host {
			case "no.example", "10.0.0.5":
				return No
			case "once.example":
				return Once
			}
			return Yes
		},
	})
	var wg sync.WaitGroup
	var yes atomic.Int64
	for range 20 {
		wg.Go(func() {
			if _, status, _ := connectTo(t, proxy, "yes.example:22"); status == 200 {
				yes.Add(1)
			}
		})
	}
	eventually(t, "a question", func() bool { return asked.Load() == 1 })
	if lookUps, _, _ := w.seen(); len(lookUps) > 0 {
		t.Errorf("looked up before the answer: %q", lookUps)
	}
	close(release)
	wg.Wait()
	if asked.Load() != 1 || yes.Load() != 20 {
		t.Errorf("%d questions, %d of 20 opened", asked.Load(), yes.Load())
	}
	for range 2 { // the answer is kept
		if _, status, text := connectTo(t, proxy, "no.example:22"); status != 403 || text != `inner: no.example:22 is not in network_allow of profile "x", and was not allowed when asked` {
			t.Errorf("%d %s", status, text)
		}
	}
	if asked.Load() != 2 {
		t.Errorf("%d questions", asked.Load())
	}
	for target, want := range map[string]string{ // nobody is asked about these
		"denied.example:22":  "refused by profile",
		"169.254.169.254:80": "which is not a public address, and that address is not in network_allow",
		"8.8.4.4:22":         "an address of this machine",
	} {
		if _, status, text := connectTo(t, proxy, target); status != 403 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", target, status, text)
		}
	}
	if asked.Load() != 2 {
		t.Errorf("%d questions", asked.Load())
	}
	for range 2 { // once is once
		connectTo(t, proxy, "once.example:22")
	}
	if asked.Load() != 4 {
		t.Errorf("%d questions", asked.Load())
	}
	// A yes is about the name: where it leads is still looked at.
	if _, status, text := connectTo(t, proxy, "private.example:22"); status != 403 || !strings.HasSuffix(text, "is at 10.0.0.5, which is not a public address, and was not allowed when asked") {
		t.Errorf("%d %s", status, text)
	}
}

// A name that was allowed and leads into a private network is asked about once more, by its
// address; what leads to this machine, or to a cloud's keys, is not.
func TestAskPrivate(t *testing.T) {
	w := newWorld(t)
	for name, at := range map[string]string{
		"once.example": "10.0.0.5", "no.example": "10.0.0.6", "self.example": "127.0.0.1", "keys.example": "169.254.169.254", "public.example": "93.184.216.34",
	} {
		w.names[name] = []string{at}
		w.serve(at+":22", echo("there"))
	}
	var mu sync.Mutex
	var asked []string
	_, proxy := w.proxy(Options{Mode: Ask, Ask: func(_ context.Context, to Target) Answer {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, to.String())
		if to.Host == "10.0.0.6" {
			return No
		}
		return Once
	}})
	for _, c := range []struct {
		target, asked string
		status        int
	}{
		{"once.example:22", "once.example:22 10.0.0.5:22", 200},
		{"no.example:22", "no.example:22 10.0.0.6:22", 403},
		{"self.example:22", "self.example:22", 403},
		{"keys.example:22", "keys.example:22", 403},
		{"public.example:22", "public.example:22", 200},
	} {
		asked = nil
		_, status, text := connectTo(t, proxy, c.target)
		mu.Lock()
		if got := strings.Join(asked, " "); status != c.status || got != c.asked {
			t.Errorf("%s: %d %s, asked %s", c.target, status, text, got)
		}
		mu.Unlock()
	}
}

// A person who does not answer holds nothing up but the request.
func TestAskNobody(t *testing.T) {
	w := newWorld(t)
	hang := make(chan struct{})
	defer close(hang)
	p, proxy := w.proxy(Options{Mode: Ask, Ask: func(context.Context, Target) Answer { <-hang; return Yes }})
	for i := range maxQuestions {
		fmt.Fprintf(open(t, proxy), "CONNECT h%d.example:22 HTTP/1.1\r\n\r\n", i)
	}
	open := func() int { p.asking.Lock(); defer p.asking.Unlock(); return p.questions }
	eventually(t, "questions", func() bool { return open() == maxQuestions })
	if _, status, text := connectTo(t, proxy, "more.example:22"); status != 403 || !strings.HasSuffix(text, "there are too many questions") {
		t.Errorf("%d %s", status, text)
	}
	p.Close() // does not wait for the person
	_, proxy = w.proxy(Options{Mode: Ask})
	if _, status, text := connectTo(t, proxy, "name.example:22"); status != 403 || !strings.HasSuffix(text, "there is nobody to ask") {
		t.Errorf("%d %s", status, text)
	}
}

func TestLearn(t *testing.T) {
	w := newWorld(t)
	w.names["name.example"], w.names["private.example"] = []string{"93.184.216.34"}, []string{"10.0.0.5"}
	w.serve("93.184.216.34:443", echo("there"))
	p, proxy := w.proxy(Options{Policy: NewPolicy(nil, rules(t, "denied.example")), Mode: Learn})
	for target, want := range map[string]int{
		"name.example:443": 200, "93.184.216.34:443": 200, "private.example:443": 403, "denied.example:443": 403, "127.0.0.1:443": 403,
	} {
		c, status, text := connectTo(t, proxy, target)
		if status != want {
			t.Errorf("%s: %d %s", target, status, text)
		}
		if status == 200 {
			io.WriteString(c, "hi\n")
			c.r.ReadString('\n')
			if line, err := c.r.ReadString('\n'); line != "hi\n" {
				t.Errorf("%s: %q %v", target, line, err)
			}
		}
	}
	p.Close() // every byte is counted then
	text, _ := json.Marshal(p.Report())
	want := `[{"host":"127.0.0.1","port":443,"allowed":0,"refused":1,"up":0,"down":0,"reason":"127.0.0.1:443 is at 127.0.0.1, which is not a public address, and that address is not in network_allow of profile \"x\""},` +
		`{"host":"93.184.216.34","port":443,"origin":"learn","allowed":1,"refused":0,"up":3,"down":9},` +
		`{"host":"denied.example","port":443,"allowed":0,"refused":1,"up":0,"down":0,"reason":"denied.example:443 is refused by profile \"x\" (!denied.example in network_allow)"},` +
		`{"host":"name.example","port":443,"origin":"learn","allowed":1,"refused":0,"up":3,"down":9,"plain":true},` +
		`{"host":"private.example","port":443,"allowed":0,"refused":1,"up":0,"down":0,"reason":"private.example:443 is at 10.0.0.5, which is not a public address"}]`
	if string(text) != want {
		t.Errorf("%s\nwant %s", text, want)
	}
}

// A program that asks for ever new names fills neither memory nor the person's
// terminal.
func TestTableIsBounded(t *testing.T) {
	var told atomic.Int64
	p := New(Options{Refused: func(Refusal) { told.Add(1) }})
	defer p.Close()
	for i := range 3 * maxHosts {
		_, _, f := p.connect(place{name: fmt.Sprintf("h%d.example", i), port: 80}, nil)
		p.told(Target{fmt.Sprintf("h%d.example", i), 80}, f)
	}
	if n := len(p.Report()); n != maxHosts+1 {
		t.Errorf("%d entries", n)
	}
	if told.Load() != maxHosts+1 {
		t.Errorf("told %d times", told.Load())
	}
}

// A proxy in the box that relays to this one gains nothing: what arrives here is
// a request like any other. Nor does an allowed proxy get past the address check.
func TestRelayedConnect(t *testing.T) {
	w := newWorld(t)
	w.names["name.example"] = []string{"93.184.216.34"}
	w.serve("93.184.216.34:22", echo("there"))
	_, proxy := w.proxy(Options{Policy: NewPolicy(rules(t, "name.example:22"), nil)})
	inBox := newWorld(t) // relays every connection as it is
	inBox.serve("relay", func(c net.Conn) {
		up, err := net.Dial("tcp", proxy)
		if err != nil {
			return
		}
		defer up.Close()
		go func() {
			io.Copy(up, c)
			up.Close()
		}()
		io.Copy(c, up)
	})
	relay := inBox.places["relay"]
	c, status, _ := connectTo(t, relay, "name.example:22")
	if line, _ := c.r.ReadString('\n'); status != 200 || line != "there\n" {
		t.Errorf("%d %q", status, line)
	}
	for _, target := range []string{"evil.example:22", "127.0.0.1:22", strings.Replace(proxy, "127.0.0.1", "[::ffff:127.0.0.1]", 1), proxy} {
		if _, status, text := connectTo(t, relay, target); status != 403 {
			t.Errorf("%s: %d %s", target, status, text)
		}
	}
}

// TestCure: what is refused for its address is told with the range that allows it, where one does.
func TestCure(t *testing.T) {
	for addr, want := range map[string]string{
		"10.0.0.5": "10.0.0.0/24", "::ffff:192.168.7.9": "192.168.7.0/24", "fd12:3::5": "fd12:3::/64", "100.64.1.2": "100.64.1.0/24", "64:ff9b::a00:5": "10.0.0.0/24",
		"127.0.0.1": "", "::1": "", "169.254.169.254": "", "fe80::1": "", "100.100.100.200": "", "10.9.9.9": "", "198.18.0.1": "", "0.0.0.0": "",
	} {
		w := newWorld(t)
		w.names["name.example"] = []string{addr}
		o := Options{Policy: NewPolicy(rules(t, "name.example:22"), nil)}
		_, proxy := w.proxy(o, func(p *Proxy) { p.own = func() []netip.Addr { return []netip.Addr{netip.MustParseAddr("10.9.9.9")} } })
		_, status, _ := connectTo(t, proxy, "name.example:22")
		w.mu.Lock()
		if status != 403 || len(w.refused) != 1 || w.refused[0].Range != want {
			t.Errorf("%s: %d, %v, want %q", addr, status, w.refused, want)
		}
		w.mu.Unlock()
		if want == "" {
			continue
		}
		allowing := NewPolicy(rules(t, "name.example:22", want), nil)
		g, _ := allowing.allowed("name.example", netip.Addr{}, 22)
		if kind, why := allowing.check("name.example", g, netip.MustParseAddr(addr), 22, nil); kind != "" {
			t.Errorf("%s with %s: %s", addr, want, why)
		}
	}
}
