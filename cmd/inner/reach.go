package main

// What the box of a run may reach by name: network_allow with its groups, what
// capabilities need, and the servers that the user's own variables name. Package
// managers are asked which registry they are set to before anything is staged,
// never during the run; what they say of themselves, the ones in the box are told.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/hosts"
	"github.com/enr/inner/profile/registry"
	"github.com/enr/inner/profile/remote"
	"github.com/enr/inner/shims"
)

// reach is what a box may reach by name, and why.
type reach struct {
	allow, deny []netproxy.Rule
	ports       []profile.Port    // servers of this computer that the user's variables name
	answers     []registry.Answer // of the groups in network_allow that have a client
	lines       []reachLine       // for people: what is behind a word of the profile
	warnings    []string
}

// reachLine says what is behind a word of the profile.
type reachLine struct {
	origin string   // that word, a group with its @; "" when the text is not about hosts of it
	hosts  []string // that can be reached by it
	own    []string // those of them that are of the user's own network
	text   string   // the whole line
}

// reachOf finds out what a box may reach. dir makes an empty folder for clients
// that have to be asked; without it, none is, and what is not known stays out.
func (j *journey) reachOf(dir func() (string, error)) (reach, error) {
	var r reach
	rc := j.rc
	if !rc.Network.ByName() {
		return r, nil
	}
	known, err := j.registries(dir)
	if err != nil {
		return r, err
	}
	if r.allow, err = j.rules(rc.NetworkAllow, "network_allow", known); err != nil {
		return r, err
	}
	if r.deny, err = j.rules(rc.NetworkDeny, "network_deny", known); err != nil {
		return r, err
	}
	for _, group := range groupsOf(rc.NetworkAllow) {
		a, asked := known[group]
		if !asked {
			continue
		}
		r.answers = append(r.answers, a.Answer)
		if a.Why != "" {
			line := fmt.Sprintf("@%s: %s", group, a.Why)
			if len(a.Places) == 0 {
				line = fmt.Sprintf("@%s has no host: %s", group, a.Why)
			}
			r.lines = append(r.lines, reachLine{origin: "@" + group, text: line})
			if a.New {
				r.warnings = append(r.warnings, line)
			}
		}
	}
	for _, c := range j.prep.clones {
		for _, text := range c.Hosts {
			e, err := hosts.Parse(text)
			if err != nil {
				return r, err
			}
			r.allow = append(r.allow, netproxy.Rule{Entry: e, Origin: "capability " + c.Name})
		}
		for _, name := range c.Endpoints {
			j.endpoint(&r, name)
		}
	}
	j.ownPorts(&r)
	r.lines = append(behind(r.allow), r.lines...)
	return r, nil
}

// behind says which hosts come from where, for those that the profile does not
// write itself.
func behind(rules []netproxy.Rule) []reachLine {
	var out []reachLine
	for _, rule := range rules {
		if rule.Origin == "network_allow" {
			continue
		}
		i := slices.IndexFunc(out, func(l reachLine) bool { return l.origin == rule.Origin })
		if i < 0 {
			i = len(out)
			out = append(out, reachLine{origin: rule.Origin})
		}
		text := rule.String()
		if rule.Private {
			text += " (of your own network)"
			out[i].own = append(out[i].own, text)
		}
		out[i].hosts = append(out[i].hosts, text)
	}
	for i, l := range out {
		out[i].text = fmt.Sprintf("can reach %s [%s]", strings.Join(l.hosts, ", "), l.origin)
	}
	return out
}

// groupsOf are the groups of a list, each once.
func groupsOf(list []string) []string {
	var out []string
	for _, text := range list {
		if group, ok := strings.CutPrefix(text, "@"); ok && !slices.Contains(out, group) {
			out = append(out, group)
		}
	}
	return out
}

// askedGroups are the groups of both lists that have a client.
func (j *journey) askedGroups() []string {
	var groups []string
	for _, group := range groupsOf(slices.Concat(j.rc.NetworkAllow, j.rc.NetworkDeny)) {
		if _, fixed := registry.Fixed(group); !fixed {
			groups = append(groups, group)
		}
	}
	return groups
}

