package plan

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/profile"
)

// site is the table of sensitive resources for a run.
func site(rc profile.RunConfig, f host.Facts) sensitive.Site {
	run := sensitive.Run{
		Homes: f.Homes(), UID: f.UID, Roots: projectRoots(rc), Folders: []string{rc.Cwd, rc.Workdir, rc.Project}, Apart: apart(rc, f),
		Env: f.Env, Set: map[string][]string{},
	}
	for _, kv := range rc.Env.Set {
		run.Set[kv.Key] = append(run.Set[kv.Key], kv.Value)
	}
	for _, m := range rc.Mounts {
		run.Mounted = append(run.Mounted, m.Dest)
	}
	return sensitive.NewSite(run)
}

// apart are the folders whose programs are the box's to change, or hidden. A home is none of them.
func apart(rc profile.RunConfig, f host.Facts) []string {
	return slices.DeleteFunc(append(f.InnerHomes(), rc.Workdir, rc.Project), func(p string) bool { return slices.Contains(f.Homes(), p) })
}

// ProgramFolders are the folders of programs of the home that the caller's PATH has.
func ProgramFolders(rc profile.RunConfig, f host.Facts) []string {
	return sensitive.Programs(f.Env["PATH"], f.Homes(), apart(rc, f))
}

// folderNames are the names of what is in folders, in lower case.
type folderNames map[string]map[string]bool

// site is the table as far as it is there: what the facts know of nothing below is left out
// before it is spelled.
func (b *builder) site() sensitive.Site {
	if b.known != nil {
		return b.found
	}
	b.known = folderNames{}
	for p, info := range b.f.Paths {
		if info.Kind == host.Missing {
			continue
		}
		for dir := filepath.Dir(p); dir != p; p, dir = dir, filepath.Dir(dir) {
			name := strings.ToLower(filepath.Base(p))
			if b.known[dir][name] {
				break
			}
			if b.known[dir] == nil {
				b.known[dir] = map[string]bool{}
			}
			b.known[dir][name] = true
		}
	}
	b.found = site(b.rc, b.f)
	b.found.Names = func(dir string) (map[string]bool, bool) { return b.known[dir], true }
	return b.found
}

// ResourceAt returns the key of the sensitive resource that a host path is, or lies in.
func ResourceAt(p string, rc profile.RunConfig, f host.Facts) string { return site(rc, f).KeyAt(p) }

// Holding returns, for host.Probe, the patterns of files that count only when they
// hold a text.
func Holding(rc profile.RunConfig, f host.Facts) map[string]string { return site(rc, f).Holding() }

// Places is the table for one run, for those who check a box against it: the rows that
// stand for anything here.
func Places(rc profile.RunConfig, f host.Facts) []sensitive.Place {
	return slices.DeleteFunc(site(rc, f).Places(f.Globs), func(p sensitive.Place) bool { return len(p.At) == 0 })
}

// projectRoots are the folders whose own secret files are hidden: what a
// person works in.
func projectRoots(rc profile.RunConfig) []string {
	var out []string
	add := func(p string) {
		if p != "" && p != "/" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	add(rc.Project)
	add(rc.Workdir)
	for _, m := range rc.Mounts {
		if m.Mode != profile.Tmpfs {
			add(m.Source)
		}
	}
	return out
}

// HiddenFiles returns the real paths of the files in a folder that the table hides.
func HiddenFiles(rc profile.RunConfig, f host.Facts, dir string) (out []string) {
	for _, r := range Places(rc, f) {
		if r.Method == "place" || slices.Contains(rc.Allow, r.Key) {
			continue
		}
		for _, p := range r.At {
			if at := f.Paths[p]; at.Kind == host.File && paths.Inside(dir, at.Real) && !slices.Contains(out, at.Real) {
				out = append(out, at.Real)
			}
		}
	}
	return out
}
