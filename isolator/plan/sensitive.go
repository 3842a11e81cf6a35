package plan

import (
	"slices"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/profile"
)

// site is the table of sensitive resources for a run.
func site(rc profile.RunConfig, f host.Facts) sensitive.Site {
	run := sensitive.Run{
		Homes: f.Homes(), UID: f.UID, Roots: projectRoots(rc), Folders: slices.Compact([]string{rc.Cwd, rc.Workdir, rc.Project}), Apart: apart(rc, f),
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
	return slices.DeleteFunc(append(f.InnerHomes(), rc.Workdir, rc.Project),
		func(p string) bool { return slices.Contains(f.Homes(), p) })
}

// ProgramFolders are the folders of programs of the home that the caller's PATH has.
func ProgramFolders(rc profile.RunConfig, f host.Facts) []string {
	return sensitive.Programs(f.Env["PATH"], f.Homes(), apart(rc, f))
}

// site is the table for this run, without what is known to be not there.
func (b *builder) site() sensitive.Site {
	if b.found == nil {
		found := site(b.rc, b.f)
		found.Names = b.f.Names()
		b.found = &found
	}
	return *b.found
}

// StartupPlaces returns the start-up files and folders of the user, there or not, for host.Probe. Of f it
// needs who the user is and the environment.
func StartupPlaces(rc profile.RunConfig, f host.Facts) []string {
	places, files := newBuilder(rc, f, Staged{}).site().Startup()
	return slices.Concat(places, files)
}

// ResourceAt returns the key of the sensitive resource that a host path is, or lies in.
func ResourceAt(p string, rc profile.RunConfig, f host.Facts) string { return site(rc, f).KeyAt(p) }

// KeyOfFile returns the key of the table by which a file is hidden, by its real path; "" for what no key hides alone.
func KeyOfFile(real string, rc profile.RunConfig, f host.Facts) string {
	for _, h := range newBuilder(rc, f, Staged{}).hidden() {
		if h.is(real, h.key) && h.key != hideKey {
			return h.key
		}
	}
	return ""
}

// Places is the table for one run, for those who check a box against it: the rows that
// stand for anything here.
func Places(rc profile.RunConfig, f host.Facts) []sensitive.Place {
	return slices.DeleteFunc(site(rc, f).Places(f.Match), func(p sensitive.Place) bool { return len(p.At) == 0 })
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

// HiddenPlaces returns the real paths of the folders that a box has hidden, with all that is in them, and of
// the files that the table hides.
func HiddenPlaces(rc profile.RunConfig, f host.Facts) (folders, files []string) {
	for _, h := range newBuilder(rc, f, Staged{}).hidden() {
		switch {
		case h.kind == host.Dir && !slices.Contains(folders, h.real):
			folders = append(folders, h.real)
		case h.kind == host.File && h.key != hideKey && !slices.Contains(files, h.real):
			files = append(files, h.real)
		}
	}
	return folders, files
}
