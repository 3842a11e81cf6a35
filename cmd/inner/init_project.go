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
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/consent"
	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
	"github.com/enr/inner/profile/config/keys"
	"github.com/enr/inner/profile/gitignore"
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
	pl.Cwd = root
	c := profile.Context{Home: a.Home, OtherHome: a.OtherHome(), InnerHome: a.InnerHome}
	if err := c.CheckWorkdir(root); err != nil { // as every run there would be
		return pl, fault.Refuse(1, "cd to a project, or for all folders: inner init --everywhere claude",
			"%s is not a project: %v", a.Short(root), err)
	}
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
			return nil, fault.Refuse(126, "inner status",
				"%s is not used: %v", pl.Project.Dir, pl.Project.Problem)
		}
	}
	t := starter.TraitsOf(root)
	a.Say("%s", strings.Join(append([]string{"project " + a.Short(root)}, t.Words...), ", "))
	if names, err = a.chooseAgents(names); err != nil {
		return nil, err
	}
	names, ready, err = a.unclaimedOf(f, pl, names)
	switch {
	case err != nil || len(names)+len(ready) == 0:
		return nil, cmp.Or(err, error(cli.Exit(126))) // it has been said why
	case len(names) == 0 && f.private:
		return ready, a.inGit(root, true)
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
	if err := a.setUp(f, names, text); err != nil {
		return ready, err
	}
	for _, name := range names {
		if w := a.which(name); !slices.Contains([]string{w.Does, w.ShimDoes}, shims.Refuse.String()) { // else inner allow said why
			ready = append(ready, name)
		}
	}
	return ready, nil
}

// setUp asks what the profiles of agents are to grant, shows them, asks for consent, and writes them:
// nothing is written before the yes.
func (a *app) setUp(f initFlags, names []string, text starter.Choice) error {
	if err := a.choose(&text, f, names); err != nil {
		return err
	}
	page, texts, err := a.drafted(names, text)
	if err != nil {
		return err
	}
	a.showConsent(page)
	asked := "Allow this?"
	if text.Root == "" {
		a.Say("this holds in every folder, and what is in that folder can be changed; a project's own profile takes precedence")
		asked = fmt.Sprintf("Sandbox %s in all folders?", strings.Join(names, ", "))
	}
	if err := a.confirm(question{text: asked, yes: f.yes, no: "nothing was written"}); err != nil {
		return err
	}
	if text.Root != "" {
		if _, err := makeProfiles(text.Root); err != nil {
			return err
		}
	}
	for _, file := range texts {
		if err := cli.CreateFile(file.Path, file.Data, 0o644); err != nil {
			return err
		}
		fmt.Fprintln(a.Out, file.Path)
	}
	if text.Root == "" {
		return a.claimEverywhere(names)
	}
	done := proposal{target: target{place: page.Place}, cfg: page.Config, list: page.List}
	if err := a.carryOut(done, false); err != nil {
		return err
	}
	err = a.inGit(text.Root, f.private)
	a.sayAllowed(text.Root, page.List)
	return err
}

// drafted are the profiles of agents as they will be, in a project or, without one, in all folders, and
// the files that are to be written. A profile of the user's own that is there stays as it is.
func (a *app) drafted(names []string, text starter.Choice) (page consent.Page, texts []profile.File, err error) {
	if page.Place, err = a.Here(); err != nil {
		return page, nil, err
	}
	dir, scope := a.ProfilesDir(), profile.Global
	page.Place.Project = nil // a project's profile of the same name is another one
	if root := text.Root; root != "" {
		if dir, err = profilesFolder(root); err != nil {
			return page, nil, err
		}
		scope = profile.Local
		page.Place = settings.Place{Cwd: root, Project: &profile.Project{Root: root, Dir: filepath.Dir(dir)}}
	}
	page.Config = a.ProjectConfig(page.Place)
	for _, name := range names {
		agent, _ := capability.Of(name)
		file := profile.FileOf(filepath.Join(dir, name+".toml"), []byte(text.Text(agent)))
		if there, err := profile.ReadFile(file.Path); errors.Is(err, fs.ErrNotExist) {
			texts = append(texts, file)
		} else if err != nil || scope == profile.Local {
			return page, nil, cmp.Or(err, fmt.Errorf("%q already exists: %w", file.Path, fs.ErrExist))
		} else {
			a.Say("%s is there already, and stays as it is", a.Short(file.Path))
			file = there
		}
		p, err := a.Loader(page.Place).LoadBytes(file, scope)
		if err != nil {
			return page, nil, err
		}
		rc, at, err := a.resolveHere(found{place: page.Place, scope: scope}, p)
		if err != nil {
			return page, nil, err
		}
		page.List = append(page.List, consent.Candidate{Profile: p, Spec: rc, At: at, Grants: profile.Grants(rc), State: trust.Untrusted})
	}
	return page, texts, nil
}

