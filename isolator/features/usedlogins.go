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

// copied has a box with the whole network, where nothing leads to inner-proxy, keep copies
// of agents' logins, if it is a built-in profile that wants them used.
func copied(run *Run) {
	ours := func(k profile.Credential) bool {
		return k.Of != "" && slices.ContainsFunc(run.Profile.Files, func(f profile.File) bool {
			return f.Path == k.File && run.IsBuiltin(f)
		})
	}
	var list []profile.Credential
	for _, k := range run.Spec.Credentials {
		switch {
		case !ours(k):
			list = append(list, k)
		case k.Agent != "":
			list = append(list, profile.Credential{Name: k.Name, Clone: true})
			run.Say("credential %s: with the whole network the box has a copy of the login, which its programs can read", k.Name)
		}
	}
	run.Spec.Credentials = list
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
	return &logins.OAuth{Store: *c.OAuth, Path: real, Folder: files.Real(folder)}, err
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
