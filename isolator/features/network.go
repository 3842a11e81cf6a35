package features

// The network of a run by name: what the profile lists becomes the policy of a
// proxy, once, before the program starts. The proxy lives in this process and
// accepts in the box (launch.Network), so nothing is left when either ends.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
	"github.com/enr/inner/profile/hosts"
)

// maxTold is how many refused hosts of a run are told on stderr: a program can
// ask for ever new ones. The record has more of them.
const maxTold = 20

// network finds out what the box may reach, gives it its proxy and its ports, and tells the programs
// in it what those outside are set to.
func network() Feature {
	n := &networkOf{told: map[netproxy.Target]int64{}}
	return Feature{
		Name: "network", Keys: []string{"sandbox.network", "sandbox.network_mode", "sandbox.network_allow", "sandbox.publish", "sandbox.host_ports"},
		Learn: learnReach,
		Make: func(run *Run) error {
			if err := tellReach(run); err != nil {
				return err
			}
			return n.make(run)
		},
		Start: func(run *Run, o *launch.Options) {
			if n.run == nil {
				return
			}
			o.Network = n.connect
			if run.Mode == Program { // checks have nobody to ask
				o.Ask = n.asker
			}
		},
		May: n.may, Grant: n.grant, Between: n.since, Finish: n.tell,
	}
}

// networkOf is what a run has of it besides the plan.
type networkOf struct {
	run    *Run
	proxy  *netproxy.Proxy // for hosts by name, and for ports of either kind
	policy *netproxy.Policy
	asker  *launch.Asker // nil when nobody is asked

	opened []net.Listener                                                  // for Spec.Publish, in its order
	dial   atomic.Pointer[func(context.Context, uint16) (net.Conn, error)] // into the box

	told map[netproxy.Target]int64 // of each host, the refusals that a call was told of

	mu        sync.Mutex
	refused   []netproxy.Refusal // the first maxTold: told, or to be told, in their order
	count     int                // of all refusals that the proxy told of
	granted   []runlog.Event     // what the person allowed during the run
	questions int
	box       launch.Running
	ungiven   []error  // why folders could not be given that the person allowed
	silent    []uint16 // ports of this computer at which nothing listened
	text      []byte   // of the profile's file, once it is another one than the run began with
	lasting   []string // entries that the person allowed for good
}

// make makes the proxy and opens the ports of this computer. Nothing of
// the box is there yet.
func (n *networkOf) make(run *Run) error {
	rc := run.Spec
	if !run.Mode.Made() || rc.Network == profile.NetFull || !rc.Network.ByName() &&
		len(rc.Publish)+len(rc.HostPorts) == 0 {
		return nil
	}
	n.run = run
	n.policy = run.Reach.Policy()
	o := netproxy.Options{
		Profile: rc.Name,
		Refused: n.refuse,
		Policy:  n.policy,
		Through: run.throughLogins,
		Clear:   run.clearLogins,
	}
	_, o.Loopback, _ = loopbackNames()
	o.Cure = func(r netproxy.Refusal) string { return profile.Outside(n.remedy(r)) }
	switch {
	case rc.Network == profile.NetAsk:
		o.Mode = netproxy.Ask
		o.Folder = n.askFolder
		if run.Facts.Terminal {
			n.asker = new(launch.Asker)
			o.Ask = n.ask
		}
	case run.Observe.learning():
		o.Mode = netproxy.Learn
	}
	n.proxy = netproxy.New(o)
	run.Undo(n.proxy.Close)
	return n.openPorts()
}

// connect takes the network of the box, before the program starts.
func (n *networkOf) connect(box launch.Network) error {
	n.box = box.Box
	for i, l := range n.run.Plan.Listen {
		for _, listener := range box.Listeners[i] {
			go func() { // it ends with the listener
				if l.HostPort == 0 {
					_ = n.proxy.Serve(listener)
				} else {
					_ = n.proxy.Forward(listener, n.toHost(l.HostPort))
				}
			}()
		}
	}
	if box.Dial != nil {
		n.publish(box.Dial)
	}
	if names(n.run) {
		err := n.proxy.Names(box.Box)
		// A box that is gone says why itself.
		if err != nil && !errors.Is(err, net.ErrClosed) {
			n.run.Warn("programs that know no proxy reach nothing: %v", err)
		}
	}
	return nil
}