// registries asks for the groups of both lists that have a client.
func (j *journey) registries(dir func() (string, error)) (map[string]registry.Told, error) {
	groups := j.askedGroups()
	if len(groups) == 0 {
		return nil, nil
	}
	list, err := j.book().Answers(context.Background(), groups, j.registryHost(), dir)
	if list == nil {
		return nil, err
	}
	if err != nil {
		j.app.warn("what the package managers said is not kept: %v", err)
	}
	out := map[string]registry.Told{}
	for i, group := range groups {
		out[group] = list[i]
	}
	return out, nil
}

// book is where the answers of package managers are kept.
func (j *journey) book() registry.Book {
	return registry.Book{Path: filepath.Join(j.app.InnerHome, "registries.json")}
}

// registryHost is where package managers are looked for and how they are run.
func (j *journey) registryHost() registry.Host {
	dirs := slices.DeleteFunc(j.hostPath(), func(d string) bool { return d == j.app.ShimDir() })
	return registry.Host{
		Home: j.app.Home, Path: strings.Join(dirs, ":"), Lookup: os.LookupEnv, Environ: os.Environ(), Private: netproxy.Private,
		Program: func(name string) (string, error) {
			p, err := j.hostProgram(name, dirs)
			if errors.Is(err, shims.ErrNotFound) {
				err = fs.ErrNotExist
			}
			return p, err
		},
		Fetch: func(ctx context.Context, address string) ([]byte, []string, error) {
			ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			page, err := remote.GetPage(ctx, address)
			return page.Data, page.Hops, err
		},
	}
}

// rules reads a list of the profile; origin is its key.
func (j *journey) rules(list []string, origin string, known map[string]registry.Told) ([]netproxy.Rule, error) {
	var out []netproxy.Rule
	for _, text := range list {
		e, err := hosts.Parse(text)
		if err != nil {
			return nil, err
		}
		if e.Group == "" {
			out = append(out, netproxy.Rule{Entry: e, Origin: origin})
			continue
		}
		var members []registry.Place
		if names, fixed := registry.Fixed(e.Group); fixed {
			for _, name := range names {
				members = append(members, registry.Place{Entry: name})
			}
		} else {
			a := known[e.Group]
			if a.Why != "" && origin == "network_deny" {
				return nil, &fault.Refusal{
					Code: 125, Msg: fmt.Sprintf("profile %q: the hosts of @%s in network_deny are unknown: %s", j.rc.Name, e.Group, a.Why),
					Hint: "name its hosts in network_deny",
				}
			}
			members = a.Places
		}
		for _, m := range members {
			e, err := hosts.Parse(m.Entry)
			if err != nil {
				return nil, err
			}
			out = append(out, netproxy.Rule{Entry: e, Origin: text, Private: m.Private && origin == "network_allow"})
		}
	}
	return out, nil
}

// endpoint adds the server that a variable of the box names, where the variable is
// the user's own word: inherited, set by a profile of the user's or on the command
// line. A project that sets it has to list the host, too.
func (j *journey) endpoint(r *reach, name string) {
	value, own := j.boxVariable(name)
	if value == "" {
		return
	}
	host, port, err := endpointOf(value)
	switch {
	case err != nil:
		r.warnings = append(r.warnings, fmt.Sprintf("%s names no server that can be reached: %v", name, err))
		return
	case !own:
		r.lines = append(r.lines, reachLine{text: fmt.Sprintf("%s is set by the profile: its host has to be in network_allow", name)})
		return
	}
	text := host
	if port != 443 && port != 80 {
		if strings.Contains(host, ":") {
			text = "[" + host + "]"
		}
		text += ":" + strconv.Itoa(int(port))
	}
	e, err := hosts.Parse(text)
	// Link-local is where clouds give a machine its keys, and a variable may come
	// from a file of the project by way of the shell.
	if err != nil || e.Wild || e.Group != "" || e.Addr.IsLinkLocalUnicast() {
		r.warnings = append(r.warnings, fmt.Sprintf("%s names no server that can be reached: %q", name, text))
		return
	}
	r.allow = append(r.allow, netproxy.Rule{Entry: e, Origin: name, Private: !e.Addr.IsValid()})
}

