package main

// inner init for agents: what is there, the questions, the profiles, and the same consent as
// by inner allow.

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/consent"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
	"github.com/enr/inner/profile/config"
	"github.com/enr/inner/profile/config/keys"
	"github.com/enr/inner/profile/starter"
	"github.com/enr/inner/profile/trust"
	"github.com/enr/inner/shims"
)

// initPlace is the project that inner init is about: the one here, else the repository, else
// this folder.
func (a *app) initPlace() (settings.Place, error) {
	pl, err := a.Here()
	if err != nil || pl.Project != nil {
		return pl, err
	}
	root := pl.Cwd
	for dir := pl.Cwd; dir != "/" && !paths.Below(dir, a.Home); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			root = dir
			break
		}
	}
	if paths.Below(root, a.Home) {
		return pl, fault.Refuse(1, "cd to a project, or for all folders: inner init --everywhere claude", "%s is not a project: it is, or holds, your home folder", a.Short(root))
	}
	pl.Cwd = root
	return pl, nil
}

// initChosen sets up agents here or in all folders, and returns those that are sandboxed there
// from now on.
func (a *app) initChosen(f initFlags, names []string) (ready []string, err error) {
	if f.everywhere {
		return a.initEverywhere(f, names)
	}
	pl, err := a.initPlace()
	if err != nil {
		return nil, err
	}
	root := pl.Cwd
	if pl.Project != nil {
		if root = pl.Root(); pl.Project.Problem != nil {
			return nil, fault.Refuse(126, "inner status", "%s is not used: %v", pl.Project.Dir, pl.Project.Problem)
		}
	}
	t := starter.TraitsOf(root)
	a.Say("%s", strings.Join(append([]string{"project " + a.Short(root)}, t.Words...), ", "))
	if names, err = a.chooseAgents(names); err != nil {
		return nil, err
	}
	names, ready, err = a.unclaimedOf(pl, names)
	switch {
	case err != nil || len(names)+len(ready) == 0:
		return nil, cmp.Or(err, error(cli.Exit(126))) // it has been said why
	case len(names) == 0:
		return ready, nil
	}
	if !f.yes {
		all, err := a.askWhere(names)
		if err != nil {
			return nil, err
		}
		if all {
			more, err := a.initEverywhere(f, names)
			return append(ready, more...), err
		}
	}
	text := starter.Choice{Root: root, Network: f.network, Traits: t}
	err = a.writeChosen(f, names, text, func() (string, error) { return makeProfiles(root) }, func() error { return a.allow(names, f.yes) })
	if err != nil {
		return ready, err
	}
	for _, name := range names {
		if w := a.which(name); !slices.Contains([]string{w.Does, w.ShimDoes}, shims.Refuse.String()) { // else inner allow said why
			ready = append(ready, name)
		}
	}
	return ready, nil
}

// writeChosen asks what the profiles are to grant, writes them to a folder, and asks for consent:
// without it they are removed again.
func (a *app) writeChosen(f initFlags, names []string, text starter.Choice, folder func() (string, error), consent func() error) error {
	if err := a.choose(&text, f, names); err != nil {
		return err
	}
	defer a.interrupts.hold()() // the files go again when ^C comes before they are allowed
	dir, err := folder()
	if err != nil {
		return err
	}
	undo, err := a.writeProfiles(dir, names, text)
	if err != nil {
		undo()
		return err
	}
	if err := consent(); err != nil {
		undo()
		_ = a.Regenerate()
		a.Say("the profiles were removed again")
		a.Hint("inner init")
		return err
	}
	return nil
}

// unclaimedOf are the agents that no profile of the project claims; those that an allowed one
// claims are ready.
func (a *app) unclaimedOf(pl settings.Place, names []string) (open, ready []string, err error) {
	if pl.Project == nil {
		return names, nil, nil
	}
	v := a.Look(pl)
	if v.ConfigFile != nil && v.ConfigState != trust.Allowed {
		return nil, nil, fault.Refuse(126, "inner allow, and then inner init", "the project has a config.toml that is %s", trustWord(v.ConfigState))
	}
	for _, name := range names {
		i := slices.IndexFunc(v.Profiles, func(p shims.ProfileView) bool {
			return slices.ContainsFunc(p.Claims, func(c shims.Claim) bool { return c.Command == name })
		})
		if i < 0 {
			open = append(open, name)
			continue
		}
		p := v.Profiles[i]
		a.Say("%s is claimed by profile %s here, which is %s", name, p.Name, trustWord(p.State))
		switch p.State {
		case trust.Allowed:
			ready = append(ready, name)
		case shims.Broken:
			a.Hint("inner profile validate %s", p.Name)
		default:
			a.Hint("inner allow %s", p.Name)
		}
	}
	return open, ready, nil
}