// more are the rules for hosts that a preview has more.
func (n *networkOf) more(before, next *Run) []netproxy.Rule {
	return slices.DeleteFunc(slices.Clone(next.Reach.Allow), func(rule netproxy.Rule) bool {
		return slices.ContainsFunc(before.Reach.Allow,
			func(old netproxy.Rule) bool { return old.String() == rule.String() && old.Origin == rule.Origin })
	})
}

// may says why a box that runs cannot get the hosts that its profile has more. Exceptions hold, as at a start: one
// host of several that can be reached is enough.
func (n *networkOf) may(before, next *Run) error {
	if n.run == nil || next.Spec.Network != n.run.Spec.Network {
		return NewRun("the sandbox began without a network for that")
	}
	for _, rule := range next.Reach.Deny { // of a profile that it extends, or a group
		if !slices.ContainsFunc(n.run.Reach.Deny, func(old netproxy.Rule) bool { return old.String() == rule.String() }) {
			return NewRun("its profile refuses more hosts than when it began")
		}
	}
	open := func(rule netproxy.Rule) bool {
		return len(rule.Ports) == 0 || slices.ContainsFunc(rule.Ports, func(port uint16) bool {
			_, denied := n.policy.Listed(rule.Host, rule.Addr, port)
			return denied == nil
		})
	}
	if more := n.more(before, next); len(more) > 0 && !slices.ContainsFunc(more, open) {
		return errors.New("network_allow of its profile refuses it")
	}
	return nil
}

// grant gives a box that runs the hosts and ports that its profile has more. One at a time.
func (n *networkOf) grant(before, next *Run, to launch.Running) (words string, err error) {
	n.policy.Allow(n.more(before, next)...)
	n.proxy.Allowed()
	for _, port := range next.Spec.HostPorts {
		if slices.ContainsFunc(before.Spec.HostPorts, func(old profile.Port) bool { return old.Box == port.Box }) {
			continue
		}
		list, err := to.Loopback(port.Box)
		if err != nil {
			return "", fmt.Errorf("port %d of the sandbox: %w", port.Box, err)
		}
		for _, l := range list {
			go func() { _ = n.proxy.Forward(l, n.toHost(port.Host)) }()
		}
	}
	return "", nil
}

// NewRun says that a box that runs cannot be given something.
func NewRun(why string) error { return fmt.Errorf("needs a new run: %s", why) }

// refuse tells about a refusal, at once where the program does not have the
// terminal to itself.
func (n *networkOf) refuse(r netproxy.Refusal) {
	// The record and the audit log have it like any other.
	if r.Kind == netproxy.Unlisted && slices.ContainsFunc(n.run.Agents,
		func(c capability.Capability) bool { return slices.Contains(c.Telemetry, r.Target.Host) }) {
		return
	}
	n.mu.Lock()
	n.count++
	if n.count > maxTold { // nor is there an end to what would be remembered
		n.mu.Unlock()
		return
	}
	hint := n.remedy(r)
	said := slices.ContainsFunc(n.refused, func(old netproxy.Refusal) bool { return hint == n.remedy(old) })
	n.refused = append(n.refused, r)
	n.mu.Unlock()
	if n.run.Facts.Terminal {
		return
	}
	n.run.Say("refused: %s", r.Reason)
	if hint != "" && !said {
		n.run.Hint("%s", hint)
	}
}

// remedy is what to type so that refused hosts are allowed, or "".
func (n *networkOf) remedy(refused ...netproxy.Refusal) string {
	var grants, fixes []string
	for _, r := range refused {
		grant := "host:" + r.Range
		fix := n.run.Reach.lacks(r.Target)
		switch local := LocalPort(r.Target); {
		case r.Range != "":
		case r.Kind == netproxy.Unlisted && fix != "":
			if !slices.Contains(fixes, fix) {
				fixes = append(fixes, fix)
			}
			continue
		case r.Kind != netproxy.Unlisted:
			continue
		case local != "" && (r.Target.Port < 1024 || !n.run.Spec.Network.ByName()): // which network_allow cannot name
			grant = "port:" + local
		case local == "" && !netproxy.Offered(r.Target.Host): // the program chose it
			continue
		default:
			grant = "host:" + EntryOf(r.Target)
		}
		if !slices.Contains(grants, grant) {
			grants = append(grants, grant)
		}
	}
	if len(grants) > 0 {
		fixes = append(fixes, n.run.Profile.Wider(grants...))
	}
	return strings.Join(fixes, "; ")
}

