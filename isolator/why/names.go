package why

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/hosts"
)

// at returns where the first of the keys that is set was set.
func (t *Table) at(keys ...string) string {
	for _, key := range keys {
		if at := t.written(key, nil); at != "" {
			return at
		}
	}
	return "the default"
}

// Host answers for NAME or NAME:PORT, without a port for 443, and for what network_allow has of many hosts: a
// pattern, a group, a range. The error is one line about what is none of these.
func (t *Table) Host(asked string) (Answer, error) {
	a := Answer{
		Asked: "host:" + asked, Real: asked, Access: Outside,
		Key:  "sandbox.network_mode",
		From: t.at("sandbox.network_mode", "sandbox.network"),
	}
	e, wrong := hosts.ParseAllow(asked)
	many := wrong == nil && (e.Wild || e.Group != "" || e.Range.IsValid())
	name, addr, port, err := target(asked)
	if err != nil && !many {
		return a, cmp.Or(wrong, err)
	}
	switch {
	case t.Box.Spec.Network == profile.NetFull:
		a.Access, a.How, a.Box = ReadWrite, "the host's network, all of it", asked
		return a, nil
	case many:
		at := t.written("sandbox.network_allow", is(e.String()))
		if a.How = "not listed"; at != "" {
			a.Access, a.Box = ReadWrite, asked
			a.How = "listed; what a single host gets is asked for by its name"
			a.Key, a.From = "sandbox.network_allow", at
			return a, nil
		}
		a.propose(t.Hosts(asked)...)
		return a, nil
	case hosts.Loopback(name, addr) || addr.IsUnspecified():
		t.localPort(&a, name, addr, port)
		if _, number, _ := hosts.Split(asked); number == "" { // which one, a person says
			a.Lines = nil
		}
		return a, nil
	case t.Box.Spec.Network == profile.NetOff:
		a.How = "no network"
		a.propose(t.Hosts(asked)...)
		return a, nil
	}
	t.listedHost(&a, name, addr, port)
	return a, nil
}

// target reads NAME or NAME:PORT.
func target(asked string) (name string, addr netip.Addr, port uint16, err error) {
	text, number, err := hosts.Split(asked)
	if err != nil {
		return "", addr, 0, err
	}
	port = 443
	if number != "" {
		if port, err = hosts.Port(number); err != nil {
			return "", addr, 0, err
		}
	}
	name, addr, err = hosts.Host(text)
	return name, addr, port, err
}

// localPort fills in the answer about a port of this computer's loopback.
func (t *Table) localPort(a *Answer, name string, addr netip.Addr, port uint16) {
	a.Key, a.From = "sandbox.host_ports", t.at("sandbox.host_ports")
	if allow, _ := t.policy().Listed(name, addr, port); allow != nil {
		a.Key, a.From = "sandbox.network_allow", t.listed(*allow)
	}
	i := slices.IndexFunc(t.Box.Spec.HostPorts, func(p profile.Port) bool { return p.Host == port })
	if i < 0 {
		a.How = "a box has a loopback of its own (publish is for ports of the box)"
		a.propose(Port(profile.BoxPort(port).String())...)
		return
	}
	a.Access, a.Box, a.How = ReadWrite, fmt.Sprintf("127.0.0.1:%d", t.Box.Spec.HostPorts[i].Box), "a port of this computer that the box has"
}

// listedHost fills in the answer about a host where the lists of the profile decide.
func (t *Table) listedHost(a *Answer, name string, addr netip.Addr, port uint16) {
	asked := a.Real
	allow, deny := t.policy().Listed(name, addr, port)
	if deny != nil || allow != nil {
		a.Key = "sandbox.network_allow"
	}
	switch {
	case deny != nil:
		a.How = deny.String() + " is refused"
		refused := is("!" + deny.String())
		a.From = cmp.Or(written(t.Box.Spec.Organisation, a.Key, refused), t.written(a.Key, refused), "the default")
		if !strings.HasPrefix(a.From, profile.OrganisationFile) { // what that takes, nothing of the user's gives
			a.Widen = "network_allow without " + strconv.Quote("!"+deny.String())
		}
		a.Refused = true
	case allow != nil:
		a.Access, a.Box, a.How = ReadWrite, asked, allow.String()+" is allowed, by name"+t.putIn(name, port)
		if host.Privileged(t.Box.Facts.Bwrap) {
			a.How += "; only for programs that ask the proxy, as bwrap is set-user-id"
		}
		a.From = t.listed(*allow)
		if name != "" {
			t.resolved(a, name, port)
		}
	case t.Box.Spec.Network == profile.NetAsk:
		a.How = "you are asked, at a terminal"
		a.propose(t.Hosts(asked)...)
	default:
		a.Key, a.From = "sandbox.network_allow", t.at("sandbox.network_allow", "sandbox.network_mode")
		a.How = "not listed"
		if addr.IsValid() || slices.ContainsFunc(t.Box.Reach.Allow, func(r netproxy.Rule) bool { return r.Matches(name, addr) }) {
			a.How += "; a program that asks no proxy is refused by the kernel, and no record has that"
		}
		a.propose(t.Hosts(asked)...)
	}
}

// resolved corrects the answer about a listed host that a run would refuse for its addresses.
func (t *Table) resolved(a *Answer, name string, port uint16) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	why, around := t.policy().Refuses(ctx, name, port)
	if why == "" {
		return
	}
	a.Access, a.Box, a.How = Outside, "", why
	if around != "" {
		a.propose(t.Hosts(around)...)
	}
}

func (t *Table) policy() *netproxy.Policy {
	return netproxy.NewPolicy(t.Box.Reach.Allow, t.Box.Reach.Deny)
}

