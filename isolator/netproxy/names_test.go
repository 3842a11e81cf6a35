package netproxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// room is the network of a box: what listens there is on loopback in truth.
type room struct {
	t  *testing.T
	mu sync.Mutex
	at map[netip.AddrPort]net.Listener
	ns string // the resolver
}

// inRoom gives a proxy a box.
func inRoom(t *testing.T, p *Proxy) *room {
	r := &room{t: t, at: map[netip.AddrPort]net.Listener{}}
	if err := p.Names(r); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *room) Listen(at netip.AddrPort) (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at[at] = l
	return l, err
}

func (r *room) ListenPacket(netip.AddrPort) (net.PacketConn, error) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	r.ns = c.LocalAddr().String()
	return c, err
}

func (r *room) Local(list ...netip.Prefix) []error { return make([]error, len(list)) }

func (r *room) Redirect(netip.Prefix) (net.Listener, error) { return nil, errors.New("no such kernel") }

func (r *room) Meant(net.Conn) (at netip.AddrPort) { return at }

// ask asks for a name, and returns the code and what was found.
func (r *room) ask(name string, kind dnsmessage.Type) (code dnsmessage.RCode, found []string) {
	r.t.Helper()
	q := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name + "."), Type: kind, Class: dnsmessage.ClassINET}},
	}
	b, err := q.Pack()
	if err != nil {
		r.t.Fatal(err)
	}
	c, err := net.Dial("udp", r.ns)
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	c.Write(b)
	buf := make([]byte, 1500)
	n, err := c.Read(buf)
	if err != nil {
		r.t.Fatal(err)
	}
	var a dnsmessage.Message
	if err := a.Unpack(buf[:n]); err != nil || a.ID != 7 || !a.Response || len(a.Questions) != 1 {
		r.t.Fatalf("%v: %+v", err, a)
	}
	for _, rr := range a.Answers {
		switch body := rr.Body.(type) {
		case *dnsmessage.AResource:
			found = append(found, netip.AddrFrom4(body.A).String())
		case *dnsmessage.AAAAResource:
			found = append(found, netip.AddrFrom16(body.AAAA).String())
		case *dnsmessage.PTRResource:
			found = append(found, body.PTR.String())
		}
	}
	return a.RCode, found
}

// dial connects to an address of the box.
func (r *room) dial(at string) (*client, error) {
	r.mu.Lock()
	l := r.at[netip.MustParseAddrPort(at)]
	r.mu.Unlock()
	if l == nil {
		return nil, errors.New("nobody listens")
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, err
	}
	r.t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	return &client{c, bufio.NewReader(c)}, nil
}

