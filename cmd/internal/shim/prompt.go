package shim

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/hooks"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile/trust"
	"github.com/enr/inner/shims"
)

// askPrefixes has the prefixes answer for a project, and reports whether they allowed
// something.
func (p *Process) askPrefixes(v *shims.View) bool {
	if shims.InBox() || v.Project == nil || v.RecordErr != nil {
		return false
	}
	news, _, err := p.AllowPrefixed(settings.Place{Cwd: v.Root, Project: v.Project})
	p.WarnIf(err)
	return news
}

// prefixAnswers does that where a shim refuses, for the project that refuses.
func (p *Process) prefixAnswers(d shims.Decision) bool {
	if d.Kind != shims.Refuse || len(d.Views) == 0 || d.State != trust.Untrusted && d.State != trust.Changed {
		return false
	}
	if !p.askPrefixes(d.Views[len(d.Views)-1]) {
		return false
	}
	p.WarnIf(p.Regenerate())
	return true
}

// Prompt answers the hook of a running shell (`inner __hook`);
// hooks/state.go has the protocol.
func (p *Process) Prompt(args []string) error {
	start := time.Now()
	req, err := hooks.ParseRequest(args)
	if err != nil {
		return err
	}
	if len(req.Shadows) > 0 {
		fmt.Fprint(tell.Raw(p.stdout), hooks.RenderShadows(req.Shell, req.Shadows))
		return nil
	}
	f := p.Folder()
	u := hooks.Update{Flush: true}
	pl, err := p.Here()
	if err != nil {
		// Said once for this folder: the key is not empty and stays the same.
		u.Key = hooks.NewKey("gone", req.PWD)
		if u.Key != req.Key {
			p.Warn("%s", err)
		}
		fmt.Fprint(tell.Raw(p.stdout), hooks.Render(req.Shell, u))
		return nil
	}
	paths := append([]string{filepath.Join(pl.Cwd, ".inner")}, mayCome(pl.Cwd)...)
	var view *shims.View
	if pl.Project != nil {
		view, paths = p.inProject(pl, paths)
	}
	if gone := p.Gone(pl.Cwd); gone != nil {
		view, paths = gone, append(paths, filepath.Join(gone.Root, ".inner"))
	}
	if view != nil {
		p.tellState(view, req, &u)
	}
	p.renew(req, &u, paths, start)
	u.Watch, u.Absent = hooks.Observe(paths, time.Now())
	u.Names = p.watchedNames()
	if u.Token = f.ReadState().Generation; files.Exists(f.Mark(u.Token)) {
		u.Mark = f.Mark(u.Token)
	}
	fmt.Fprint(tell.Raw(p.stdout), hooks.Render(req.Shell, u))
	return nil
}

// mayCome are the .inner folders that a pull may bring: those of the repositories that a folder is in.
func mayCome(dir string) (list []string) {
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if files.Exists(filepath.Join(dir, ".git")) {
			list = append(list, filepath.Join(dir, ".inner"))
		}
	}
	return list
}

// inProject is a project as a prompt in it finds it, which is entered so, and the paths to watch with the project's.
func (p *Process) inProject(pl settings.Place, paths []string) (*shims.View, []string) {
	view := p.Look(pl)
	paths = p.watchedPaths(view, paths)
	if p.Enter(view) {
		view = p.Look(pl)
	}
	return view, paths
}

// tellState gives a prompt the notice of a project.
func (p *Process) tellState(view *shims.View, req hooks.Request, u *hooks.Update) {
	text, needsUser := p.notice(view)
	u.Key = hooks.NewKey(view.Root, text)
	if u.Key != req.Key && needsUser && !p.leftOpen(u.Key) {
		p.Say("%s", text)
	}
}

// renew brings the shims and their state up to date, for a look at the paths that began at start.
func (p *Process) renew(req hooks.Request, u *hooks.Update, paths []string, start time.Time) {
	f := p.Folder()
	// Names follow what the projects claim now. Shells that wait for a change in
	// another project must still see it: a new generation makes them look.
	report, err := shims.Regenerate(p.Site())
	if err != nil {
		if u.Key == "" {
			u.Key = hooks.NewKey("regenerate", err.Error())
		}
		if u.Key != req.Key {
			p.Warn("%s", err)
		}
	} else if !report.Changed() && newer(paths, f.StateFile()) {
		if err := errors.Join(f.Bump(), f.Touch(start)); err != nil && u.Key != req.Key {
			p.Warn("%s", err)
		}
	}
}

// watchedNames are the commands claimed here that have a shim: those of which a shell
// must not know something else.
func (p *Process) watchedNames() []string {
	return slices.DeleteFunc(shims.Claimed(shims.HostEnv(shims.Call{InnerHome: p.InnerHome})), func(name string) bool {
		_, err := os.Readlink(filepath.Join(p.ShimDir(), name))
		return err != nil
	})
}

// Enter remembers that the user is in a project, so that its claims have
// shims, and has the prefixes of the user's own config.toml answer. It reports whether that is news.
func (p *Process) Enter(v *shims.View) bool {
	return p.askPrefixes(v) || p.enterNew(v)
}

// Visit enters the project of a place, and makes its shims when that is news.
func (p *Process) Visit(pl settings.Place) {
	if p.Enter(p.Look(pl)) {
		p.WarnIf(p.Regenerate())
	}
}