// ownPorts takes out of the rules the servers of this computer that the user's own
// settings name. A program reaches its loopback without the proxy (NO_PROXY), so
// their ports are brought there. Those below 1024 cannot be: the proxy has them.
func (j *journey) ownPorts(r *reach) {
	r.allow = slices.DeleteFunc(r.allow, func(rule netproxy.Rule) bool {
		if rule.Origin == "network_allow" || !rule.Stated() || rule.Ports[0] < 1024 || !aboutLoopback(rule) {
			return false
		}
		port := rule.Ports[0]
		if slices.ContainsFunc(r.deny, func(d netproxy.Rule) bool { return aboutLoopback(d) && (!d.Stated() || d.Ports[0] == port) }) {
			return false // the proxy refuses it
		}
		taken := func(p profile.Port) bool { return p.Box == port }
		if port != profile.ProxyPort && !slices.ContainsFunc(slices.Concat(j.rc.HostPorts, j.rc.Publish, r.ports), taken) {
			r.ports = append(r.ports, profile.Port{Host: port, Box: port, File: rule.Origin})
			r.lines = append(r.lines, reachLine{text: fmt.Sprintf("uses the service at port %d of this computer [%s]", port, rule.Origin)})
		}
		return true
	})
}

// aboutLoopback reports whether a rule names this computer by one of the names that
// NO_PROXY has.
func aboutLoopback(rule netproxy.Rule) bool {
	text := rule.Host
	if rule.Addr.IsValid() {
		text = rule.Addr.String()
	}
	return !rule.Wild && (text == "localhost" || text == "127.0.0.1" || text == "::1")
}

// boxVariable is the value of a variable in the box, and whether it is the user's
// own word.
func (j *journey) boxVariable(name string) (value string, own bool) {
	for _, kv := range j.rc.Env.Set {
		if kv.Key != name {
			continue
		}
		if slices.ContainsFunc(j.context.Overrides.Env, func(o profile.KV) bool { return o.Key == name }) {
			return kv.Value, true
		}
		for _, o := range j.profile.Origins() {
			if o.Key == "env.set."+name {
				local := j.rc.Scope == profile.Local || j.rc.Scope == profile.Remote
				return kv.Value, !local || filepath.Dir(o.File) == j.app.ProfilesDir()
			}
		}
		return kv.Value, false
	}
	inherits := func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	}
	if j.rc.Env.InheritAll || slices.ContainsFunc(j.rc.Env.Inherit, inherits) {
		return os.Getenv(name), true
	}
	return "", false
}

// endpointOf reads the address of a server.
func endpointOf(address string) (host string, port uint16, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "", 0, errors.New("it is not an address")
	}
	switch p := u.Port(); {
	case p != "":
		n, err := hosts.Port(p)
		return u.Hostname(), n, err
	case u.Scheme == "https":
		return u.Hostname(), 443, nil
	case u.Scheme == "http":
		return u.Hostname(), 80, nil
	}
	return "", 0, errors.New("it is not one of http")
}

// reachLines says what is behind the words of a profile about the network, for
// people. With ask, package managers that have not been asked yet are; without,
// nothing is run and nothing is written.
func (a *app) reachLines(p *profile.Profile, c profile.Context, rc profile.RunConfig, ask bool) []reachLine {
	if !rc.Network.ByName() {
		return nil
	}
	j := &journey{app: a, profile: p, context: c, rc: rc}
	var err error
	if j.prep.clones, err = a.capabilities(&j.rc); err != nil {
		return []reachLine{{text: err.Error()}}
	}
	var dir func() (string, error)
	if ask && a.OwnFolder() == nil {
		var made string
		dir = func() (string, error) {
			made, err = os.MkdirTemp("", "inner-ask-")
			return made, err
		}
		defer func() {
			if made != "" {
				_ = os.RemoveAll(made)
			}
		}()
	}
	r, err := j.reachOf(dir)
	if err != nil {
		return []reachLine{{text: err.Error()}}
	}
	return r.lines
}