// LocalPort is the entry of host_ports that brings a target of this computer's loopback into a box, or
// "" for any other target.
func LocalPort(t netproxy.Target) string {
	addr, _ := netip.ParseAddr(t.Host)
	if !hosts.Loopback(t.Host, addr) {
		return ""
	}
	return profile.BoxPort(t.Port).String()
}

// EntryOf is the entry of network_allow that allows a target.
func EntryOf(t netproxy.Target) string {
	if !strings.Contains(t.Host, ":") && (t.Port == 443 || t.Port == 80) {
		t.Port = 0
	}
	return t.String()
}

// since says which hosts were refused since the last call has ended.
func (n *networkOf) since(_ *Run, o *Outcome) error {
	if n.run == nil {
		return nil
	}
	for _, h := range n.news() {
		if h.Refused > 0 {
			n.note(o, runlog.Host{Host: h.Host, Port: h.Port, Refused: h.Refused, Reason: h.Reason})
		}
	}
	return nil
}

// news are what became of hosts, with the refusals since they were asked for before.
func (n *networkOf) news() []runlog.Host {
	list := n.proxy.Report()
	for i, h := range list {
		to := netproxy.Target{Host: h.Host, Port: h.Port}
		list[i].Refused -= n.told[to]
		n.told[to] = h.Refused
	}
	return list
}

// note puts what became of a host into the record, and into the audit log when it was refused.
func (n *networkOf) note(o *Outcome, h runlog.Host) {
	o.Hosts = append(o.Hosts, h)
	if h.Refused > 0 {
		o.Events = append(o.Events, runlog.Event{
			Type:    runlog.EventHostRefused,
			Run:     n.run.ID(),
			Profile: n.run.Spec.Name,
			Host:    runlog.HostText(h.Host, h.Port),
			Count:   int(h.Refused),
			Reason:  h.Reason,
			At:      h.FirstRefused,
		})
	}
}

// ownLoopback tells of connections that the program made itself to ports of its loopback, where this
// computer has a service and the box has none.
func (n *networkOf) ownLoopback(o *Outcome, counts map[netproxy.Target]int64) {
	key := "network_allow"
	if !n.run.Spec.Network.ByName() {
		key = "host_ports"
	}
	for _, port := range slices.Sorted(maps.Keys(o.Refused)) {
		if slices.ContainsFunc(n.run.Spec.Publish, func(p profile.Port) bool { return p.Box == port }) {
			continue
		}
		to := netproxy.Target{Host: "127.0.0.1", Port: port}
		reason := fmt.Sprintf("%s is not in %s of profile %q", to, key, n.run.Spec.Name)
		counts[to] = int64(o.Refused[port])
		n.refuse(netproxy.Refusal{Target: to, Kind: netproxy.Unlisted, Reason: reason})
		n.note(o, runlog.Host{Host: to.Host, Port: to.Port, Refused: counts[to], Reason: reason})
	}
}

// tell says at the end what was held back, and puts what the box asked
// for into the record and the audit log.
func (n *networkOf) tell(run *Run, o *Outcome) error {
	if n.run == nil {
		return nil
	}
	counts := map[netproxy.Target]int64{}
	n.ownLoopback(o, counts)
	n.proxy.Close()
	for _, h := range n.news() {
		counts[netproxy.Target{Host: h.Host, Port: h.Port}] = h.Refused
		n.note(o, h)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, port := range n.silent {
		run.Warn("nothing listens on port %d of this computer (sandbox.host_ports)", port)
	}
	for _, err := range n.ungiven {
		run.Warn("%v", err)
	}
	o.Events = append(o.Events, n.granted...)
	if run.Facts.Terminal {
		for _, r := range n.refused {
			run.Say("refused: %s (%s)", r.Reason, runlog.Times(counts[r.Target]))
		}
		if hint := n.remedy(n.refused...); hint != "" {
			run.Hint("%s", hint)
		}
	}
	n.keep()
	if n.text != nil && run.Spec.Scope == profile.Local {
		run.Hint("inner allow, before the next run: the profile has changed")
	}
	if more := n.count - maxTold; more > 0 {
		run.Say("refused: %d more hosts", more)
		run.Hint("inner log show %s", run.ID())
	}
	return nil
}