func TestNames(t *testing.T) {
	w := newWorld(t)
	w.names["name.example"] = []string{"93.184.216.34"}
	w.names["down.example"] = []string{"93.184.216.35"}
	w.names["inside.example"] = []string{"10.0.0.5"}
	w.names["denied.example"] = []string{"93.184.216.34"}
	w.serve("93.184.216.34:22", echo("name"))
	w.serve("93.184.216.34:443", echo("web"))
	w.serve("192.0.2.7:5432", echo("listed"))
	p, _ := w.proxy(Options{Policy: NewPolicy(
		rules(t, "name.example", "name.example:22", "down.example:22", "inside.example", "gone.example", "*.wild.example", "192.0.2.7:5432"),
		rules(t, "denied.example"))})
	r := inRoom(t, p)
	for _, c := range []struct {
		name string
		kind dnsmessage.Type
		code dnsmessage.RCode
		want string
	}{
		{"name.example", dnsmessage.TypeA, 0, "198.19.0.0"},
		{"NAME.example", dnsmessage.TypeAAAA, 0, "fd69:6e6e:6572::1:0"},
		{"name.example", dnsmessage.TypeTXT, 0, ""},
		{"0.0.19.198.in-addr.arpa", dnsmessage.TypePTR, 0, "name.example."},
		{"0.0.0.0.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.2.7.5.6.e.6.e.6.9.6.d.f.ip6.arpa", dnsmessage.TypePTR, 0, "name.example."},
		{"1.0.19.198.in-addr.arpa", dnsmessage.TypePTR, dnsmessage.RCodeNameError, ""},
		{"gone.example", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"inside.example", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"other.example", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"other.example", dnsmessage.TypeAAAA, dnsmessage.RCodeNameError, ""},
		{"txt.example", dnsmessage.TypeTXT, dnsmessage.RCodeNameError, ""},
		{"denied.example", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"secret.of.box.wild.example", dnsmessage.TypeA, 0, "198.19.0.3"},
		{"name.example\x00.other.example", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"localhost", dnsmessage.TypeA, 0, "127.0.0.1"},
	} {
		if code, found := r.ask(c.name, c.kind); code != c.code || strings.Join(found, " ") != c.want {
			t.Errorf("%s %v: %v %q", c.name, c.kind, code, found)
		}
	}
	// Nothing but listed names was asked for outside: look-ups are no way out.
	lookUps, _, refused := w.seen()
	for _, name := range lookUps {
		if name != "name.example" && name != "gone.example" && name != "inside.example" {
			t.Errorf("asked outside: %s", name)
		}
	}
	told := ""
	for _, f := range refused {
		told += f.Reason + "\n"
	}
	for _, want := range []string{
		"other.example is not in network_allow of profile \"x\"\n", "denied.example is refused by profile \"x\"", "inside.example:443 is at 10.0.0.5, which is not a public address",
	} {
		if strings.Count(told, want) != 1 || strings.Contains(told, "txt.example") {
			t.Errorf("told:\n%s\nwant once: %s", told, want)
		}
	}
	// The connection that was made for the question, one to an address of the list, and a port that is refused outside.
	for at, want := range map[string]string{"198.19.0.0:22": "name", "[fd69:6e6e:6572::1:0]:22": "name", "192.0.2.7:5432": "listed"} {
		c, err := r.dial(at)
		if err != nil {
			t.Errorf("%s: %v", at, err)
			continue
		}
		if line, err := c.r.ReadString('\n'); line != want+"\n" {
			t.Errorf("%s: %q, %v", at, line, err)
		}
	}
	if code, found := r.ask("down.example", dnsmessage.TypeA); code != 0 || len(found) != 1 {
		t.Errorf("a server that is down: %v %q", code, found)
	} else if _, err := r.dial(found[0] + ":22"); err == nil {
		t.Error("a server that is down accepts")
	}
	// Who asks for another name behind an address.
	for at, c := range map[string]struct{ say, want string }{
		"198.19.0.0:443": {"GET / HTTP/1.1\r\n\r\n", ""},
		"198.19.0.0:80":  {"GET / HTTP/1.1\r\nHost: other.example\r\n\r\n", "HTTP/1.1 403 Forbidden"},
		"198.19.0.3:80":  {"GET http://name.example/ HTTP/1.1\r\n\r\n", "HTTP/1.1 403 Forbidden"},
	} {
		cl, err := r.dial(at)
		if err != nil {
			t.Fatal(at, err)
		}
		io.WriteString(cl, c.say)
		all, _ := io.ReadAll(cl.r)
		if line, _, _ := strings.Cut(string(all), "\r\n"); c.want != "" && line != c.want || strings.Contains(string(all), "GET") {
			t.Errorf("%s: %q", at, all)
		}
	}
}

// The name leads elsewhere when it is connected to: what counts is where it leads then.
func TestNamesRebound(t *testing.T) {
	w := newWorld(t)
	var moved bool
	w.answers = func(string, int) []string {
		if moved {
			return []string{"127.0.0.1"}
		}
		return []string{"93.184.216.34"}
	}
	p, _ := w.proxy(Options{Policy: NewPolicy(rules(t, "name.example"), nil)})
	r := inRoom(t, p)
	if code, _ := r.ask("name.example", dnsmessage.TypeA); code != 0 {
		t.Fatal(code)
	}
	w.mu.Lock()
	moved = true
	w.mu.Unlock()
	c, err := r.dial("198.19.0.0:443")
	if err == nil { // else it was reset before that was known here
		var b []byte
		if b, err = io.ReadAll(c.r); len(b) > 0 || err == nil {
			t.Errorf("%q, %v", b, err)
		}
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Error(err)
	}
	if _, dialled, _ := w.seen(); len(dialled) > 0 {
		t.Errorf("dialled %q", dialled)
	}
}

