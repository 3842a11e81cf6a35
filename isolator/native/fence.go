package native

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"net/textproto"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/fault"
)

// Fence is what keeps the network of the pod from the box: rules in the kernel of the node that
// are the pod's own (Rules), or the network policy of the cluster.
type Fence struct {
	Kind     Kind
	Egress   netip.AddrPort   // the way out, inner's own proxy; the zero value is none
	Canaries []netip.AddrPort // that must not be reached, besides the usual places
	Wait     time.Duration    // for the way out to answer
	Patience time.Duration    // for a policy to come into force
}

// Kind is what a fence is made of.
type Kind string

// The kinds of fences.
const (
	Rules  Kind = "nft"    // of nftables, made by a container before the box
	Policy Kind = "policy" // a NetworkPolicy; the first canary is alive while the way out is
)

// once is how long one try to reach something may take.
const once = 2 * time.Second

// Check tries out the fence: it returns nil when the way out answers and refuses what no profile
// lists, and when nothing else is reached. An error is a refusal, with what to do.
func (f Fence) Check(ctx context.Context) error {
	if f.Egress.IsValid() {
		if err := f.wayOut(ctx); err != nil {
			return fault.Refuse(125, "look at what the container egress says", "the way out of this box does not hold: %v", err)
		}
	}
	places := append(slices.Clone(f.Canaries), usual()...)
	if f.Kind == Rules {
		if !settled(ctx) {
			return fault.Refuse(125, "start it again", "an address of this pod is not usable yet, so that the fence cannot be tried out with it")
		}
		return rules(ctx, places)
	}
	return f.policy(ctx, places)
}

// rules checks that this machine itself refuses each packet, with EPERM. That no answer comes
// could have many reasons.
func rules(ctx context.Context, places []netip.AddrPort) error {
	const hint = "look at what the container fence says: its nft has to succeed"
	if p := reached(ctx, places); p.IsValid() {
		return fault.Refuse(125, hint, "the network of this pod is open: %s was reached", p)
	}
	refused := 0
	for _, p := range places {
		err := packet(p)
		switch {
		case errors.Is(err, unix.EPERM):
			refused++
		case !errors.Is(err, unix.ENETUNREACH) && !errors.Is(err, unix.EADDRNOTAVAIL): // it has no such network
			return fault.Refuse(125, hint, "the network of this pod is open: a packet to %s left it", p)
		}
	}
	if refused == 0 && !lonely() {
		return fault.Refuse(125, hint, "nothing shows that the network of this pod is closed: no packet was refused")
	}
	return nil
}

// policy waits until the canary cannot be reached. A cluster takes a while to enforce a policy for
// a new pod, and some never do.
func (f Fence) policy(ctx context.Context, places []netip.AddrPort) error {
	if !f.Egress.IsValid() || len(f.Canaries) == 0 {
		return fault.Refuse(125, "export it again", "a policy can only be tried out with a canary beside the way out")
	}
	for end := time.Now().Add(f.Patience); ; {
		p := reached(ctx, places)
		if !p.IsValid() { // a connection may also fail by chance
			if err := refusesUnlisted(ctx, f.Egress); err != nil {
				return fault.Refuse(125, "look at what the container egress says", "the way out of this box stopped answering while the fence was tried out: %v", err)
			}
			p = reached(ctx, places)
		}
		switch {
		case !p.IsValid():
			return nil
		case time.Now().After(end) || ctx.Err() != nil:
			return fault.Refuse(125, "install a network plugin that enforces NetworkPolicies, or export with --fence nft",
				"this cluster does not enforce the NetworkPolicy of this pod: %s was reached", p)
		}
		time.Sleep(time.Second / 4)
	}
}

// unlisted is a name that no profile can list: .invalid has no hosts (RFC 2606).
const unlisted = "fence-check.invalid:443"

// wayOut waits until the proxy answers and refuses hosts that are not on its list.
func (f Fence) wayOut(ctx context.Context) error {
	var last error
	for end := time.Now().Add(f.Wait); ; {
		if last = refusesUnlisted(ctx, f.Egress); last == nil || time.Now().After(end) || ctx.Err() != nil {
			return last
		}
		time.Sleep(time.Second / 5)
	}
}

// refusesUnlisted asks the proxy for a host that no list names. It returns nil when the proxy
// answers and refuses.
func refusesUnlisted(ctx context.Context, at netip.AddrPort) error {
	d := net.Dialer{Timeout: once}
	c, err := d.DialContext(ctx, "tcp", at.String())
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(once))
	if _, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", unlisted, unlisted); err != nil {
		return err
	}
	// The first line is all that counts here. Package net/http would be in every start of inner.
	line, err := textproto.NewReader(bufio.NewReader(io.LimitReader(c, 4096))).ReadLine()
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	version, status, _ := strings.Cut(line, " ")
	if !strings.HasPrefix(version, "HTTP/1.") || !strings.HasPrefix(status, "403 ") {
		return fmt.Errorf("%s answers %q to a host that is not listed", at, line)
	}
	return nil
}

