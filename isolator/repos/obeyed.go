package repos

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/sensitive"
)

// obeyed moves an entry of a folder aside when a tool outside obeys it and it was not
// there before the run. It reports whether there is nothing left to look into.
func (w *sweep) obeyed(dir string, e fs.DirEntry) bool {
	hit, ok := sensitive.Match(dir, e.Name(), sensitive.KindOf(e))
	p := paths.Join(dir, e.Name())
	if !ok || w.spared(hit) || w.stays(p) || w.copied(p) || e.Name() == ".gitmodules" && w.ownModules(hit.Base, p) {
		return false
	}
	if !w.isNew(p, hit.Base) {
		if e.IsDir() {
			w.inFolder(p, hit.Row.Tool, 0, false)
		}
		return false
	}
	if e.IsDir() && w.tracks(p) {
		w.inFolder(p, hit.Row.Tool, 0, true)
		return false
	}
	if e.IsDir() && w.entriesAside(p, hit.Row.Tool) {
		return false
	}
	return w.entryAside(p, hit.Row.Tool, e.IsDir())
}

// spared reports whether a row of the table does not count at this place.
func (w *sweep) spared(hit sensitive.Hit) bool {
	return hit.Row.Told || slices.Contains(w.Homes, hit.Base) || hit.Row.Where == sensitive.Top && !w.isTop(hit.Base)
}

// isNew reports whether something was not called that before the run. A name of several parts, which begins at base,
// becomes one when any of them is renamed.
func (w *sweep) isNew(p, base string) bool {
	for at := p; at != base; at = filepath.Dir(at) {
		if fi, err := w.lstat(at); err == nil && w.recent(at, fi) {
			return true
		}
	}
	return false
}

// ownModules reports whether a .gitmodules names nothing but addresses, and belongs to a
// repository that the box made itself: git enters none of these by itself.
func (w *sweep) ownModules(top, p string) bool {
	fi, err := os.Lstat(top + "/.git")
	if err != nil || !w.fresh(top+"/.git", top+"/.git", fi) || lies(top+"/.git", w.Guarded) {
		return false
	}
	return harmless(p, "submodule.")
}

// inFolder moves aside what is recent in a folder that is not, or all that is in it. A folder
// that was moved aside is not moved again: what is in it is.
func (w *sweep) inFolder(dir, tool string, depth int, all bool) {
	entries, _ := w.readDir(dir) // what could be read counts
	for _, e := range entries {
		p := paths.Join(dir, e.Name())
		fi, err := e.Info()
		aside, deeper := sensitive.Aside(e.Name()), e.IsDir() && depth < 8
		switch {
		case err != nil || aside && !e.IsDir() || w.stays(p):
		case fi.IsDir() && sensitive.Trees(p):
			w.more = append(w.more, p)
		case (aside || w.tracks(p)) && deeper:
			w.inFolder(p, tool, depth+1, all || w.recent(p, fi))
		case all || w.recent(p, fi):
			w.aside(p, tool)
		case deeper:
			w.inFolder(p, tool, depth+1, false)
		}
	}
}

// places looks at single paths: those that settings of git name, and the start-up files
// of a home that the box could write.
func (w *sweep) places() {
	for _, home := range w.Homes {
		for _, name := range sensitive.Startup() {
			p := paths.Join(home, name)
			if !strings.Contains(name, "/") && !slices.ContainsFunc(w.names(p), w.inside) {
				continue // it lies in the home itself, wherever a link there leads
			}
			w.single(p, "your shell or session")
		}
	}
	for _, p := range w.Paths {
		w.single(p, "the shell's PATH")
	}
	for _, p := range w.Named {
		w.single(p, "git")
	}
}

// single moves aside what is at one path, or in the folder there, by the name that it has
// where the box could write it.
func (w *sweep) single(p, tool string) {
	for _, p := range w.names(p) {
		fi, err := w.lstat(p)
		if err != nil {
			continue
		}
		p = beyond(p)
		switch {
		case !w.inside(p) || w.stays(p) || lies(p, w.Guarded):
		case w.recent(p, fi) && !w.tracks(p):
			w.aside(p, tool)
		case fi.IsDir():
			w.inFolder(p, tool, 0, w.recent(p, fi))
		}
	}
}

// names returns all names of something: links on the way to it are followed where it has
// several.
func (w *sweep) names(p string) []string {
	if len(w.Mounts.MountAliases) == 0 {
		return []string{p}
	}
	return w.Mounts.Names(beyond(p))
}

// beyond is a path with no link on the way to it.
func beyond(p string) string { return filepath.Join(files.Real(filepath.Dir(p)), filepath.Base(p)) }

// stays reports whether something is not the box's: it was there before, inner made it, it
// was named on purpose, or git outside has it.
func (w *sweep) stays(p string) bool {
	return lies(p, w.Before) || lies(p, w.Keep) || lies(p, w.Ours) || w.isTracked(p)
}

// lies reports whether a path is one of the list, or belongs to one.
func lies(p string, list []string) bool {
	return slices.ContainsFunc(list, func(q string) bool { return sensitive.PartOf(q, p) })
}

func (w *sweep) isTop(dir string) bool {
	return slices.ContainsFunc(w.roots, func(r root) bool { return r.path == dir }) || exists(dir+"/.git")
}

// looksFor reports whether what tools obey is looked for in a folder: not in other
// people's packages, nor in the state of programs in a home.
func (w *sweep) looksFor(dir string) bool {
	return slices.ContainsFunc(w.Obeyed, func(r string) bool {
		rest, ok := strings.CutPrefix(dir+"/", strings.TrimSuffix(r, "/")+"/")
		return ok && !sensitive.Packages(rest) && !(strings.HasPrefix(rest, ".") && slices.Contains(w.Homes, r))
	})
}

// real returns the search with the real paths of the folders that are compared with others, of
// homes under every name, and without those places of before at which something else is now.
func (s Search) real() Search {
	resolve := func(list []string) []string {
		var out []string
		for _, p := range list {
			if real, err := filepath.EvalSymlinks(p); err == nil {
				out = append(out, real)
			}
		}
		return out
	}
	homes := resolve(s.Homes)
	s.Homes, s.Obeyed = nil, resolve(s.Obeyed)
	for _, home := range homes {
		s.Homes = append(s.Homes, s.Mounts.Names(home)...)
	}
	s.Guarded, s.Before, s.Ours = s.standing(s.Guarded), s.standing(s.Before), s.standing(s.Ours)
	return s
}

// entryAside moves something aside, and has a folder looked into where it is then.
func (w *sweep) entryAside(p, tool string, dir bool) bool {
	ok := w.aside(p, tool)
	if ok && dir {
		w.more = append(w.more, w.Moved[len(w.Moved)-1].Kept)
	}
	return ok
}

func (w *sweep) aside(p, tool string) bool {
	to, ok := w.rename(p)
	if ok {
		w.Moved = append(w.Moved, Moved{p, to, tool})
	}
	return ok
}
