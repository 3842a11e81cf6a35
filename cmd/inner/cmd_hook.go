package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/hooks"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile/trust"
	"github.com/enr/inner/shims"
)

func (a *app) folder() shims.Folder { return shims.Folder{Home: a.InnerHome} }

// inBox reports whether this is inside a sandbox.
func inBox() bool { return shims.InBox() }

func (a *app) site() shims.Site {
	return shims.Site{InnerHome: a.InnerHome, Home: a.Home, Path: os.Getenv("PATH")}
}

// regenerate brings the shim folder up to date after something changed, and
// has every prompt look again.
func (a *app) regenerate() error {
	a.ForgetRecords() // what is recorded has changed
	report, err := shims.Regenerate(a.site())
	if err != nil {
		return err
	}
	if !report.Changed() {
		return a.folder().Bump()
	}
	return nil
}

func (a *app) cmdHook() *cobra.Command {
	c := &cobra.Command{
		Use: "hook [bash|zsh|fish]", Short: "Print the hook of a shell, for eval",
		Long: "Print the hook of a shell. Put it last in the shell's start-up file, with the\nabsolute path of inner:\n\n" +
			"  bash, zsh: eval \"$(~/.local/bin/inner hook bash)\"\n  fish:      ~/.local/bin/inner hook fish | source\n\n" +
			"Without a shell, print that line for yours, or where it is already.",
		Args: cobra.MaximumNArgs(1), ValidArgs: hooks.Shells(),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				a.printHookLine()
				return nil
			}
			return a.hook(args[0])
		},
	}
	return c
}

func (a *app) hook(shell string) error {
	f := a.folder()
	text, err := hooks.Script(shell, hooks.Vars{Inner: f.Binary(), Command: a.commandPath(), ShimDir: f.Bin(), StateFile: f.StateFile()})
	if err != nil {
		return usage{err}
	}
	if !inBox() {
		// The first hook is often the first use: a profile of a project may extend
		// a built-in one, which has to be there when the prompt looks at it.
		a.warnIf(a.firstUse())
		// A new shell is where the shims are first made, and an upgrade is
		// noticed. The look is short: the first prompt takes a thorough one.
		own, err := os.Stat("/proc/self/exe")
		have, herr := os.Stat(f.Binary())
		if _, serr := os.Stat(f.StateFile()); err != nil || herr != nil || serr != nil || own.Size() != have.Size() ||
			unix.Access(f.Binary(), unix.X_OK) != nil {
			_, err := shims.Regenerate(a.site())
			a.warnIf(err)
		}
	}
	_, err = fmt.Fprint(tell.Raw(a.stdout), text)
	return err
}

// hookState answers the hook of a running shell (`inner __hook`);
// hooks/state.go has the protocol.
func (a *app) hookState(args []string) error {
	start := time.Now()
	req, err := hooks.ParseRequest(args)
	if err != nil {
		return err
	}
	if len(req.Shadows) > 0 {
		fmt.Fprint(tell.Raw(a.stdout), hooks.RenderShadows(req.Shell, req.Shadows))
		return nil
	}
	f := a.folder()
	u := hooks.Update{Flush: true}
	pl, err := a.Here()
	if err != nil {
		// Said once for this folder: the key is not empty and stays the same.
		u.Key = hooks.NewKey("gone", req.PWD)
		if u.Key != req.Key {
			a.Warn("%s", err)
		}
		fmt.Fprint(tell.Raw(a.stdout), hooks.Render(req.Shell, u))
		return nil
	}
	paths := []string{filepath.Join(pl.Cwd, ".inner")}
	if pl.Project != nil {
		view := a.look(pl)
		paths = a.watchedPaths(view, paths)
		if a.enter(view) {
			view = a.look(pl)
		}
		text, sick := a.notice(view)
		u.Key = hooks.NewKey(view.Root, text)
		if u.Key != req.Key && sick {
			a.Say("%s", text)
		}
	}
	// Names follow what the projects claim now. Shells that wait for a change in
	// another project must still see it: a new generation makes them look.
	report, err := shims.Regenerate(a.site())
	if err != nil {
		if u.Key == "" {
			u.Key = hooks.NewKey("regenerate", err.Error())
		}
		if u.Key != req.Key {
			a.Warn("%s", err)
		}
	} else if !report.Changed() && newer(paths, f.StateFile()) {
		if err := errors.Join(f.Bump(), f.Touch(start)); err != nil && u.Key != req.Key {
			a.Warn("%s", err)
		}
	}
	u.Watch, u.Absent = hooks.Observe(paths, time.Now())
	u.Names = a.watchedNames()
	if mark, token, err := hooks.Mark(f.StateFile()); err == nil {
		u.Mark, u.Token = mark, token
	} else {
		u.Token = f.ReadState().Generation
	}
	fmt.Fprint(tell.Raw(a.stdout), hooks.Render(req.Shell, u))
	return nil
}