// A box that makes up names under a pattern takes no listed name its place.
func TestNamesExhausted(t *testing.T) {
	w := newWorld(t)
	w.names["name.example"] = []string{"93.184.216.34"}
	p, _ := w.proxy(Options{Policy: NewPolicy(rules(t, "name.example", "*.wild.example:22"), nil)})
	r := inRoom(t, p)
	n := p.names[0]
	for i := range maxMade {
		if _, code := n.lookUp(fmt.Sprintf("n%d.wild.example", i)); code != 0 {
			t.Fatal(i, code)
		}
	}
	// One that is connected to keeps its place; of the others the one that was used first has it no more.
	conns := func(i, count int) *name {
		n.mu.Lock()
		defer n.mu.Unlock()
		a := n.known[fmt.Sprintf("n%d.wild.example", i)]
		if a != nil {
			a.conns = count
		}
		return a
	}
	for i := range maxMade {
		conns(i, 1)
	}
	if code, _ := r.ask("more.wild.example", dnsmessage.TypeA); code != dnsmessage.RCodeServerFailure {
		t.Error(code)
	}
	conns(9, 0)
	old := conns(7, 0)
	r.mu.Lock()
	l := r.at[netip.AddrPortFrom(old.addrs[0], 22)]
	r.mu.Unlock()
	if code, found := r.ask("more.wild.example", dnsmessage.TypeA); code != 0 || len(found) != 1 || found[0] == old.addrs[0].String() {
		t.Error(code, found)
	}
	if conns(7, 0) != nil || conns(9, 0) == nil {
		t.Error("another one has gone")
	}
	eventually(t, "a listener that is closed", func() bool {
		c, err := net.Dial("tcp", l.Addr().String())
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	if code, found := r.ask("name.example", dnsmessage.TypeA); code != 0 || len(found) != 1 {
		t.Error(code, found)
	}
}

// Of a listed name all of whose ports are refused it is said what refuses it.
func TestNamesRefused(t *testing.T) {
	w := newWorld(t)
	p, _ := w.proxy(Options{Policy: NewPolicy(rules(t, "name.example"), rules(t, "name.example:443", "name.example:80"))})
	if code, _ := inRoom(t, p).ask("name.example", dnsmessage.TypeA); code != dnsmessage.RCodeNameError {
		t.Error(code)
	}
	if list := p.Report(); len(list) != 1 || !strings.Contains(list[0].Reason, "is refused by profile") {
		t.Error(list)
	}
}

// In ask mode each name has an address, and the connection waits for the person.
func TestNamesAsked(t *testing.T) {
	w := newWorld(t)
	w.names["name.example"] = []string{"93.184.216.34"}
	w.serve("93.184.216.34:5432", echo("asked"))
	asked := make(chan Target, 1)
	p, _ := w.proxy(Options{Mode: Ask, Ask: func(_ context.Context, to Target) Answer { asked <- to; return Yes }, Policy: NewPolicy(nil, rules(t, "denied.example"))})
	r := inRoom(t, p)
	if code, found := r.ask("name.example", dnsmessage.TypeAAAA); code != 0 || len(found) != 0 {
		t.Error(code, found)
	}
	if code, _ := r.ask("denied.example", dnsmessage.TypeA); code != dnsmessage.RCodeNameError {
		t.Error(code)
	}
	if lookUps, _, _ := w.seen(); len(lookUps) > 0 || len(asked) > 0 {
		t.Errorf("before the connection: %q, %d", lookUps, len(asked))
	}
	c, err := r.dial("198.19.0.0:5432")
	if err != nil {
		t.Fatal(err)
	}
	if line, err := c.r.ReadString('\n'); line != "asked\n" {
		t.Errorf("%q, %v", line, err)
	}
	if to := <-asked; to.String() != "name.example:5432" {
		t.Error(to)
	}
}

// What the list has meanwhile needs no answer: the question is taken back, and the connection leads on.
func TestAskedMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.names["name.example"] = []string{"93.184.216.34"}
	w.serve("93.184.216.34:22", echo("there"))
	policy, asked := NewPolicy(nil, nil), make(chan Target, 2)
	p, proxy := w.proxy(Options{Mode: Ask, Policy: policy, Ask: func(ctx context.Context, to Target) Answer {
		asked <- to
		<-ctx.Done()
		return No
	}})
	go func() {
		<-asked
		policy.Allow(rules(t, "other.example:22")...)
		p.Allowed()
		policy.Allow(rules(t, "name.example:22")...)
		p.Allowed()
	}()
	if _, status, text := connectTo(t, proxy, "name.example:22"); status != 200 {
		t.Errorf("%d %s", status, text)
	}
}

// A question about a folder ends with the program that asked.
func TestFolderAskedFor(t *testing.T) {
	w := newWorld(t)
	asked, over := make(chan string, 1), make(chan struct{})
	_, proxy := w.proxy(Options{Mode: Ask, Folder: func(ctx context.Context, path string) (string, error) {
		asked <- path
		<-ctx.Done()
		close(over)
		return "", ctx.Err()
	}})
	c := open(t, proxy)
	fmt.Fprint(c, "ASK %2Fa%20b HTTP/1.1\r\n\r\n")
	if path := <-asked; path != "/a b" {
		t.Error(path)
	}
	c.Close()
	<-over
}

// Whatever is sent to the resolver, it answers or does not.
func FuzzQuestion(f *testing.F) {
	f.Add([]byte("\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04name\x07example\x00\x00\x01\x00\x01"))
	f.Add([]byte("\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\xc0\x0c\x00\x01\x00\x01"))
	n := &names{p: New(Options{}), known: map[string]*name{}, reverse: map[string]string{}}
	f.Fuzz(func(t *testing.T, b []byte) {
		if a := n.answer(b); a != nil && (a[0] != b[0] || a[1] != b[1] || a[2]&0x80 == 0) {
			t.Errorf("%q: %q", b, a)
		}
	})
}
