package features

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/gitconfig"
)

// dots finds what is not shown of a home that is the host's (plan's dots).
func dots() Feature {
	look := func(run *Run) error {
		run.Facts.Dots, run.Facts.DotsShown = nil, nil
		if run.Spec.HidesHome() || run.Facts.Engine != nil {
			return nil
		}
		for _, home := range run.Facts.Homes() {
			if err := dotsOf(run, home); err != nil {
				return err
			}
		}
		return nil
	}
	return Feature{Name: "dot entries of the home", Learn: look}
}

func dotsOf(run *Run, home string) error {
	real := files.Real(home)
	list, err := os.ReadDir(real)
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
		return nil // the plan refuses a home that cannot be looked into, where there is one
	case err != nil:
		return &fault.Refusal{Code: 125, Msg: "what is to be hidden in your home folder cannot be found: " + err.Error(), Hint: "try again"}
	}
	f := &run.Facts
	for _, c := range list {
		if !strings.HasPrefix(c.Name(), ".") {
			continue
		}
		d := host.Dot{Name: c.Name(), Path: filepath.Join(real, c.Name()), Kind: host.File}
		shown := shownBelow(d.Name)
		for _, rel := range shown {
			if p := filepath.Join(home, rel); files.Exists(p) {
				f.DotsShown = append(f.DotsShown, p)
			}
		}
		switch {
		case slices.Contains(shown, d.Name): // all of it
			continue
		case c.Type()&fs.ModeSymlink != 0:
			d.Kind, d.Leads = host.Link, fileIn(real, d.Path)
		case c.IsDir():
			d.Kind = host.Dir
			inside, _ := os.ReadDir(d.Path) // what we cannot list the box cannot either, and it is covered
			for _, at := range inside {
				if at.Type()&fs.ModeSymlink != 0 {
					d.Leads = append(d.Leads, fileIn(real, filepath.Join(d.Path, at.Name()))...)
				}
			}
		}
		f.Dots = append(f.Dots, d)
	}
	f.DotsShown = append(f.DotsShown, plan.ProgramFolders(run.Spec, *f)...)
	if run.Spec.Git == nil {
		f.DotsShown = append(f.DotsShown, gitsOwn(run, home)...)
	}
	return nil
}

// gitsOwn are the files of the home that the user's settings of git are in, and those that they
// name as git reads them.
func gitsOwn(run *Run, home string) []string {
	list, from, _ := gitconfig.Environment(run.Getenv).User()
	for _, e := range list {
		if slices.Contains([]string{"core.excludesfile", "core.attributesfile", "core.hookspath", "commit.template", "init.templatedir", "gpg.ssh.allowedsignersfile"}, e.Key) {
			from = append(from, gitconfig.Pathname(e.Value, filepath.Dir(e.File), home))
		}
	}
	return slices.DeleteFunc(from, func(p string) bool { return !paths.Inside(home, p) || !files.Exists(p) })
}

// shownBelow returns what is shown of an entry of the home: itself, or paths below it.
func shownBelow(name string) []string {
	return slices.DeleteFunc(profile.DotEntries(), func(rel string) bool { return rel != name && !strings.HasPrefix(rel, name+"/") })
}

// fileIn returns the file that a link leads to, if it is in the home.
func fileIn(home, link string) []string {
	at := files.Real(link)
	if !paths.Inside(home, at) || at == link || host.Look(at).Kind != host.File {
		return nil
	}
	return []string{at}
}
