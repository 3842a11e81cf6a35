package main

// The network of a run by name: what the profile lists becomes the policy of a
// proxy, once, before the program starts. The proxy lives in this process and
// accepts in the box (launch.Network), so nothing is left when either ends.

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/profile"
)

// maxTold is how many refused hosts of a run are told on stderr: a program can
// ask for ever new ones. The record has more of them.
const maxTold = 20

// network is what a run has of it besides the plan.
type network struct {
	j     *journey
	proxy *netproxy.Proxy // nil unless hosts are allowed by name
	ports *ports          // nil without ports of either kind
	asker *launch.Asker   // nil when nobody is asked

	mu        sync.Mutex
	refused   []netproxy.Refusal // the first maxTold: told, or to be told, in their order
	count     int                // of all refusals that the proxy told of
	granted   []netproxy.Target  // by the person, during the run
	questions int
	text      []byte   // of the profile's file, as we last knew it
	changed   bool     // it is another one now
	notes     []string // what is said about that at the end
}

// stageNetwork makes the proxy and opens the ports of this computer. Nothing of
// the box is there yet.
func stageNetwork(j *journey) error {
	rc := j.rc
	if rc.Network == profile.NetFull || !rc.Network.ByName() && len(rc.Publish)+len(rc.HostPorts) == 0 {
		return nil
	}
	n := &network{j: j}
	j.net = n
	if rc.Network.ByName() {
		o := netproxy.Options{Profile: rc.Name, Refused: n.refuse}
		if j.app.lesson != nil {
			o.Mode = netproxy.Learn
		}
		if rc.Network == profile.NetAsk {
			o.Mode = netproxy.Ask
			if j.prep.facts.Terminal {
				n.asker = new(launch.Asker)
				o.Ask = n.ask
			}
		}
		o.Policy = netproxy.NewPolicy(j.reach.allow, j.reach.deny)
		n.proxy = netproxy.New(o)
	}
	var err error
	if n.ports, err = openPorts(j); err != nil {
		return err
	}
	j.after = append(j.after, (*journey).tellNetwork)
	return nil
}

// board takes the network of the box, before the program starts.
func (n *network) board(box launch.Network) error {
	for i, l := range n.j.plan.Listen {
		for _, listener := range box.Listeners[i] {
			if l.HostPort == 0 {
				go func() { _ = n.proxy.Serve(listener) }() // it ends with the listener
			} else {
				go n.ports.serve(listener, n.ports.host(l.HostPort))
			}
		}
	}
	if n.ports != nil && box.Dial != nil {
		n.ports.publish(n.j.plan.Publish, box.Dial)
	}
	return nil
}

// close ends what is left of the network of a run. It is safe on nil.
func (n *network) close() {
	if n == nil {
		return
	}
	if n.proxy != nil {
		n.proxy.Close()
	}
	n.ports.close()
}

// refuse tells about a refusal, at once where the program does not have the
// terminal to itself.
func (n *network) refuse(r netproxy.Refusal) {
	n.mu.Lock()
	n.count++
	if n.count > maxTold { // nor is there an end to what would be remembered
		n.mu.Unlock()
		return
	}
	hint := n.remedy([]netproxy.Refusal{r})
	for _, old := range n.refused {
		if hint == n.remedy([]netproxy.Refusal{old}) {
			hint = ""
		}
	}
	n.refused = append(n.refused, r)
	n.mu.Unlock()
	if n.j.prep.facts.Terminal {
		return
	}
	n.j.app.say("refused: %s", r.Reason)
	if hint != "" {
		n.j.app.hint("%s", hint)
	}
}

// remedy says what to add so that refused hosts are allowed, or "".
func (n *network) remedy(refused []netproxy.Refusal) string {
	var entries []string
	for _, r := range refused {
		if e := strconv.Quote(entryOf(r.Target)); r.Kind == netproxy.Unlisted && !slices.Contains(entries, e) {
			entries = append(entries, e)
		}
	}
	if len(entries) == 0 {
		return ""
	}
	where := "the profile"
	if n.j.rc.Scope != profile.Remote {
		where = n.j.app.Short(n.j.rc.Path)
	}
	return fmt.Sprintf("network_allow = [%s] under [sandbox] of %s allows it", strings.Join(entries, ", "), where)
}