func (p *Process) enterNew(v *shims.View) bool {
	known := v.Record != nil && (v.Record.Of == nil || !v.Record.Entered.IsZero())
	if known || v.RecordErr != nil || shims.InBox() {
		return false
	}
	p.Forget()
	err := p.Trust().Enter(v.Root)
	p.WarnIf(err)
	return err == nil
}

// watchedPaths are the files and folders whose change is a change of the
// project.
func (p *Process) watchedPaths(v *shims.View, paths []string) []string {
	// Each costs a file test at every prompt. A folder tells of what comes, goes
	// and is saved by rename; the user's own global profiles need no approval.
	paths = append(paths, v.Project.Dir, filepath.Join(v.Project.Dir, "profiles"))
	if v.Config.File != nil {
		paths = append(paths, v.Config.File.Path)
	}
	global := p.ProfilesDir() + "/"
	for _, it := range v.Profiles {
		if it.State == trust.Deleted || it.Unread {
			continue
		}
		paths = append(paths, it.Path)
		if it.Profile != nil {
			for _, f := range it.Profile.Files {
				if !strings.HasPrefix(f.Path, global) {
					paths = append(paths, f.Path)
				}
			}
		}
	}
	return paths
}

// newer reports whether one of the paths changed after the state file was
// last checked.
func newer(paths []string, state string) bool {
	s, err := os.Stat(state)
	return err == nil && slices.ContainsFunc(paths, func(path string) bool {
		fi, err := os.Stat(path)
		return err == nil && fi.ModTime().After(s.ModTime())
	})
}

// trouble says why a profile is not in force, and what to type when that is not "inner allow".
func (p *Process) trouble(v *shims.View, it shims.ProfileView) (what, fix string) {
	switch it.State {
	case trust.Untrusted:
		return "is not allowed", ""
	case trust.Changed:
		what = "changed since it was allowed"
		if it.Profile != nil {
			what += p.WhatChanged(settings.Place{Cwd: v.Root, Project: v.Project}, it.Profile)
		}
		return what, ""
	case trust.Deleted:
		return "was allowed and is gone", trust.PutBack(v.Root, it.Path)
	case shims.Broken:
		return "is not valid", "type `inner profile validate " + it.Name + "`"
	}
	return "is " + string(it.State), ""
}

// openFile has the key of the notice that a person was just asked about and left open.
func (p *Process) openFile() string { return filepath.Join(p.InnerHome, "shims", "open") }

// LeaveOpen keeps the next prompt from saying what a person was just asked about.
func (p *Process) LeaveOpen(pl settings.Place) {
	view := p.Look(pl)
	text, _ := p.notice(view)
	_ = files.Write(p.openFile(), []byte(hooks.NewKey(view.Root, text)), 0o600) // else it is said
}

// leftOpen reports, once, whether a person was just asked about a notice.
func (p *Process) leftOpen(key string) bool {
	was, err := files.Read(p.openFile(), files.NoLinks, 64)
	return err == nil && string(was) == key && os.Remove(p.openFile()) == nil
}

// notice is the state of a project in one line, and whether it needs the user.
func (p *Process) notice(v *shims.View) (text string, needsUser bool) {
	root := p.Short(v.Root)
	if v.RecordErr != nil {
		return fmt.Sprintf("%s: the trust record cannot be read; its commands refuse to run: type `inner allow --forget`, then `inner allow`", root), true
	}
	if v.Project != nil && v.Project.Problem != nil {
		return fmt.Sprintf("%s: .inner is not used: %v; type `inner status`", root, v.Project.Problem), true
	}
	var troubles, refuse, active []string
	typed := "type `inner allow`"
	for _, it := range v.Profiles {
		words := guarded(it)
		switch it.State {
		case trust.Allowed:
			active = append(active, words...)
		case trust.Denied: // remembered, and silent
		default:
			what, fix := p.trouble(v, it)
			troubles = append(troubles, fmt.Sprintf("profile %q %s", it.Name, what))
			typed = cmp.Or(fix, typed)
			refuse = append(refuse, words...)
		}
	}
	if len(troubles) == 0 && v.Config.File != nil && v.Conf.State != trust.Allowed && v.Conf.State != trust.Denied {
		troubles = append(troubles, "config.toml is "+string(v.Conf.State))
	}
	if len(troubles) == 0 {
		return root + ": " + strings.Join(active, ","), false
	}
	return fmt.Sprintf("%s: %s; %s%s", root, strings.Join(visible.Some(troubles, 2), ", "), willRefuse(refuse), typed), true
}

// guarded are the commands that a profile claims and that have a shim for it, each once.
func guarded(it shims.ProfileView) (words []string) {
	for _, c := range it.Claims {
		if c.Guarded && !slices.Contains(words, c.Command) {
			words = append(words, c.Command)
		}
	}
	return words
}

// willRefuse says which commands will not run, the first four of them; "" for none.
func willRefuse(commands []string) string {
	if len(commands) == 0 {
		return ""
	}
	slices.Sort(commands)
	commands = slices.Compact(commands)
	if len(commands) > 4 {
		commands = append(commands[:4], "…")
	}
	return strings.Join(commands, ", ") + " will refuse to run; "
}