// unclaimedOf are the agents that no profile of the project claims; those that an allowed one
// claims are ready.
func (a *app) unclaimedOf(f initFlags, pl settings.Place, names []string) (open, ready []string, err error) {
	if pl.Project == nil {
		return names, nil, nil
	}
	v := a.Look(pl)
	if v.Config.File != nil && v.Conf.State != trust.Allowed {
		return nil, nil, fault.Refuse(126, "inner allow, and then inner init",
			"the project has a config.toml that is %s", trustWord(v.Conf.State))
	}
	for _, name := range names {
		i := slices.IndexFunc(v.Profiles, func(p shims.ProfileView) bool {
			return slices.ContainsFunc(p.Claims, func(c shims.Claim) bool { return c.Command == name })
		})
		if i < 0 || v.Profiles[i].State == trust.Deleted {
			open = append(open, name)
			continue
		}
		p := v.Profiles[i]
		if err := f.stays(p.Name); err != nil {
			return nil, nil, err
		}
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

// initEverywhere claims agents in all folders, with profiles of the user's own.
func (a *app) initEverywhere(f initFlags, names []string) ([]string, error) {
	cfg, err := a.GlobalConfig()
	if err != nil {
		return nil, err
	}
	var open []string
	for _, name := range names {
		if i := slices.IndexFunc(cfg.Shims, func(kv profile.KV) bool { return kv.Key == name }); i >= 0 {
			if err := f.stays(cfg.Shims[i].Value); err != nil {
				return nil, err
			}
			a.Say("%s is sandboxed in all folders already, by profile %s", name, cfg.Shims[i].Value)
			continue
		}
		open = append(open, name)
	}
	if len(open) == 0 {
		return names, nil
	}
	return names, a.setUp(f, open, starter.Choice{Network: f.network})
}

// claimEverywhere writes [shims] of the user's config.toml.
func (a *app) claimEverywhere(names []string) error {
	return a.changeConfig(which{}, func(file profile.File) (_ []byte, err error) {
		for _, name := range names {
			if file.Data, err = keys.Set(file, []string{"shims", name}, name); err != nil {
				return nil, err
			}
		}
		return file.Data, nil
	})
}

// The questions of inner init in a project.

// installedAgents are the agents on PATH, and what is said of each.
func (a *app) installedAgents() (found, told []string) {
	for _, g := range capability.All() {
		if _, err := a.FindReal(g.Program, os.Getenv("PATH")); err != nil {
			continue
		}
		found = append(found, g.Program)
		login := "logged in"
		if !a.loggedIn(g) {
			login = "no login here yet"
		}
		told = append(told, fmt.Sprintf("%s (%s, %s)", g.Program, g.Title, login))
	}
	return found, told
}

// loggedIn reports whether a login of the agent is on this host.
func (a *app) loggedIn(c capability.Capability) bool {
	o := a.loginOrigin()
	if slices.ContainsFunc(c.Keys, func(name string) bool { v, _ := o.Lookup(name); return v != "" }) {
		return true
	}
	return slices.ContainsFunc(c.Folders, func(f capability.Folder) bool {
		return slices.ContainsFunc(c.Logins, func(name string) bool {
			fi, err := os.Stat(filepath.Join(f.Source(o), name))
			return err == nil && fi.Size() > 0
		})
	})
}

// loginOrigin is where logins of agents are.
func (a *app) loginOrigin() capability.Origin {
	return capability.Origin{Home: a.Home, Lookup: a.LookupEnv}
}

// inGit says that the .inner of a project may be committed, for the team; private keeps it out of git, by info/exclude
// of the repository.
func (a *app) inGit(root string, private bool) error {
	root = files.Real(root)
	r, err := git.Find(root)
	if err != nil || r.Reason != "" || r.Led { // a box may have made it
		if !private {
			return nil
		}
		return fault.Refuse(1, "git init, or name .inner in info/exclude yourself",
			"%s is in no repository that is as git makes one", a.Short(root))
	}
	dir, err := os.OpenRoot(r.Common) // no link leads out of it
	if err != nil {
		return err
	}
	defer dir.Close()
	if fi, err := dir.Lstat("info/exclude"); err == nil && !fi.Mode().IsRegular() { // nor to another file, and no FIFO holds this up
		return fmt.Errorf("%s/info/exclude is no file", a.Short(r.Common))
	}
	data, err := dir.ReadFile("info/exclude")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text := strings.TrimSuffix("\n"+string(data), "\n") + "\n"
	place := strings.ReplaceAll(gitignore.Escape(strings.TrimPrefix(root+"/.inner/", r.Top)), "\n", "?") + "\n"
	named := strings.Contains(text, "\n"+place)
	if !private {
		if !named {
			a.Say(".inner may be committed, for all who work here; inner init --private keeps it out of git")
		}
		return nil
	}
	if !named {
		err = errors.Join(dir.MkdirAll("info", 0o755), dir.WriteFile("info/exclude", []byte(text[1:]+place), 0o644))
	}
	if err == nil {
		a.Say("%s keeps out of git what of .inner is not committed", a.Short(filepath.Join(r.Common, "info/exclude")))
	}
	return err
}