// trustWord is a state in the words of inner allow.
func trustWord(s trust.State) string {
	if s == trust.Untrusted {
		return "not allowed"
	}
	return string(s)
}

// writeProfiles writes a profile for each agent. undo removes these files, and the folders
// when nothing else is in them.
func (a *app) writeProfiles(dir string, names []string, p starter.Choice) (undo func(), err error) {
	pl, scope := settings.Place{Cwd: a.Home}, profile.Global
	if p.Root != "" {
		pl, scope = settings.Place{Cwd: p.Root, Project: a.ProjectOf(p.Root)}, profile.Local
	}
	var written []string
	undo = func() {
		for _, path := range append(written, dir, filepath.Dir(dir)) {
			_ = os.Remove(path) // a folder that holds something stays
		}
	}
	for _, name := range names {
		path := filepath.Join(dir, name+".toml")
		agent, _ := capability.Of(name)
		text := p.Text(agent)
		if _, err := a.Loader(pl).LoadBytes(profile.File{Path: path, Data: []byte(text)}, scope); err != nil {
			return undo, err
		}
		err := cli.CreateFile(path, []byte(text), 0o644)
		if scope == profile.Global && errors.Is(err, fs.ErrExist) {
			a.Say("%s is there already, and stays as it is", a.Short(path))
			continue
		}
		if err != nil {
			return undo, err
		}
		written = append(written, path)
		fmt.Fprintln(a.Out, path)
	}
	return undo, nil
}

// initEverywhere claims agents in all folders, with profiles of the user's own.
func (a *app) initEverywhere(f initFlags, names []string) ([]string, error) {
	cfg, err := a.GlobalConfig()
	if err != nil {
		return nil, err
	}
	var open []string
	for _, name := range names {
		if i := slices.IndexFunc(cfg.Shims, func(kv profile.KV) bool { return kv.Key == name }); i >= 0 {
			a.Say("%s is sandboxed in all folders already, by profile %s", name, cfg.Shims[i].Value)
			continue
		}
		open = append(open, name)
	}
	if len(open) == 0 {
		return names, nil
	}
	text := starter.Choice{Network: f.network}
	err = a.writeChosen(f, open, text, func() (string, error) { return a.ProfilesDir(), nil }, func() error { return a.allowEverywhere(open, f.yes) })
	return names, err
}

// allowEverywhere shows what profiles of the user's own grant in the folder of the call, asks,
// and claims their agents.
func (a *app) allowEverywhere(names []string, yes bool) error {
	pl, err := a.Here()
	if err != nil {
		return err
	}
	pl.Project = nil // a profile of its own, of the same name, is another one
	var list []consent.Candidate
	for _, name := range names {
		p, err := a.Loader(pl).Load(filepath.Join(a.ProfilesDir(), name+".toml"), profile.Global)
		if err != nil {
			return err
		}
		rc, at, err := a.resolveHere(found{place: pl}, p)
		if err != nil {
			return err
		}
		list = append(list, consent.Candidate{Profile: p, Spec: rc, At: at, Grants: profile.Grants(rc), State: trust.Untrusted})
	}
	a.showConsent(consent.Page{Place: pl, List: list, Config: settings.ConfigRead{Config: &config.Config{}}})
	a.Say("this holds in every folder, and what is in that folder can be changed; a project's own profile takes precedence")
	words := strings.Join(names, ", ")
	if err := a.askFor(fmt.Sprintf("Sandbox %s in all folders?", words), yes, "inner init --everywhere --yes "+words); err != nil {
		return err
	}
	return a.claimEverywhere(names)
}

// claimEverywhere writes [shims] of the user's config.toml.
func (a *app) claimEverywhere(names []string) error {
	err := a.rewrite(draft{path: a.ConfigFile(), judge: which{}.judge}, func(file profile.File) (_ []byte, err error) {
		for _, name := range names {
			if file.Data, err = keys.Set(file, []string{"shims", name}, name); err != nil {
				return nil, err
			}
		}
		return file.Data, nil
	})
	if err != nil {
		return err
	}
	a.ForgetConfigs()
	return a.Regenerate()
}
