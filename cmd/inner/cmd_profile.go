package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
)

func (a *app) cmdProfile() *cobra.Command {
	return cli.Noun(&cobra.Command{
		Use: "profile", Short: "List, show, write and compare profiles",
		Long: "Profiles are TOML files: your own in ~/.inner/profiles, a project's in .inner/profiles.\n" +
			"Where a command takes a NAME, the project's profile of that name takes precedence; a file is\n" +
			"named with a slash, as ./FILE.",
	},
		a.cmdProfileList(), a.cmdProfileShow(), a.cmdProfileNew(), a.cmdProfileEdit(), a.cmdProfileClone(),
		a.cmdProfileDelete(), a.cmdProfileDiff(), a.cmdProfileValidate(), a.cmdProfileInstall(), a.cmdProfileIndex(),
	)
}

// found is a profile somebody named, not yet read.
type found struct {
	place  settings.Place
	loader *profile.Loader
	path   string
	scope  profile.Scope
}

// find is a profile by name, ./FILE or absolute path, for looking at: nothing
// is run, so no approval is needed. No name is the default profile.
func (a *app) find(name string) (found, error) {
	pl, err := a.Ready()
	if err != nil {
		return found{}, err
	}
	f := found{place: pl, loader: a.Loader(pl)}
	if profile.IsURL(name) {
		return f, settings.NoURL(name)
	}
	if name == "" {
		if name, err = a.DefaultProfile(pl); err != nil {
			return f, err
		}
	}
	if strings.ContainsRune(name, '/') {
		f.path, f.scope = a.Absolute(name, pl.Cwd), profile.Direct
		return f, nil
	}
	f.path, f.scope, err = f.loader.Find(name)
	return f, err
}

// profilesOf are the profiles of a place, by name: those of the project, and after them the user's own.
func (a *app) profilesOf(pl settings.Place) (list []found, err error) {
	l := a.Loader(pl)
	add := func(files []string, scope profile.Scope) {
		for _, f := range slices.SortedFunc(slices.Values(files),
			func(x, y string) int { return strings.Compare(cli.NameOf(x), cli.NameOf(y)) }) {
			list = append(list, found{pl, l, f, scope})
		}
	}
	if l.Project != nil {
		files, err := l.Project.ProfileFiles()
		if err != nil {
			return nil, err
		}
		add(files, profile.Local)
	}
	files, err := l.GlobalFiles()
	add(files, profile.Global)
	return list, err
}

// load reads it.
func (f found) load() (*profile.Profile, error) { return f.loader.Load(f.path, f.scope) }

// ownProfile is the place of a profile of the user's own.
func (a *app) ownProfile(pl settings.Place, name string) found {
	return found{place: pl, loader: a.Loader(pl), path: filepath.Join(a.ProfilesDir(), name+".toml"), scope: profile.Global}
}

// resolveHere resolves a profile as a run from here would. A working folder
// that cannot be used is not the profile's fault, and not an error.
func (a *app) resolveHere(f found, p *profile.Profile) (profile.RunConfig, profile.Context, error) {
	rc, c, err := a.Spec(p, f.place, profile.Overrides{}, f.scope == profile.Local)
	if r := fault.AsRefusal(err); r != nil && r.Kind == fault.KindWorkdir {
		err = nil
	}
	return rc, c, err
}

// grantsOf is what a profile grants in a run from here.
func (a *app) grantsOf(f found, p *profile.Profile) ([]profile.Grant, error) {
	rc, _, err := a.resolveHere(f, p)
	return profile.Grants(rc), err
}

// changeOf is what a profile grants here more and less than the one in whose place it comes.
func (a *app) changeOf(f found, old, now *profile.Profile) (wider, narrower []profile.Grant, err error) {
	was, err := a.grantsOf(f, old)
	if err != nil {
		return nil, nil, err
	}
	will, err := a.grantsOf(f, now)
	wider, narrower = profile.DiffGrants(was, will)
	return wider, narrower, err
}

// printGrants prints a line for each grant.
func (a *app) printGrants(list []profile.Grant) {
	for _, g := range list {
		fmt.Fprintf(a.Err, "  %s\n", cli.Printable(g.Text))
	}
}

// checkName is a CheckName that ends in a usage error.
func checkName(name string) error {
	if err := profile.CheckName(name); err != nil {
		return cli.Misuse(err)
	}
	return nil
}