// entryOf is the entry of network_allow that allows a target.
func entryOf(t netproxy.Target) string {
	if strings.Contains(t.Host, ":") || t.Port != 443 && t.Port != 80 {
		return t.String()
	}
	return t.Host
}

// tellNetwork says at the end what was held back, and puts what the box asked
// for into the record and the audit log.
func (j *journey) tellNetwork() error {
	n := j.net
	for _, r := range n.ports.failures() {
		j.app.warn("%s", r)
	}
	if n.proxy == nil {
		return nil
	}
	n.proxy.Close()
	report := n.proxy.Report()
	counts := map[netproxy.Target]int64{}
	for _, h := range report {
		counts[netproxy.Target{Host: h.Host, Port: h.Port}] = h.Refused
		j.hosts = append(j.hosts, runlog.Host{
			Host: h.Host, Port: h.Port, Origin: h.Origin, Allowed: h.Allowed, Refused: h.Refused, Failed: h.Failed, Up: h.Up, Down: h.Down, Plain: h.Plain, Reason: h.Reason,
		})
		if h.Refused > 0 {
			j.events = append(j.events, runlog.Event{
				Type: runlog.EventHostRefused, Run: j.id(), Profile: j.rc.Name, Host: hostText(h.Host, h.Port), Count: int(h.Refused), Reason: h.Reason,
			})
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range n.granted {
		j.events = append(j.events, runlog.Event{Type: runlog.EventHostAllowed, Run: j.id(), Profile: j.rc.Name, Host: t.String(), Count: 1})
	}
	if j.prep.facts.Terminal {
		for _, r := range n.refused {
			j.app.say("refused: %s (%s)", r.Reason, times(counts[r.Target]))
		}
		if hint := n.remedy(n.refused); hint != "" {
			j.app.hint("%s", hint)
		}
	}
	for _, note := range n.notes {
		j.app.say("%s", note)
	}
	if n.changed && j.rc.Scope == profile.Local {
		j.app.hint("inner allow: the profile has changed, and the next run needs your word")
	}
	if more := n.count - maxTold; more > 0 {
		j.app.say("refused: %d more hosts", more)
		j.app.hint("inner log show %s", j.id())
	}
	return nil
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// hostText is a host for people; without one, what had none.
func hostText(host string, port uint16) string {
	if host == "" {
		return "others"
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// hostLine is what a record says of one host.
func hostLine(h runlog.Host) string {
	var parts []string
	for _, c := range []struct {
		n    int64
		what string
	}{{h.Allowed, "connected"}, {h.Refused, "refused"}, {h.Failed, "failed"}} {
		if c.n > 0 {
			parts = append(parts, c.what+" "+times(c.n))
		}
	}
	if h.Up+h.Down > 0 {
		parts = append(parts, fmt.Sprintf("%s out, %s in", bytesText(h.Up), bytesText(h.Down)))
	}
	if h.Reason != "" {
		parts = append(parts, h.Reason)
	}
	return hostText(h.Host, h.Port) + ": " + strings.Join(parts, ", ")
}

// networkSummary sums up the hosts of a run, the busiest first, or is "".
func networkSummary(list []runlog.Host) string {
	const most = 8
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(x, y runlog.Host) int { return cmp.Compare(y.Up+y.Down, x.Up+x.Down) })
	var reached, refused []string
	for _, h := range list {
		if h.Allowed > 0 {
			reached = append(reached, fmt.Sprintf("%s (%s out, %s in)", hostText(h.Host, h.Port), bytesText(h.Up), bytesText(h.Down)))
		}
		if h.Refused > 0 {
			refused = append(refused, fmt.Sprintf("%s (%d)", hostText(h.Host, h.Port), h.Refused))
		}
	}
	var parts []string
	for _, p := range []struct {
		what string
		list []string
	}{{"reached", reached}, {"refused", refused}} {
		if more := len(p.list) - most; more > 0 {
			p.list = append(p.list[:most], fmt.Sprintf("and %d more", more))
		}
		if len(p.list) > 0 {
			parts = append(parts, p.what+" "+strings.Join(p.list, ", "))
		}
	}
	return strings.Join(parts, "; ")
}
