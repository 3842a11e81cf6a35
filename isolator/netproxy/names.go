package netproxy

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// A program that knows no proxy asks for a name and connects to what it is told. In the box every name that may be
// reached has an address of its own, at which nobody is but a listener that is accepted out here: so the
// address says the name, and the rest is as for a request to the proxy, decision, look-up and first bytes included.
// What is asked for is never taken for what it leads to: the name is looked up again for each connection.

const (
	// maxMade is how many names there may be at once that no entry has in full: a box makes up as many as it likes, and
	// each has its listeners, four as a rule, for which maxConns leaves room. Those that an entry has need no limit.
	maxMade = 400
	// A name is looked up outside, and its servers are connected to, for the questions of so long. A connection
	// that was made waits for readyTime for the program's own.
	freshTime = 3 * time.Second
	readyTime = 2 * time.Second
	// earlyTime is how long an answer waits for a server.
	earlyTime = 1500 * time.Millisecond
)

// Resolver returns where names are asked for in a box.
func Resolver() netip.AddrPort { return netip.MustParseAddrPort("198.18.0.53:53") }

// range4 is for benchmarks (RFC 2544) and range6 nobody's (RFC 4193): what is asked for in a box is not on its way to
// either.
func range4() netip.Prefix { return netip.MustParsePrefix("198.18.0.0/15") }
func range6() netip.Prefix { return netip.MustParsePrefix("fd69:6e6e:6572::/64") }

// own4 and own6 are the addresses of names.
func own4() netip.Prefix { return netip.MustParsePrefix("198.19.0.0/16") }
func own6() netip.Prefix { return netip.MustParsePrefix("fd69:6e6e:6572::1:0/112") }

// Box is the network of a box, see launch.Running.
type Box interface {
	Listen(netip.AddrPort) (net.Listener, error)
	ListenPacket(netip.AddrPort) (net.PacketConn, error)
	Local(...netip.Prefix) []error
	Redirect(netip.Prefix) (net.Listener, error)
	Meant(net.Conn) netip.AddrPort
}

// names are those of one box.
type names struct {
	p     *Proxy
	box   Box
	six   bool          // names have addresses of IPv6
	most  int           // names that no entry has in full
	whole bool          // one listener is for all ports of all names
	slots chan struct{} // one for each question that is being answered

	mu      sync.Mutex
	known   map[string]*name
	reverse map[string]string // names by those of their addresses
	made    int               // of names that no entry has in full, and are not forgotten
	next    int               // the address that the next name has, if it is no other's
	ready   map[Target]net.Conn
	listed  map[place]bool
	last    string // the name that was refused last, and when: both families of it are asked for
	lastAt  time.Time
}

// name is one that was asked for.
type name struct {
	addrs []netip.Addr
	exact bool      // an entry has it in full
	used  time.Time // asked for or connected to; this and conns are guarded by that of names
	conns int       // that are served

	mu        sync.Mutex
	gone      bool      // it is forgotten
	until     time.Time // it needs no new look until then,
	ports     int       // while the list has that many of it
	code      dnsmessage.RCode
	listeners map[uint16][]net.Listener
}

// Names has the names of a box lead to what the policy allows, until the proxy is closed. It returns when they do.
func (p *Proxy) Names(box Box) error {
	n := &names{
		p: p, box: box, slots: make(chan struct{}, 256), most: min(maxMade, cap(p.slots)),
		known: map[string]*name{}, reverse: map[string]string{}, ready: map[Target]net.Conn{}, listed: map[place]bool{},
	}
	errs := box.Local(range4(), range6())
	if errs[0] != nil {
		return errs[0]
	}
	n.six = errs[1] == nil
	if p.o.Mode != Allowlist { // what no entry names is asked about, or learned
		n.whole = n.redirect(own4())
		n.six = n.six && n.whole && n.redirect(own6())
		if !n.whole { // each name has more listeners
			n.most /= 5
		}
	}
	packets, err := box.ListenPacket(Resolver())
	if err != nil {
		return err
	}
	go n.answerPackets(packets)
	n.addresses()
	p.mu.Lock()
	p.names = append(p.names, n)
	p.mu.Unlock()
	return nil
}

// Allowed follows what the policy has come to allow since Names. What a person is just being asked about needs
// no answer then.
func (p *Proxy) Allowed() {
	p.asking.Lock()
	for to, a := range p.answers {
		addr, _ := netip.ParseAddr(to.Host)
		if _, ok := p.o.Policy.allowed(to.Host, addr, to.Port); ok {
			a.settle()
		}
	}
	p.asking.Unlock()
	p.mu.Lock()
	list := slices.Clone(p.names)
	p.mu.Unlock()
	for _, n := range list {
		n.addresses()
	}
}

