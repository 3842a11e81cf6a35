// Package netproxy is the way out of a box that may reach some hosts and no
// others: an HTTP proxy that decides by name, and for programs that know no proxy
// the names themselves, see Names.
//
// The box has a network of its own with nothing in it but a listener, and that
// socket is accepted from out here, where the host's network is: a socket stays
// in the namespace it was made in. So there is no relay, no port on the host, and
// nothing that a program in the box could go around.
//
// The order of a decision, which is the whole of its safety:
//
//  1. The host is read strictly (profile/hosts): what has two readings is refused.
//  2. What network_allow names with a ! is refused.
//  3. What network_allow does not name is refused, before any look-up: the name
//     of a refused host does not leave as a question to a DNS server.
//  4. The name is looked up, once.
//  5. Every address must be one of the public internet, of a range of network_allow,
//     or granted literally. One bad address refuses them all: which one a program
//     gets is chance.
//  6. Those very addresses are dialled, in their order. There is no second
//     look-up whose answer could be another.
//  7. If a tunnel to a name speaks TLS, the server name of its first hello must be that
//     name: else one name of a large front opens all that are behind it.
//
// TLS is not opened, so what is said to an allowed host is not known here, and an
// allowed host that forwards is a way on. Lists are never read again: what a
// Policy was made of holds until the proxy is closed, and only Policy.Allow adds to it.
package netproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Mode is what becomes of a target that no list names.
type Mode int

// The modes.
const (
	Allowlist Mode = iota // it is refused
	Ask                   // a person is asked
	Learn                 // it is allowed, and Report tells it
)

// Answer is what a person says when asked.
type Answer int

// The answers.
const (
	No   Answer = iota
	Once        // the requests that wait for the answer, and then ask again
	Yes
)

// Target is what a program asked for.
type Target struct {
	Host string `json:"host"` // a name as hosts.Name returns it, or an address
	Port uint16 `json:"port"` // 0 of a name that was only looked up
}

// String returns host:port, an IPv6 address in brackets, or without a port the host alone.
func (t Target) String() string {
	if t.Port == 0 {
		return t.Host
	}
	return net.JoinHostPort(t.Host, strconv.Itoa(int(t.Port)))
}

// Kind is the kind of reason for a refusal.
type Kind string

// The kinds. What is allowed and cannot be reached has none.
const (
	Malformed Kind = "malformed" // it could not be read; the target is empty
	Denied    Kind = "denied"    // a deny list names it
	Unlisted  Kind = "unlisted"  // no list names it, or the person said no
	Address   Kind = "address"   // it is, or was looked up as, an address of a private place
	TLS       Kind = "tls"       // the tunnel is not TLS, or TLS with another name
)

// Refusal is why a request is not served.
type Refusal struct {
	Target Target
	Kind   Kind
	Reason string // one line, printable, as the program was told
	Range  string // the entry of network_allow that allows an address of a listed name, or ""

	status string // of HTTP
	none   bool   // the name has no address
}

func (r *Refusal) Error() string { return r.Reason }

func refusal(k Kind, format string, args ...any) *Refusal {
	return &Refusal{Kind: k, status: "403 Forbidden", Reason: fmt.Sprintf(format, args...)}
}

// Options are how a proxy works. Only Policy is needed.
type Options struct {
	// Policy is what is allowed. Nil allows nothing.
	Policy *Policy
	// Loopback are names that the box has for its own loopback, in one family or both: Names leads them nowhere else.
	Loopback []string
	// Mode is what becomes of what Policy does not name.
	Mode Mode
	// Profile is the name of the profile, for the reasons of refusals.
	Profile string
	// Ask asks a person about a target, in mode Ask. It is called once for a target,
	// from a goroutine of its own, for several targets at once; the answer holds as
	// long as the proxy, but for Once. The context ends with the proxy.
	Ask func(context.Context, Target) Answer
	// Folder asks a person to let the box read a folder of the host, for a program that asks for that. It returns what
	// that is told, or why it cannot. The context ends with the program's connection. Nil says that nobody is asked.
	Folder func(ctx context.Context, path string) (string, error)
	// Refused is told of a refusal, once for each target and kind, before the
	// program is. It is called from many goroutines.
	Refused func(Refusal)
	// Cure is what a program is told besides the reason of a refusal, or "". It is called
	// from many goroutines; nil says nothing.
	Cure func(Refusal) string
	// Through returns what makes the connections to a name, to one of the addresses that it has; nil for most. It is
	// called from many goroutines.
	Through func(Target) func([]netip.Addr) (net.Conn, error)
	// Clear is told of each request in the clear that is passed on. It is called from many goroutines; nil for nobody.
	Clear func(to Target, head []byte)
}

// Host is what became of the requests to one target.
type Host struct {
	Host    string `json:"host"` // empty: requests whose target could not be read, or beyond the table's room
	Port    uint16 `json:"port"`
	Origin  string `json:"origin,omitempty"` // of the rule that allowed it
	Allowed int64  `json:"allowed"`          // requests that were connected
	Refused int64  `json:"refused"`
	Failed  int64  `json:"failed,omitempty"` // allowed, and no connection was had
	Up      int64  `json:"up"`               // bytes from the box
	Down    int64  `json:"down"`             // bytes to the box
	Plain   bool   `json:"plain,omitempty"`  // port 443 without TLS: an entry needs the port to allow it
	Reason  string `json:"reason,omitempty"` // of the last refusal or failure

	FirstRefused time.Time `json:"-"` // when the first one was refused; zero when none was
}

