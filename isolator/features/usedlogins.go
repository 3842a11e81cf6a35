package features

// Logins of agents that the box uses and cannot read: what inner-proxy is told of them, and
// what the box has of the files that hold them.

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/logins"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
	"github.com/enr/inner/profile/gitignore"
)

// usedLogin is what a box has of the login of an agent.
type usedLogin struct {
	doc []byte // in the place of the file that the agent renews; nil where nobody is logged in, and the box may be
	key string // what stands there for a key
}

// atServers has the logins of agents count at the servers that the person's variables and settings name in the place
// of the usual ones. Where such a one is not reached by TLS, or another box of the same home has a copy, this one has,
// if it is a built-in profile that wants the login used.
func atServers(run *Run, home *ownHome) {
	before := run.Spec.Credentials
	run.Spec.Credentials = slices.Clone(before)
	for _, k := range before {
		if k.Agent == "" {
			continue
		}
		at, keysAt, why := servers(run, k)
		if hasCopy(home, k.Agent) && home.InUse() {
			why = "as another one that works in this home,"
		}
		if k.Builtin && why != "" {
			run.Spec.Copy(k.Agent, why)
		}
		for i, o := range run.Spec.Credentials {
			list := keysAt
			if o.Agent != "" {
				list = at
			}
			for _, host := range list {
				if o.Of == k.Of && !slices.Contains(o.Hosts, host) {
					run.Spec.Credentials[i].Hosts = append(slices.Clip(o.Hosts), host)
					o = run.Spec.Credentials[i]
				}
			}
		}
	}
	for _, k := range run.Spec.Credentials {
		if k.Why != "" {
			run.Say("credential %s: %s the box has a copy of the login, which its programs can read", k.Name, k.Why)
		}
	}
}

// hasCopy reports whether a home has a copy of an agent's login.
func hasCopy(home *ownHome, agent string) bool {
	c, _ := capability.Find(agent)
	return home.Home != nil && home.Copied("capability "+agent, filepath.Join(c.Folders[0].Rel(), c.OAuth.File))
}

// end has what the box renewed of a copy, which it has no more, be the host's, or kept where no box sees it.
func (a *agentsOf) end(run *Run, agent string) (err error) {
	l := clonedLogin{ends: true}
	l.of, _ = capability.Find(agent)
	if l.of.Login == nil || !hasCopy(a.home, agent) {
		return nil
	}
	if l.was, err = capability.ReadLogin(l.of.LoginPath(origin(run.Caller, run.Spec))); err != nil || l.was == nil {
		return err
	}
	return a.keepLogin(run, l)
}

// servers are the hosts with which an agent works by the person's own word, usual ones for its login and all for its
// keys, and why these cannot be put in there.
func servers(run *Run, k profile.Credential) (usual, all []string, why string) {
	c, _ := capability.Find(k.Agent)
	list := c.Servers(run.origin())
	for _, name := range k.Servers {
		if value, own := boxVariable(run, name); value != "" && own {
			list = append(list, capability.Server{From: name, URL: value, Usual: true})
		}
	}
	for _, s := range list {
		var r Reach
		endpoint(&r, s.From, s.URL, true)
		for _, rule := range r.Allow { // one, or none
			host := rule.Entry.String()
			switch tls := strings.HasPrefix(s.URL, "https:") && !rule.Loopback() && rule.Host != ""; {
			case tls && s.Usual:
				usual, all = append(usual, host), append(all, host)
			case tls:
				all = append(all, host)
			case s.Usual:
				why = s.From + " names no host behind TLS:"
			}
		}
	}
	return usual, all, why
}

// store is the file in which an agent keeps its login: one in which no box had a say.
func store(run *Run, agent string) (*logins.OAuth, error) {
	c, _ := capability.Find(agent)
	if !slices.Contains(run.Spec.Capabilities, agent) || c.OAuth == nil {
		return nil, fmt.Errorf("the login is in what capabilities = [%q] brings, which the profile does not say", agent)
	}
	f := c.Folders[0]
	folder := f.Source(origin(run.Caller, run.Spec))
	path := filepath.Join(folder, c.OAuth.File)
	// At its place there is the clone, but with a home of the box's own that shows the folder.
	if folder != f.Place(run.Home) || run.Spec.Home == "own" && slices.Contains(run.Spec.Allow, "agent-state") {
		run.Spec.Hide = append(slices.Clip(run.Spec.Hide), gitignore.Escape(path))
	}
	real, err := run.unplanted(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New(logins.Nobody)
	}
	later := c.Login != nil && logsInWith(run, c.Login.Instead)
	return &logins.OAuth{Store: *c.OAuth, Path: real, Folder: files.Real(folder), Later: later}, err
}

// take notes what inner-proxy has for one of the agent's credentials.
func (u *usedLogin) take(k profile.Credential, placeholder string, doc []byte) {
	kind := ""
	if len(k.From) > 0 {
		kind, _, _ = strings.Cut(k.From[0], ":")
	}
	switch {
	case k.Agent != "":
		u.doc = doc
	case kind == "key":
		u.key = placeholder
	}
}

// files are those of the agent that are other ones in the box; none where it has copies.
func (u *usedLogin) files(c capability.Capability) map[string]capability.Used {
	if u == nil {
		return nil
	}
	out := map[string]capability.Used{}
	for _, f := range c.Folders {
		for _, file := range f.Files {
			edit := capability.Edit{Strip: slices.Clone(c.OAuth.Strip)}
			for _, name := range c.Keys {
				edit.Strip = append(edit.Strip, "env."+name)
			}
			if file.IsDocument() {
				out[file.Name] = capability.Used{Edit: edit}
			}
		}
	}
	own := capability.Used{Instead: true, Data: u.doc}
	if u.key != "" {
		own.Set = map[string]any{c.OAuth.Key: u.key}
		if own.Data == nil {
			own.Data = []byte("{}")
		}
	}
	out[c.OAuth.File] = own
	for _, name := range c.OAuth.Absent {
		out[name] = capability.Used{Instead: true}
	}
	return out
}

// ended refuses the run of an agent whose login has ended, unless it has another one.
func ended(run *Run, k profile.Credential, why string, has map[string]string) error {
	a, _ := capability.Find(k.Agent)
	if a.Login == nil || a.Login.Expired.Msg == "" {
		run.LostLogins[k.Name] = "it has ended, and " + why
		return nil
	}
	another := slices.ContainsFunc(run.Spec.Credentials, func(o profile.Credential) bool {
		return o.Of == k.Of && o.Name != k.Name && has[o.Name] != ""
	})
	if another || logsInWith(run, a.Login.Instead) {
		return nil
	}
	run.Warn("credential %s: %s", k.Name, why)
	return &fault.Refusal{Code: 125, Msg: a.Login.Expired.Msg, Hint: a.Login.Expired.Hint}
}
