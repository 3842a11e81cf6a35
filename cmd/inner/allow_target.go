package main

// What the words of inner allow name: a project, or profiles of it, also such as are only on record.

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
)

// target is what inner allow is about.
type target struct {
	place settings.Place
	files []string
	one   bool // a single file was named
}

// target finds the project here, or the project or the one profile of it that a path or name leads to. With
// recorded, what is gone but on record can be named, too.
func (a *app) target(path string, recorded bool) (t target, err error) {
	dir, file, there, err := a.whereTo(path, recorded)
	if err != nil {
		return t, err
	}
	if file != "" {
		t.one, t.files = true, []string{file}
	}
	var rec *profile.Project
	if recorded {
		rec = a.onRecord(dir)
	}
	t.place = settings.Place{Cwd: dir, Project: a.ProjectOf(dir)}
	gone := !there && !t.one // what is gone names a project that is gone with it, never one above it
	switch {
	case gone && (rec == nil || files.Exists(rec.Root)):
		return t, cli.Usagef("%q does not exist", path)
	case rec != nil && (gone || t.place.Project == nil):
		t.place.Project = rec
		return t, nil
	case t.place.Project == nil:
		return t, fault.Refuse(1, "inner init",
			"no project here: %s has no .inner/profiles, nor has any folder above it", a.Short(dir))
	case t.one && dir != filepath.Join(t.place.Project.Dir, "profiles") && !(recorded && filepath.Base(file) == "config.toml"):
		return t, cli.Usagef("%q is not a profile of the project: those are in %q", path,
			filepath.Join(t.place.Project.Dir, "profiles"))
	}
	if p := t.place.Project.Problem; p != nil {
		return t, fault.Refuse(126, ownFolder, "%s is not used: %v", t.place.Project.Dir, p)
	}
	if p := t.place.Project; p.FromMain() { // what the main worktree has is decided on there
		t.place = settings.Place{Cwd: p.Of, Project: a.ProjectOf(p.Of)}
	}
	if !t.one {
		t.files, err = t.place.Project.ProfileFiles()
	}
	return t, err
}

// ownFolder is what to do with a .inner that others can write.
const ownFolder = "make it a folder of yours that nobody else can write (chown, chmod -R go-w)"

// whereTo is the folder that a path or the name of a profile leads to, and the profile when it
// is one; there: it exists. With recorded it need not. Nothing is the folder of the call.
func (a *app) whereTo(path string, recorded bool) (dir, file string, there bool, err error) {
	if path == "" {
		pl, err := a.Here()
		return pl.Cwd, "", true, err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", "", false, err
	}
	if named := a.named(path, recorded); named != "" {
		abs = named
	}
	fi, err := os.Stat(abs)
	there = err == nil
	real := files.Real(filepath.Dir(abs)) + "/" + filepath.Base(abs)
	switch {
	case !there && !recorded:
		return "", "", false, cli.Usagef("%q does not exist; a host is allowed by: inner allow host:NAME, a folder by: inner allow folder:PATH", path)
	case there && fi.IsDir():
		return files.Real(abs), "", true, nil
	case strings.HasSuffix(real, ".toml"):
		return filepath.Dir(real), real, there, nil
	case there:
		return "", "", true, cli.Usagef("%q is neither a project nor a profile", path)
	}
	return real, "", false, nil
}

// named is the file of the profile of this project that is called so, as inner status
// calls it, with recorded also of one that is gone; "" when there is none.
func (a *app) named(name string, recorded bool) string {
	pl, err := a.Here()
	if err != nil || pl.Project == nil || strings.Contains(name, "/") {
		return ""
	}
	file := filepath.Join(pl.Project.Dir, "profiles", name+".toml")
	if _, err := os.Lstat(file); err == nil {
		return file
	}
	if rec, err := a.Trust().Project(pl.Root()); recorded && err == nil && rec.Profile(file) != nil {
		return file
	}
	return ""
}

// onRecord is the project that was at dir, or above it, when something was
// decided about it; its .inner may be gone.
func (a *app) onRecord(dir string) *profile.Project {
	for ; ; dir = filepath.Dir(dir) {
		rec, err := a.Trust().Project(dir)
		if err != nil || rec != nil && (len(rec.Profiles) > 0 || rec.Config != nil) {
			return &profile.Project{Root: dir, Dir: filepath.Join(dir, ".inner")}
		}
		if dir == "/" {
			return nil
		}
	}
}

// targets is what the words of inner allow name: a project, or some of its profiles.
func (a *app) targets(args []string) (target, error) {
	if len(args) < 2 {
		return a.target(strings.Join(args, ""), false)
	}
	var all target
	for i, arg := range args {
		t, err := a.target(arg, false)
		switch {
		case err != nil:
			return t, err
		case !t.one:
			return t, cli.Usagef("%q is a project: name it alone", arg)
		case i > 0 && t.place.Root() != all.place.Root():
			return t, cli.Usagef("%q is a profile of another project than %q", arg, args[0])
		case i == 0:
			all = t
		case !slices.Contains(all.files, t.files[0]):
			all.files = append(all.files, t.files[0])
		}
	}
	return all, nil
}
