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
	"time"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/logins"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
	"github.com/enr/inner/profile/gitignore"
)

// usedLogin is what a box has of the login of an agent.
type usedLogin struct {
	doc  []byte // in the place of the file that the agent renews; nil where nobody is logged in, and the box may be
	none bool   // nobody is logged in
	key  string // what stands there for a key
}

// atServers has the logins of agents count at the servers that the person's variables and settings name in the place
// of the usual ones. A box of a built-in profile has a copy there, and wherever else it cannot use the login: see copied.
func atServers(run *Run, home *ownHome) {
	before := run.Spec.Credentials
	run.Spec.Credentials = slices.Clone(before)
	for _, k := range before {
		if k.Agent == "" {
			continue
		}
		if k.Builtin {
			if why := copied(run, home, k); why != "" {
				run.Spec.Copy(k.Agent, why)
			}
			continue
		}
		at, keysAt, below := servers(run, k)
		for i, o := range run.Spec.Credentials {
			list := keysAt
			if o.Agent != "" {
				list = at
			}
			if o.Of == k.Of && len(o.Allow) > 0 {
				run.Spec.Credentials[i].Allow = slices.Concat(o.Allow, below)
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

// copied says why a box of a built-in profile has a copy of an agent's login, and "" where it can use that: at the
// agent's own service, and as the agent keeps it or a variable of the person's has it, where no box had a say. What the
// project's settings say is no reason: a box may have written them, and would read the login then.
func copied(run *Run, home *ownHome, k profile.Credential) (why string) {
	c, _ := capability.Find(k.Agent)
	f := c.Folders[0]
	if run.Spec.Network == profile.NetOff {
		return ""
	}
	for _, name := range slices.Concat(k.Servers, c.OAuth.Elsewhere) {
		if value, _ := boxVariable(run, name); value != "" && value != "false" && value != "0" && !c.Serves(value) {
			return name + " is set:"
		}
	}
	for _, name := range []string{"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if err := places(run, run.Getenv(name)); err != nil {
			return fmt.Sprintf("%s: %v:", name, err)
		}
	}
	for _, file := range f.Files {
		if file.Instructions {
			continue
		}
		if _, err := run.unplanted(f.At(run.origin(), file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err.Error() + ":"
		}
	}
	others, project := c.Others(run.origin())
	if all := slices.Concat(others, project); len(all) > 0 {
		entry := strings.TrimPrefix(all[0].Entry+" of "+run.Short(all[0].Path), " of ")
		if len(others) > 0 {
			return entry + " is not used unread:"
		}
		run.Say("credential %s: %s counts in the box, which has a placeholder for the login", k.Name, entry)
		run.Hint(`%s = "clone" under [credentials] of profile %q, where it is to have a copy`, k.Name, run.Spec.Name)
	}
	if hasLogin(home, k.Agent, false) && home.InUse() {
		return "as another one that works in this home,"
	}
	return ""
}

// hasLogin reports whether a home has an agent's login, as one that its boxes use unread or as a copy.
func hasLogin(home *ownHome, agent string, used bool) bool {
	c, _ := capability.Find(agent)
	if home.Home == nil || c.OAuth == nil {
		return false
	}
	is, as := home.Login("capability "+agent, filepath.Join(c.Folders[0].Rel(), c.OAuth.File))
	return is && as == used
}

// beside has a box use a login that another one uses in the same home, where the profile says nothing of it: what lies
// there both see. Where it cannot, as with the whole network, it has a copy, and for this run not that home.
func beside(run *Run, home *ownHome, decide func(*Run, *ownHome)) {
	var used, given []string
	for _, name := range run.Spec.Capabilities {
		if hasLogin(home, name, true) && home.InUse() {
			used = append(used, name)
			if run.Spec.Use(name) {
				given = append(given, name)
			}
		}
	}
	decide(run, home)
	for _, name := range used {
		switch {
		case !run.Spec.Uses(name):
			run.Say("credential %s: another box uses the login in the home of this project, and cannot read it: this one has a copy, and an empty home for this run",
				name)
			home.Close() // others may start there
			home.Home, run.Spec.Home = nil, "isolated"
			return
		case slices.Contains(given, name):
			run.Say("credential %s: as another box that works in this home, this one uses the login, which its programs cannot read",
				name)
		}
	}
}

// end has what the box renewed of a copy, which it has no more, be the host's, or kept where no box sees it. That is
// said for as long as it is the newer one.
func (a *agentsOf) end(run *Run, agent string) (err error) {
	l := clonedLogin{ends: true}
	l.of, _ = capability.Find(agent)
	if l.of.Login == nil || a.home.Home == nil {
		return nil
	}
	path := l.of.LoginPath(origin(run.Caller, run.Spec))
	if l.was, err = capability.ReadLogin(path); err != nil || l.was == nil {
		return err
	}
	if hasLogin(a.home, agent, false) {
		err = a.keepLogin(run, l)
	}
	at := a.home.Stored("renewed-" + l.of.Login.File)
	kept, _ := capability.ReadLogin(at) // nil when there is none
	if newer, _ := l.of.Login.Renewed(l.was, kept, time.Now()); newer != nil && err == nil {
		run.Say("%s renewed its login inside the sandbox before, which uses the one on the host now: that may have ended",
			agent)
		run.Hint("cp %s %s", quote.POSIX(at), quote.POSIX(path))
	}
	return err
}

// servers are the hosts behind TLS with which an agent works by the person's own word, usual ones for its login and all
// for its keys, and the requests that it makes to the usual ones: all below the path that is named.
func servers(run *Run, k profile.Credential) (usual, all, below []string) {
	c, _ := capability.Find(k.Agent)
	list := slices.DeleteFunc(c.Servers(run.origin()), func(s capability.Server) bool {
		_, err := run.unplanted(s.Path) // a box would name a server that gets the login
		return err != nil
	})
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
			if !strings.HasPrefix(s.URL, "https:") || rule.Loopback() || rule.Host == "" {
				continue
			}
			if all = append(all, host); s.Usual {
				_, path, _ := strings.Cut(s.URL[len("https://"):], "/")
				below = append(below, "* "+strings.TrimSuffix(rule.Host+"/"+path, "/")+"/*")
				usual = append(usual, host)
			}
		}
	}
	return usual, all, below
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
func (u *usedLogin) take(k profile.Credential, placeholder, missing string, doc []byte) {
	kind := ""
	if len(k.From) > 0 {
		kind, _, _ = strings.Cut(k.From[0], ":")
	}
	switch {
	case k.Agent != "":
		u.doc, u.none = doc, missing == logins.Nobody
	case kind == "key":
		u.key = placeholder
	}
}

// sayAnother tells of a login that was made in the box while the host has one, which the next run has unless its
// service refuses that.
func (a *agentsOf) sayAnother(run *Run) {
	for _, c := range run.Agents {
		u := run.usedLogins[c.Name]
		if u == nil || u.doc == nil {
			continue
		}
		if is, err := a.loginIn(run, c); err == nil && c.Another(u.doc, is) {
			run.Say("%s was logged in to anew in the sandbox, "+
				"which counts on where what is logged in outside is no longer good",
				c.Program)
			run.Hint("inner bypass %s, and log in there", c.Program)
		}
	}
}

// files are those of the agent that are other ones in the box; none where it has copies.
func (u *usedLogin) files(c capability.Capability, from capability.Origin) map[string]capability.Used {
	if u == nil {
		return nil
	}
	out := map[string]capability.Used{}
	for _, f := range c.Folders {
		for _, file := range f.Files {
			edit := capability.Edit{Strip: slices.Concat(c.OAuth.Strip, c.OAuth.Parts)}
			for _, name := range c.Keys {
				edit.Strip = append(edit.Strip, "env."+name)
			}
			if file.IsDocument() {
				out[file.Name] = capability.Used{Edit: edit}
			}
		}
	}
	own := capability.Used{Instead: true, Data: u.doc, Alone: u.none && u.key == ""}
	if u.key != "" {
		own.Set = map[string]any{c.OAuth.Key: u.key}
		if own.Data == nil {
			own.Data = []byte("{}")
		}
	}
	out[c.OAuth.File] = own
	others, _ := c.Others(from)
	for _, name := range c.OAuth.Absent {
		if name == capability.DotEnv && !slices.ContainsFunc(others,
			func(o capability.Other) bool { return filepath.Base(o.Path) == name }) {
			continue
		}
		out[name] = capability.Used{Instead: true}
	}
	return out
}

// ended refuses the run of an agent whose login has ended, unless it has another one, which may be of the box's own.
func (a *agentsOf) ended(run *Run, k profile.Credential, why string, has map[string]string) error {
	c, _ := capability.Find(k.Agent)
	u := run.usedLogins[c.Name]
	if is, err := a.loginIn(run, c); err == nil && c.Another(u.doc, is) {
		u.doc, u.none = nil, true
		run.Say("credential %s: it has ended outside, and the box has the login that was made in it, which its programs can read",
			k.Name)
		return nil
	}
	if c.Login == nil || c.Login.Expired.Msg == "" {
		run.LostLogins[k.Name] = "it has ended, and " + why
		return nil
	}
	another := slices.ContainsFunc(run.Spec.Credentials, func(o profile.Credential) bool {
		return o.Of == k.Of && o.Name != k.Name && has[o.Name] != ""
	})
	if another || logsInWith(run, c.Login.Instead) {
		return nil
	}
	run.Warn("credential %s: %s", k.Name, why)
	return &fault.Refusal{Code: 125, Msg: c.Login.Expired.Msg, Hint: c.Login.Expired.Hint}
}