// watchedNames are the commands claimed here that have a shim: those of which a shell
// must not know something else.
func (a *app) watchedNames() []string {
	return slices.DeleteFunc(shims.Claimed(shims.HostEnv(shims.Call{InnerHome: a.InnerHome})), func(name string) bool {
		return !isLink(filepath.Join(a.ShimDir(), name))
	})
}

// enter remembers that the user is in a project, so that its claims have
// shims, and has the prefixes of the user's own config.toml answer. It reports whether that is news.
func (a *app) enter(v *shims.View) bool {
	return a.askPrefixes(v) || a.enterNew(v)
}

// visit enters the project of a place, and makes its shims when that is news.
func (a *app) visit(pl settings.Place) {
	if a.enter(a.look(pl)) {
		a.warnIf(a.regenerate())
	}
}

// warnIf tells an error that is no reason to stop.
func (a *app) warnIf(err error) {
	if err != nil {
		a.Warn("%s", err)
	}
}

func (a *app) enterNew(v *shims.View) bool {
	known := v.Record != nil && (v.Record.Of == nil || !v.Record.Entered.IsZero())
	if known || v.RecordErr != nil || inBox() {
		return false
	}
	a.ForgetRecords()
	err := a.Trust().Enter(v.Root)
	a.warnIf(err)
	return err == nil
}

// look is the current project as a decision sees it.
func (a *app) look(pl settings.Place) *shims.View {
	return shims.Home{Inner: a.InnerHome, User: a.Home}.Look(pl.Project)
}

// watchedPaths are the files and folders whose change is a change of the
// project.
func (a *app) watchedPaths(v *shims.View, paths []string) []string {
	// Each costs a file test at every prompt. A folder tells of what comes, goes
	// and is saved by rename; the user's own global profiles need no approval.
	paths = append(paths, v.Project.Dir, filepath.Join(v.Project.Dir, "profiles"))
	if v.ConfigFile != nil {
		paths = append(paths, v.ConfigFile.Path)
	}
	global := a.ProfilesDir() + "/"
	for _, p := range v.Profiles {
		if p.State == trust.Deleted || p.Unread {
			continue
		}
		paths = append(paths, p.Path)
		if p.Profile != nil {
			for _, f := range p.Profile.Files {
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
	return err == nil && slices.ContainsFunc(paths, func(p string) bool {
		fi, err := os.Stat(p)
		return err == nil && fi.ModTime().After(s.ModTime())
	})
}

// trouble says why a profile is not in force, and what to type when that is not "inner allow".
func (a *app) trouble(v *shims.View, p shims.ProfileView) (what, fix string) {
	switch p.State {
	case trust.Untrusted:
		return "is not allowed", ""
	case trust.Changed:
		what = "changed since it was allowed"
		if p.Profile != nil {
			what += a.WhatChanged(settings.Place{Cwd: v.Root, Project: v.Project}, p.Profile)
		}
		return what, ""
	case trust.Deleted:
		return "was allowed and is gone", "inner revoke " + quoted(p.Path)
	case shims.Broken:
		return "is not valid", "inner profile validate " + p.Name
	}
	return "is " + string(p.State), ""
}

// notice is the state of a project in one line, and whether it needs the user.
func (a *app) notice(v *shims.View) (text string, sick bool) {
	root := a.Short(v.Root)
	if v.RecordErr != nil {
		return fmt.Sprintf("%s: the trust record cannot be read; its commands refuse to run: type `inner revoke`", root), true
	}
	if v.Project != nil && v.Project.Problem != nil {
		return fmt.Sprintf("%s: .inner is not used: %v; type `inner status`", root, v.Project.Problem), true
	}
	var troubles, refuse, active []string
	typed := "inner allow"
	for _, p := range v.Profiles {
		var words []string
		for _, c := range p.Claims {
			if c.Guarded && !slices.Contains(words, c.Command) {
				words = append(words, c.Command)
			}
		}
		switch p.State {
		case trust.Allowed:
			active = append(active, words...)
		case trust.Denied: // remembered, and silent
		default:
			what, fix := a.trouble(v, p)
			troubles = append(troubles, fmt.Sprintf("profile %q %s", p.Name, what))
			typed = cmp.Or(fix, typed)
			refuse = append(refuse, words...)
		}
	}
	if len(troubles) == 0 && v.ConfigFile != nil && v.ConfigState != trust.Allowed && v.ConfigState != trust.Denied {
		troubles = append(troubles, "config.toml is "+string(v.ConfigState))
	}
	if len(troubles) == 0 {
		return root + ": " + strings.Join(active, ","), false
	}
	slices.Sort(refuse)
	refuse = slices.Compact(refuse)
	effect := ""
	if len(refuse) > 0 {
		if len(refuse) > 4 {
			refuse = append(refuse[:4], "…")
		}
		effect = strings.Join(refuse, ", ") + " will refuse to run; "
	}
	return fmt.Sprintf("%s: %s; %stype `%s`", root, strings.Join(visible.Some(troubles, 2), ", "), effect, typed), true
}