// addresses listens at those that the policy has.
func (n *names) addresses() {
	var more []place
	var ranges []netip.Prefix
	n.mu.Lock()
	for _, to := range n.p.o.Policy.addresses() {
		if !n.listed[to] {
			n.listed[to] = true
			more, ranges = append(more, to), append(ranges, netip.PrefixFrom(to.addr, to.addr.BitLen()))
		}
	}
	n.mu.Unlock()
	if len(more) == 0 {
		return
	}
	n.box.Local(ranges...) // where that fails, so does what follows
	for _, to := range more {
		n.listen(to, to.addr)
	}
}

// listen accepts what is made to a place, at an address of the box. A program of the box may have the port, at
// all of its addresses: then the place is that program.
func (n *names) listen(to place, at netip.Addr) net.Listener {
	l, err := n.box.Listen(netip.AddrPortFrom(at, to.port))
	if err != nil {
		n.p.told(to.target(), &Refusal{Reason: err.Error()})
		return nil
	}
	go func() {
		_ = n.p.accept(l, func(c net.Conn) { n.serve(c, to) })
	}()
	return l
}

// redirect has one listener for all addresses and ports of a range, where the kernel can.
func (n *names) redirect(to netip.Prefix) bool {
	l, err := n.box.Redirect(to)
	if err == nil {
		go func() { _ = n.p.accept(l, n.handle) }()
	}
	return err == nil
}

// handle answers a connection to any port of a name.
func (n *names) handle(c net.Conn) {
	at := n.box.Meant(c)
	n.mu.Lock()
	host := n.reverse[reverse(at.Addr())]
	n.mu.Unlock()
	if host == "" {
		reset(c)
		return
	}
	n.serve(c, place{name: host, port: at.Port()})
}

// serve answers a connection that was made to a place. A name is not forgotten meanwhile.
func (n *names) serve(c net.Conn, to place) {
	count := func(more int) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if a := n.known[to.name]; a != nil {
			a.used = time.Now()
			a.conns += more
		}
	}
	count(1)
	defer count(-1)
	n.p.handle(c, to, n)
}

// lookUp gives a name its addresses, at which there are listeners then.
func (n *names) lookUp(host string) ([]netip.Addr, dnsmessage.RCode) {
	policy := n.p.o.Policy
	ports, exact := policy.ports(host)
	closed := n.p.o.Mode == Allowlist
	if len(ports) == 0 && closed || policy.denied(host, netip.Addr{}, 0) != nil {
		n.refuse(host)
		return nil, dnsmessage.RCodeNameError
	}
	a := n.of(host, exact)
	if a == nil {
		return nil, dnsmessage.RCodeServerFailure
	}
	a.mu.Lock() // both families are asked for at once
	defer a.mu.Unlock()
	if a.gone {
		return nil, dnsmessage.RCodeServerFailure
	}
	if time.Now().Before(a.until) && a.ports == len(ports) {
		return a.found()
	}
	there := map[uint16]bool{}
	if !closed && !n.whole {
		for _, port := range usualPorts() {
			there[port] = true
		}
	}
	for _, port := range ports {
		there[port] = !exact // what only a pattern names is not asked for outside
	}
	a.code = dnsmessage.RCodeSuccess
	if exact {
		a.code = n.lookOutside(host, ports, there)
	}
	for port, yes := range there {
		switch open := a.listeners[port]; {
		case n.whole:
		case yes && open == nil:
			for _, at := range a.addrs {
				if l := n.listen(place{name: host, port: port}, at); l != nil {
					a.listeners[port] = append(a.listeners[port], l)
				}
			}
		case !yes: // the kernel refuses it, as the server would
			for _, l := range open {
				l.Close()
			}
			delete(a.listeners, port)
		}
	}
	a.until, a.ports = time.Now().Add(freshTime), len(ports)
	return a.found()
}

// found is what a question for it is answered.
func (a *name) found() ([]netip.Addr, dnsmessage.RCode) {
	if a.code != dnsmessage.RCodeSuccess {
		return nil, a.code
	}
	return a.addrs, a.code
}

// usualPorts are those at which a name is listened for that a person may allow, or that is learned, where not
// all can be.
func usualPorts() []uint16 {
	return []uint16{22, 80, 443, 1433, 3000, 3306, 5000, 5432, 5672, 6379, 8000, 8080, 8443, 9000, 9092, 9200, 9418, 27017, 50051}
}

