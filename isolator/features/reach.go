package features

// What the box of a run may reach by name: network_allow with its groups, what
// capabilities need, and the servers that the user's own variables name.

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/hosts"
	"github.com/enr/inner/profile/registry"
)

// Reach is what a box may reach by name, and why.
type Reach struct {
	Allow, Deny []netproxy.Rule
	Ports       []profile.Port     // servers of this computer that the user's variables name
	Settings    []registry.Setting // of the package managers of the groups in network_allow
	Missing     []Missing          // of these groups
	Notes       []string           // for people: what else is to be known
	Warnings    []string
}

// Policy is that of a proxy.
func (r Reach) Policy() *netproxy.Policy { return netproxy.NewPolicy(r.Allow, r.Deny) }

// reachOf finds out what a box may reach.
func reachOf(run *Run) (r Reach, err error) {
	rc := run.Spec
	if !rc.Network.ByName() {
		return r, nil
	}
	cfg, err := run.GlobalConfig()
	if err != nil {
		return r, err
	}
	if r.Allow, err = rules(rc.NetworkAllow, "network_allow", cfg.Groups); err != nil {
		return r, err
	}
	if r.Deny, err = rules(rc.NetworkDeny, "network_deny", cfg.Groups); err != nil {
		return r, err
	}
	for _, c := range run.Agents {
		for _, text := range c.Hosts {
			e, err := hosts.Parse(text)
			if err != nil {
				return r, err
			}
			r.Allow = append(r.Allow, netproxy.Rule{Entry: e, Origin: "capability " + c.Name})
		}
		for _, name := range c.Endpoints {
			value, own := boxVariable(run, name)
			endpoint(&r, name, value, own)
		}
		for _, s := range c.Servers(run.origin()) {
			endpoint(&r, s.From, s.URL, true)
		}
	}
	for _, c := range rc.Credentials {
		for _, text := range c.Hosts {
			e, err := hosts.Parse(text)
			if err != nil {
				return r, err
			}
			rule := netproxy.Rule{Entry: e, Origin: "credential " + cmp.Or(c.Of, c.Name)}
			if !slices.ContainsFunc(r.Allow, func(o netproxy.Rule) bool { return o.String() == rule.String() }) {
				r.Allow = append(r.Allow, rule)
			}
		}
	}
	for _, s := range rc.Servers {
		endpoint(&r, "MCP server "+s.Name, s.URL, true)
	}
	for _, text := range rc.NetworkAllow {
		group, ok := strings.CutPrefix(text, "@")
		if !ok {
			continue
		}
		list := registry.Settings(group, run.Home, run.Getenv)
		r.Settings = append(r.Settings, list...)
		if m, any := lackOf(run, group, list, r.Policy(), cfg.Groups); any {
			r.Missing = append(r.Missing, m)
		}
	}
	ownPorts(run, &r)
	return r, nil
}

// rules reads a list of the profile; origin is its key, and own are the groups of the user's config.toml.
// A host of theirs may be in a private network, and takes no public one out of what is denied.
func rules(list []string, origin string, own map[string][]string) ([]netproxy.Rule, error) {
	var out []netproxy.Rule
	parse := hosts.ParseAllow
	if origin == "network_deny" {
		parse = hosts.Parse
	}
	for _, text := range list {
		e, err := parse(text)
		if err != nil {
			return nil, err
		}
		if e.Group == "" {
			out = append(out, netproxy.Rule{Entry: e, Origin: origin, Private: e.Loopback()})
			continue
		}
		members, public := registry.Hosts(e.Group, own), registry.Public(e.Group)
		if origin == "network_deny" {
			more := slices.DeleteFunc(slices.Clone(public), func(host string) bool { return slices.Contains(members, host) })
			members = slices.Concat(members, more)
		}
		for _, member := range members {
			e, err := hosts.Parse(member)
			if err != nil {
				return nil, err
			}
			private := origin == "network_allow" && !slices.Contains(public, e.String())
			out = append(out, netproxy.Rule{Entry: e, Origin: text, Private: private})
		}
	}
	return out, nil
}