// findReach finds out what the box may reach, before anything is staged.
func (j *journey) findReach() (err error) {
	if j.reach, err = j.reachOf(func() (string, error) { return j.run.Dir("registries") }); err != nil {
		return err
	}
	if name := outwardProxy(); name != "" && j.rc.Network.ByName() {
		j.reach.warnings = append(j.reach.warnings, fmt.Sprintf("%s names a proxy of your network, which network_mode = %q does not go through", name, j.rc.Network))
	}
	for _, line := range j.reach.warnings {
		j.app.warn("%s", line)
	}
	j.rc.HostPorts = append(slices.Clip(j.rc.HostPorts), j.reach.ports...)
	return nil
}

// stageReach tells the programs in the box what those outside are set to.
func stageReach(j *journey) error {
	if !j.rc.Network.ByName() {
		return nil
	}
	for _, a := range j.reach.answers {
		j.staged.Env = append(j.staged.Env, a.Env...)
		if a.CA != "" {
			if err := j.certificates(a.CAVar, a.CA); err != nil {
				return err
			}
		}
		// In an isolated home its own file is not there, and no variable says this.
		if a.Config != "" && j.rc.Home == "isolated" {
			name := strings.ReplaceAll(strings.TrimPrefix(a.ConfigAt, "."), "/", "-")
			file, err := j.run.File(name, []byte(a.Config), 0o444)
			if err != nil {
				return err
			}
			j.staged.Binds = append(j.staged.Binds, plan.Bind{
				Host: file, Box: filepath.Join(j.app.Home, a.ConfigAt), Reason: "the registry you use (network_allow)",
			})
		}
	}
	if len(j.reach.answers) > 0 {
		for _, name := range []string{"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"} {
			if v := os.Getenv(name); filepath.IsAbs(v) {
				if err := j.certificates(name, filepath.Clean(v)); err != nil {
					return err
				}
			}
		}
	}
	return stageSSH(j)
}

// certificates sets a variable that names a file of certificates. Where the box
// would not see the file, it gets a copy.
func (j *journey) certificates(variable, file string) error {
	seen := true
	for _, dir := range []string{j.app.Home, "/tmp", "/var/tmp", "/run"} {
		if paths.Below(dir, file) || paths.Below(files.Real(dir), files.Real(file)) {
			seen = false
		}
	}
	if !seen {
		data, err := files.Read(file, files.NoLinks, 4<<20)
		if err == nil && (!bytes.Contains(data, []byte("-----BEGIN CERTIFICATE-----")) || bytes.Contains(data, []byte("PRIVATE KEY"))) {
			err = errors.New("it is not a file of certificates")
		}
		if err != nil {
			j.app.warn("%s: %s does not go along: %v", variable, j.app.Short(file), err)
			return nil
		}
		name := "ca-" + strings.ToLower(variable) + ".pem"
		at, err := j.run.File(name, data, 0o444)
		if err != nil {
			return err
		}
		file = filepath.Join(paths.BoxDir, name)
		j.staged.Binds = append(j.staged.Binds, plan.Bind{Host: at, Box: file, Reason: "certificates you trust (" + variable + ")"})
	}
	j.staged.Env = append(j.staged.Env, profile.KV{Key: variable, Value: file})
	return nil
}

// outwardProxy is the variable by which this computer is told of a proxy to the
// world, or "". Inner's own does not use it: it decides by addresses that it looked
// up, and such a proxy wants names.
func outwardProxy() string {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		if os.Getenv(name) != "" {
			return name
		}
	}
	return ""
}