// lookOutside notes at which ports a listed name is there: a name that does not exist outside does not exist
// in the box, and a server that refuses connections refuses them there. The kernel of the box accepts before it
// is known what becomes of a connection, so this is found out before. For a port that no entry names it is not.
func (n *names) lookOutside(host string, ports []uint16, there map[uint16]bool) dnsmessage.RCode {
	found, f := n.p.find(host)
	switch {
	case f != nil && f.none:
		return dnsmessage.RCodeNameError
	case f != nil:
		return dnsmessage.RCodeServerFailure
	}
	var wait sync.WaitGroup
	faults, where := make([]*Refusal, len(ports)), make([]bool, len(ports))
	for i, port := range ports {
		wait.Go(func() {
			to := place{name: host, port: port}
			g, f := n.p.decide(to)
			var addrs []netip.Addr
			if f == nil {
				addrs, f = n.p.judge(to, g, found)
			}
			if where[i] = f == nil; where[i] && g.stated && !n.whole {
				f = n.connect(to, addrs)
			}
			if faults[i] = f; f != nil {
				f.Target = to.target()
			}
		})
	}
	wait.Wait()
	code := dnsmessage.RCodeNameError // of a name that is nowhere where it may be
	for i, f := range faults {
		there[ports[i]] = f == nil || f.status == timedOut
		if where[i] {
			code = dnsmessage.RCodeSuccess
		}
		if f != nil && (where[i] || i == 0) { // that it is at a private address is told once
			n.p.told(f.Target, f)
		}
	}
	return code
}

// connect connects to a place ahead of the program that has asked for its name.
func (n *names) connect(to place, addrs []netip.Addr) *Refusal {
	t := to.target()
	c, f := n.p.reach(to, addrs, earlyTime)
	if f != nil {
		return f
	}
	if old := n.take(t); old != nil {
		old.Close()
	}
	n.mu.Lock()
	n.ready[t] = c
	n.mu.Unlock()
	time.AfterFunc(readyTime, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.ready[t] == c {
			delete(n.ready, t)
			c.Close()
		}
	})
	return nil
}

// take takes the connection that is ready for a target, or nil.
func (n *names) take(t Target) net.Conn {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.ready[t]
	delete(n.ready, t)
	return c
}

// of returns what is known of a name, which gets its addresses, or nil when there is no room for it.
func (n *names) of(host string, exact bool) *name {
	n.mu.Lock()
	defer n.mu.Unlock()
	a := n.known[host]
	if a != nil {
		a.used = time.Now()
		return a
	}
	if !exact {
		if n.made >= n.most && !n.forget() {
			return nil
		}
		n.made++
	}
	a = &name{listeners: map[uint16][]net.Listener{}, exact: exact, used: time.Now()}
	for taken := true; taken; n.next++ { // one that was another's is used again after all others
		a.addrs = []netip.Addr{netip.AddrFrom4([4]byte{198, 19, byte(n.next >> 8), byte(n.next)})}
		_, taken = n.reverse[reverse(a.addrs[0])]
	}
	if n.six {
		six := own6().Addr().As16()
		copy(six[14:], a.addrs[0].AsSlice()[2:])
		a.addrs = append(a.addrs, netip.AddrFrom16(six))
	}
	n.known[host] = a
	for _, at := range a.addrs {
		n.reverse[reverse(at)] = host
	}
	return a
}

// forget lets the name go that was not used for the longest time, of those that no entry has in full and to which there
// is no connection.
func (n *names) forget() bool {
	oldest := ""
	for host, a := range n.known {
		if !a.exact && a.conns == 0 && (oldest == "" || a.used.Before(n.known[oldest].used)) {
			oldest = host
		}
	}
	a := n.known[oldest]
	if a == nil {
		return false
	}
	delete(n.known, oldest)
	for _, at := range a.addrs {
		delete(n.reverse, reverse(at))
	}
	n.made--
	go func() { // a look at it may go on
		a.mu.Lock()
		defer a.mu.Unlock()
		a.gone = true
		for _, open := range a.listeners {
			for _, l := range open {
				l.Close()
			}
		}
	}()
	return true
}

// refuse tells of a name that is asked for and not listed. What is asked for is its port, which nobody knows:
// of one that is listed, with all its ports refused, the first says why.
func (n *names) refuse(host string) {
	n.mu.Lock()
	again := n.last == host && time.Since(n.lastAt) < time.Second
	n.last, n.lastAt = host, time.Now()
	n.mu.Unlock()
	if again {
		return
	}
	to := place{name: host}
	for _, r := range *n.p.o.Policy.allow.Load() {
		if to.port == 0 && r.Matches(host, netip.Addr{}) {
			to.port = r.Ports[0]
		}
	}
	if _, f := n.p.decide(to); f != nil {
		f.Target = to.target()
		n.p.told(f.Target, f)
	}
}