// Proxy is a running proxy.
type Proxy struct {
	o     Options
	times times

	// The network of the host. Tests have their own.
	own     func() []netip.Addr
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	dial    func(context.Context, netip.AddrPort) (net.Conn, error)

	slots chan struct{} // one for each connection

	ctx    context.Context
	cancel context.CancelFunc
	kept   sync.WaitGroup // what is in open, or was when Close began

	mu    sync.Mutex
	open  map[io.Closer]struct{} // listeners and connections; nil after Close
	hosts map[Target]*record
	names []*names

	asking    sync.Mutex
	questions int // that are open
	answers   map[Target]*answer
}

// times are how long things may take. Tests have shorter ones.
type times struct {
	head    time.Duration // the whole of a request's head
	resolve time.Duration
	dial    time.Duration // all addresses of a name
	hello   time.Duration // the rest of a TLS hello, from its first byte
	idle    time.Duration // a tunnel without a byte in either direction
	forward time.Duration // what Forward connects to
}

// An agent's stream of events may be silent for minutes, and a debugger's for
// longer. An hour without a byte is a connection that was forgotten.
var defaultTimes = times{
	head: 30 * time.Second, resolve: 10 * time.Second, dial: 30 * time.Second,
	hello: 10 * time.Second, idle: time.Hour, forward: 10 * time.Second,
}

// maxConns returns how many connections there may be at once. Each has two descriptors, of which others are left.
func maxConns() int {
	var limit syscall.Rlimit
	_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return max(128, min(10_000, int(min(limit.Cur, 1<<20))/2-1000))
}

// New returns a proxy that serves nothing yet.
func New(o Options) *Proxy {
	if o.Policy == nil {
		o.Policy = NewPolicy(nil, nil)
	}
	if o.Folder == nil {
		o.Folder = func(context.Context, string) (string, error) {
			return "", errors.New("nobody is asked for folders here")
		}
	}
	p := &Proxy{
		o: o, times: defaultTimes, own: ownAddrs, resolve: resolve, dial: dial,
		slots: make(chan struct{}, maxConns()),
		open:  map[io.Closer]struct{}{}, hosts: map[Target]*record{}, answers: map[Target]*answer{},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// resolve asks the host's resolver. A name with a dot is made absolute, so that no search domain
// is appended to it.
func resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if strings.Contains(host, ".") {
		host += "."
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

func dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", to.String())
}

// ownAddrs returns the addresses of the host's interfaces, which lead to it like
// 127.0.0.1. They are asked for at each decision: a laptop moves.
func ownAddrs() []netip.Addr {
	list, _ := net.InterfaceAddrs() // what cannot be listed cannot be compared with
	var addrs []netip.Addr
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			addrs = append(addrs, p.Addr().Unmap())
		}
	}
	return addrs
}

// Serve answers the connections of a listener until the proxy is closed, which
// is no error, or the listener fails. It closes the listener.
func (p *Proxy) Serve(l net.Listener) error {
	return p.accept(l, func(c net.Conn) { p.handle(c, place{}, nil) })
}

// Forward joins the connections of a listener to what dial connects to, and nothing is decided about them. It
// ends as Serve does. A connection that cannot be joined ends with an error for its program.
func (p *Proxy) Forward(l net.Listener, dial func(context.Context) (net.Conn, error)) error {
	return p.accept(l, func(c net.Conn) {
		ctx, cancel := context.WithTimeout(p.ctx, p.times.forward)
		defer cancel()
		s, err := dial(ctx)
		if err != nil {
			reset(c)
		} else if p.keep(s) {
			defer p.drop(s)
			t := &tunnel{p: p, client: c, server: s, rec: new(record)}
			t.join(1<<62, func(way) error { return nil })
		}
	})
}

// accept takes the connections of a listener. Those beyond maxConns wait until others have ended.
func (p *Proxy) accept(l net.Listener, handle func(net.Conn)) error {
	if !p.keep(l) {
		return nil
	}
	defer p.drop(l)
	for {
		c, err := l.Accept()
		switch {
		case err == nil && !p.keep(c), err != nil && p.ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil:
			// accept(2): out of descriptors or memory, or a connection that is gone already. The others wait in the
			// listener's queue.
			time.Sleep(20 * time.Millisecond)
			continue
		}
		p.slots <- struct{}{}
		go func() {
			handle(c)
			p.drop(c)
			<-p.slots
		}()
	}
}

// keep makes a listener or a connection one that Close ends and waits for, until it is dropped. After
// Close it is closed at once.
func (p *Proxy) keep(c io.Closer) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		c.Close()
		return false
	}
	p.open[c] = struct{}{}
	p.kept.Add(1)
	return true
}

// drop closes what keep took.
func (p *Proxy) drop(c io.Closer) {
	p.mu.Lock()
	delete(p.open, c)
	p.mu.Unlock()
	c.Close()
	p.kept.Done()
}

// Close ends every connection and Serve, and returns when nothing of them is
// left. Report still answers.
func (p *Proxy) Close() {
	p.cancel()
	p.mu.Lock()
	for c := range p.open {
		c.Close()
	}
	p.open = nil
	p.mu.Unlock()
	p.kept.Wait()
}