// endpoint adds the server that a variable of the box, or a setting of an agent, names, where
// that is the user's own word: inherited, set by a profile of the user's or on the command
// line, or in the user's home. A project that sets it has to list the host, too.
func endpoint(r *Reach, name, value string, own bool) {
	if value == "" {
		return
	}
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s names no server that can be reached: it is not an address of http or https", name))
		return
	}
	if !own {
		r.Notes = append(r.Notes, name+" is set by the profile: its host has to be in network_allow")
		return
	}
	text := strings.TrimSuffix(u.Host, map[string]string{"http": ":80", "https": ":443"}[u.Scheme])
	e, err := hosts.Parse(text)
	// Link-local is where clouds give a machine its keys, and a variable may come
	// from a file of the project by way of the shell.
	if err != nil || e.Wild || e.Group != "" || e.Addr.IsLinkLocalUnicast() {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s names no server that can be reached: %q", name, text))
		return
	}
	r.Allow = append(r.Allow, netproxy.Rule{Entry: e, Origin: name, Private: !e.Addr.IsValid()})
}

// ownPorts takes out of the rules the servers of this computer that the user's own
// settings name. A program reaches its loopback without the proxy (NO_PROXY), so
// their ports are brought there. Those below 1024 cannot be: the proxy has them. For
// what network_allow names the profile has done that; the rule is for programs that
// ask the proxy all the same.
func ownPorts(run *Run, r *Reach) {
	r.Allow = slices.DeleteFunc(r.Allow, func(rule netproxy.Rule) bool {
		if rule.Origin == "network_allow" || !rule.Stated() || rule.Ports[0] < 1024 || !rule.Loopback() {
			return false
		}
		port := rule.Ports[0]
		if slices.ContainsFunc(r.Deny, func(d netproxy.Rule) bool { return d.Loopback() && (!d.Stated() || d.Ports[0] == port) }) {
			return false // the proxy refuses it
		}
		taken := func(p profile.Port) bool { return p.Box == port }
		if port != profile.ProxyPort && !slices.ContainsFunc(slices.Concat(run.Spec.HostPorts, run.Spec.Publish, r.Ports), taken) {
			r.Ports = append(r.Ports, profile.Port{Host: port, Box: port, File: rule.Origin})
			r.Notes = append(r.Notes, fmt.Sprintf("uses the service at port %d of this computer [%s]", port, rule.Origin))
		}
		return true
	})
}

// boxVariable is the value of a variable in the box, and whether it is the user's
// own word.
func boxVariable(run *Run, name string) (value string, own bool) {
	for _, kv := range run.Spec.Env.Set {
		if kv.Key != name {
			continue
		}
		if slices.ContainsFunc(run.Context.Overrides.Env, func(o profile.KV) bool { return o.Key == name }) {
			return kv.Value, true
		}
		for _, o := range run.Profile.Origins() {
			if o.Key == "env.set."+name {
				local := run.Spec.Scope == profile.Local || run.Spec.Scope == profile.Remote
				return kv.Value, !local || filepath.Dir(o.File) == run.ProfilesDir()
			}
		}
		return kv.Value, false
	}
	if run.Spec.Env.InheritAll || run.Spec.Env.Inherits(name) {
		return run.Getenv(name), true
	}
	return "", false
}

// learnReach finds out what the box may reach, before anything is made. A command to paste has no proxy,
// and what it would reach is told alone.
func learnReach(run *Run) error {
	r, err := reachOf(run)
	switch {
	case err != nil && run.Mode.Made():
		return err
	case err != nil:
		r = Reach{Notes: []string{err.Error()}}
	}
	if run.Mode == Pasted {
		r.Ports, r.Settings = nil, nil
	}
	run.Reach, run.Spec.HostPorts = r, append(slices.Clip(run.Spec.HostPorts), r.Ports...)
	return nil
}
