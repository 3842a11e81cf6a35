package netproxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/enr/inner/profile/hosts"
)

// patience is how long a test waits for what should take no time.
const patience = 2 * time.Minute

// world is an internet of its own: names, addresses, and what listens there, which
// is on loopback in truth.
type world struct {
	t       *testing.T
	mu      sync.Mutex
	names   map[string][]string               // name → addresses
	places  map[string]string                 // address:port → where it listens in truth
	lookUps []string                          // names that were looked up
	dialled []string                          // addresses that were dialled
	answers func(name string, n int) []string // instead of names
	refused []Refusal                         // what the owner was told
}

func newWorld(t *testing.T) *world {
	return &world{t: t, names: map[string][]string{}, places: map[string]string{}}
}

func (w *world) resolve(_ context.Context, name string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookUps = append(w.lookUps, name)
	texts := w.names[name]
	if w.answers != nil {
		texts = w.answers(name, len(w.lookUps))
	}
	if texts == nil {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	var list []netip.Addr
	for _, s := range texts {
		list = append(list, netip.MustParseAddr(s))
	}
	return list, nil
}

func (w *world) dialTo(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	w.dialled = append(w.dialled, to.String())
	real, ok := w.places[to.String()]
	w.mu.Unlock()
	if !ok {
		return nil, errors.New("nothing is at " + to.String())
	}
	if real == "silence" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", real)
}

func (w *world) seen() (lookUps, dialled []string, refused []Refusal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.lookUps), slices.Clone(w.dialled), slices.Clone(w.refused)
}

// serve has a server at an address of the world: what answer does with each
// connection.
func (w *world) serve(at string, answer func(net.Conn)) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	var wg sync.WaitGroup
	w.t.Cleanup(func() { l.Close(); wg.Wait() })
	w.mu.Lock()
	w.places[at] = l.Addr().String()
	w.mu.Unlock()
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(3 * patience))
				answer(c)
			})
		}
	})
}

// echo sends back what it gets, after its name.
func echo(name string) func(net.Conn) {
	return func(c net.Conn) {
		io.WriteString(c, name+"\n")
		io.Copy(c, c)
		c.(*net.TCPConn).CloseWrite()
	}
}

// page answers a request with what it was, body included.
func page(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s: %s %s host=%s body=%q %v", name, r.Method, r.RequestURI, r.Host, body, err)
		for _, k := range []string{"Connection", "Proxy-Authorization", "X-Kept"} {
			if v := r.Header.Values(k); len(v) > 0 {
				fmt.Fprintf(w, " %s=%s", k, strings.Join(v, "|"))
			}
		}
	}
}

// parseRule reads an entry, which may be a range. Of this computer any port will do here.
func parseRule(s string) (hosts.Entry, error) {
	if strings.Contains(s, "/") {
		return hosts.ParseAllow(s)
	}
	return hosts.Parse(s)
}

func rules(t testing.TB, texts ...string) []Rule {
	t.Helper()
	var list []Rule
	for _, s := range texts {
		private := strings.HasPrefix(s, "private ")
		e, err := parseRule(strings.TrimPrefix(s, "private "))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, Rule{Entry: e, Origin: "test " + e.String(), Private: private})
	}
	return list
}

// proxy starts a proxy for a world and returns its address.
func (w *world) proxy(o Options, change ...func(*Proxy)) (*Proxy, string) {
	w.t.Helper()
	o.Profile = "x"
	o.Refused = func(r Refusal) {
		w.mu.Lock()
		w.refused = append(w.refused, r)
		w.mu.Unlock()
	}
	p := New(o)
	p.resolve, p.dial = w.resolve, w.dialTo
	p.own = func() []netip.Addr {
		return []netip.Addr{netip.MustParseAddr("8.8.4.4"), netip.MustParseAddr("127.0.0.1")}
	}
	for _, c := range change {
		c(p)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- p.Serve(l) }()
	w.t.Cleanup(func() {
		p.Close()
		select {
		case err := <-done:
			if err != nil {
				w.t.Errorf("Serve: %v", err)
			}
		case <-time.After(patience):
			w.t.Error("Serve did not return after Close")
		}
	})
	return p, l.Addr().String()
}

// client is a program's connection to a proxy.
type client struct {
	net.Conn
	r *bufio.Reader
}

func open(t testing.TB, proxy string) *client {
	t.Helper()
	c, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	return &client{c, bufio.NewReader(c)}
}

// say sends a request and returns the status and the body of the answer; for a
// tunnel that was opened, the body is empty and the connection is it.
func (c *client) say(t testing.TB, request string) (int, string) {
	t.Helper()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	return c.answer(t, strings.Fields(request + " x")[0])
}

func (c *client) answer(t testing.TB, method string) (int, string) {
	t.Helper()
	resp, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		return 0, err.Error()
	}
	if resp.StatusCode == 200 && method == "CONNECT" {
		return 200, ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, string(body) + "!" + err.Error()
	}
	return resp.StatusCode, strings.TrimSuffix(string(body), "\n")
}

func connectTo(t testing.TB, proxy, target string) (*client, int, string) {
	t.Helper()
	c := open(t, proxy)
	status, text := c.say(t, "CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\n\r\n")
	return c, status, text
}

// eventually waits until f is true.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not in time: " + what)
		}
	}
}