// packet sends one to a place, and returns why it could not.
func packet(to netip.AddrPort) error {
	c, err := net.Dial("udp", to.String())
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte{0})
	return err
}

// reached tries all places at once, and returns one that was reached; the zero value when none
// was.
func reached(ctx context.Context, places []netip.AddrPort) netip.AddrPort {
	open := make([]bool, len(places))
	var all sync.WaitGroup
	for i, p := range places {
		all.Go(func() {
			d := net.Dialer{Timeout: once}
			if c, err := d.DialContext(ctx, "tcp", p.String()); err == nil {
				open[i] = true
				_ = c.Close()
			}
		})
	}
	all.Wait()
	if i := slices.Index(open, true); i >= 0 {
		return places[i]
	}
	return netip.AddrPort{}
}

// settled waits until packets can come from each address of the pod, and reports whether they can:
// the kernel does not use one of IPv6 before it has asked around whether somebody else has it.
func settled(ctx context.Context) bool {
	const tentative, failed = unix.IFA_F_TENTATIVE, unix.IFA_F_DADFAILED
	for end := time.Now().Add(5 * once); ; time.Sleep(time.Second / 20) {
		list, err := os.ReadFile("/proc/net/if_inet6")
		waiting := err != nil && !errors.Is(err, fs.ErrNotExist) // without IPv6 there is none
		for line := range strings.Lines(string(list)) {
			if f := strings.Fields(line); len(f) == 6 {
				flags, err := strconv.ParseUint(f[4], 16, 32)
				waiting = waiting || err != nil || flags&(tentative|failed) == tentative
			}
		}
		if !waiting || time.Now().After(end) || ctx.Err() != nil {
			return !waiting
		}
	}
}

// lonely reports whether there is no network but a loopback.
func lonely() bool {
	list, err := net.Interfaces()
	return err == nil && !slices.ContainsFunc(list, func(i net.Interface) bool { return i.Flags&net.FlagLoopback == 0 })
}

// usual returns the places that a program in a pod would try: where clouds give a machine its keys,
// the API server, the DNS servers and the node, addresses that are nobody's, which stand for
// everything beyond, and one of IPv6 on each link, which no route has to lead to.
func usual() []netip.AddrPort {
	texts := []string{"169.254.169.254:80", "[fd00:ec2::254]:80", "192.0.2.1:80", "[2001:db8::1]:80"}
	if host := os.Getenv("KUBERNETES_SERVICE_HOST"); host != "" {
		texts = append(texts, net.JoinHostPort(host, os.Getenv("KUBERNETES_SERVICE_PORT")))
	}
	var out []netip.AddrPort
	for _, t := range slices.Concat(texts, onLinks(), servers(), nodes()) {
		if p, err := netip.ParseAddrPort(t); err == nil && !p.Addr().IsLoopback() && !p.Addr().IsUnspecified() {
			out = append(out, p)
		}
	}
	return out
}

// onLinks is one address of IPv6 on each link.
func onLinks() (out []string) {
	links, _ := net.Interfaces()
	for _, i := range links {
		if i.Flags&net.FlagLoopback == 0 {
			out = append(out, "[fe80::1%"+i.Name+"]:80")
		}
	}
	return out
}

// servers are the DNS servers.
func servers() (out []string) {
	for _, f := range table("/etc/resolv.conf") {
		if len(f) > 1 && f[0] == "nameserver" {
			out = append(out, net.JoinHostPort(f[1], "53"))
		}
	}
	return out
}

// nodes is where the kubelet of a node listens that packets go through.
func nodes() (out []string) {
	for _, f := range table("/proc/net/route") {
		if len(f) > 2 && f[1] == "00000000" {
			out = append(out, net.JoinHostPort(gateway(f[2]), "10250"))
		}
	}
	return out
}

// table returns the fields of each line of a file; nothing of one that cannot be read.
func table(path string) (rows [][]string) {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		rows = append(rows, strings.Fields(line))
	}
	return rows
}

// gateway returns an address of /proc/net/route, whose bytes are in reverse, as text; "" for what
// is none.
func gateway(digits string) string {
	b, err := hex.DecodeString(digits)
	if err != nil || len(b) != 4 {
		return ""
	}
	slices.Reverse(b)
	return netip.AddrFrom4([4]byte(b)).String()
}