// Env answers for a variable, never with its value.
func (t *Table) Env(name string) Answer {
	a := Answer{Asked: "env:" + name, Real: name, Access: Outside, How: "it does not pass", Key: "env.inherit", From: t.at("env.inherit"), Widen: "inherit = [" + strconv.Quote(name) + "] under [env]"}
	value, there := t.variable(name)
	switch {
	case t.placeholder(&a):
	case there:
		a.Access, a.Box, a.Widen = ReadOnly, name, ""
		a.How, a.Key, a.From = t.setBy(name, value)
	default:
		t.withheld(&a, name)
	}
	return a
}

// setBy says why a variable of the box has its value, by which key, and where that was written.
func (t *Table) setBy(name, value string) (how, key, from string) {
	const always = "every box has it"
	mine, inherited := t.Box.Facts.Env[name]
	switch {
	case slices.ContainsFunc(t.Box.Spec.Env.Set, func(kv profile.KV) bool { return kv.Key == name }):
		return "the profile sets it", "env.set", cmp.Or(t.written("env.set."+name, nil), "--env")
	case slices.ContainsFunc(t.Box.Spec.Servers, func(s profile.MCPServer) bool { return slices.Contains(s.Vars, name) }) && t.written("env.inherit", is(name)) == "":
		return "the caller's own, which an MCP server names", "sandbox.mcp", t.at("sandbox.mcp")
	case !inherited || mine != value:
		return "inner sets it", "", always
	}
	return "the caller's own", "env.inherit", cmp.Or(t.written("env.inherit", is(name)), t.written("env.inherit", nil), t.written("env.clearenv", nil), always)
}

// withheld completes the answer for a variable that the box does not have.
func (t *Table) withheld(a *Answer, name string) {
	_, outside := t.Box.Facts.Env[name]
	switch {
	case !outside && slices.ContainsFunc(t.Box.Spec.Credentials, func(k profile.Credential) bool { return slices.Contains(k.From, "env:"+name) }):
		a.Access, a.How, a.Widen = Absent, "the caller has none: with one, the box has a placeholder", ""
	case t.Box.Spec.Env.Kept(name):
		a.Access, a.Key, a.From, a.Widen = Hidden, "hide.env", users, "[hide] env of config.toml without it"
		if at := written(t.Box.Spec.Organisation, "hide.env", func(pattern string) bool { return profile.VariableLike(pattern, name) }); at != "" {
			a.From, a.Widen = at, ""
		}
	case !outside:
		a.Access, a.How = Absent, "the caller has none: export "+name+" before the start"
		if t.written("env.inherit", is(name)) != "" {
			a.Widen = ""
		} else if !profile.LooksSecret(name) { // which no file of a project should have
			a.Widen = "set = { " + name + " = \"…\" } under [env]"
		}
	}
}

// variable looks up a variable of the box.
func (t *Table) variable(name string) (value string, there bool) {
	for _, kv := range t.Box.Plan.Env {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			return v, true
		}
	}
	return "", false
}

// Command answers for a command, which is looked for on the PATH of the box.
func (t *Table) Command(name string) Answer {
	a := Answer{Asked: "cmd:" + name, Access: Absent, How: "it is not on PATH"}
	path, _ := t.variable("PATH")
	a.Box = t.onPath(name, path, t.follow)
	a.Real = t.onPath(name, t.Box.Facts.Env["PATH"], real)
	blocked := t.Box.Spec.Noop.Blocked()
	if slices.Contains(blocked, name) {
		a.Access, a.How, a.Widen = Hidden, "blocked", "block without "+strconv.Quote(name)+" under [noop]"
		a.Key, a.From = "noop.block", t.at("noop.block")
		return a
	}
	for _, r := range t.Box.Spec.Noop.Rules {
		if r.Target != nil && r.String() == name {
			a.How, a.Key, a.From = "runs another program: "+strings.Join(r.Target, " "), "noop.rewrite", t.at("noop.rewrite")
			if a.Box = t.onPath(r.Target[0], path, t.follow); a.Box != "" {
				a.Access = ReadOnly
			}
			return a
		}
	}
	switch {
	case a.Box != "":
		inBox := t.Path(a.Box)
		a.Access, a.How, a.Key, a.From = ReadOnly, "runs", inBox.Key, inBox.From
		_, e := t.follow(a.Box)
		if need, any := lacking(t.programNeeds(e)); any {
			return a.blame(need, "the box has it, and not what it needs: "+need.Asked)
		}
	case a.Real != "":
		inBox := t.Path(a.Real)
		a = a.blame(inBox, "the host has it, and the box does not find it")
		if inBox.Granted(false) {
			a.Key, a.From, a.Widen = "env.path_prepend", t.at("env.path_prepend"), "path_prepend = ["+strconv.Quote(filepath.Dir(a.Real))+"] under [env]"
		}
		return a
	}
	for _, rule := range blocked {
		if strings.HasPrefix(rule, name+" ") {
			a.How, a.Key, a.From = "runs, but not as "+rule, "noop.block", t.at("noop.block")
		}
	}
	return a
}

// onPath returns where a command is found in the folders of a PATH; at resolves a path.
func (t *Table) onPath(name, path string, at func(string) (string, entry)) string {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) || dir == t.shims() {
			continue
		}
		if p, e := at(filepath.Join(dir, name)); e.kind == 'f' && e.read && e.perms&0o111 != 0 {
			return p
		}
	}
	return ""
}

// shims returns the folder of shims of the host, which is on PATH and empty in a box.
func (t *Table) shims() string { return filepath.Join(t.Box.Facts.InnerHome, "shims", "bin") }
