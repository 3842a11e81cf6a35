package repos

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/internal/worktree"
	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/profile/gitconfig"
)

// obeyed moves an entry of a folder aside when a tool outside obeys it and it was not
// there before the run. It reports whether there is nothing left to look into.
func (w *sweep) obeyed(dir string, e files.Entry) bool {
	hit, ok := sensitive.Match(dir, e.Name, sensitive.KindOf(e.Type))
	p := paths.Join(dir, e.Name)
	if !ok || w.spared(hit) || e.Name == ".gitmodules" && w.ownModules(hit.Base, p) {
		return false
	}
	return w.judge(p, hit.Row.Tool, w.isNew(p, hit.Base), e.IsDir(), 0)
}

// judge moves aside what is new and does not stay, of a folder that is not, or that git outside has
// something in, what is so in it. It reports whether it is gone.
func (w *sweep) judge(p, tool string, fresh, dir bool, depth int) bool {
	switch {
	case w.stays(p):
		return false
	case dir && depth < 8 && (!fresh || w.tracks(p)):
		w.inFolder(p, tool, fresh, depth)
		return false
	case !fresh:
		return false
	case !dir && w.removeCopy(p):
		return true
	case !w.aside(p, Moved{Tool: tool}):
		return false
	case dir: // it is looked into where it is now
		w.queue[0] = append(w.queue[0], w.Moved[len(w.Moved)-1].Kept)
	}
	return true
}

// isRoot reports whether a folder is a root.
func (w *sweep) isRoot(dir string) bool {
	return slices.ContainsFunc(w.roots, func(r *os.File) bool { return r.Name() == dir })
}

// spared reports whether a row of the table does not count at this place.
func (w *sweep) spared(hit sensitive.Hit) bool {
	deeper := !w.isRoot(hit.Base) && !files.Exists(hit.Base+"/.git")
	return hit.Row.Told || slices.Contains(w.Homes, hit.Base) || hit.Row.Where == sensitive.Top && deeper
}

// isNew reports whether something was not called that before the run. A name of several parts,
// which begins at base, becomes one when any of them is renamed.
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
	if lies(top+"/.git", w.Guarded) || !w.freshAt(top+"/.git", top+"/.git") {
		return false
	}
	data, err := w.read(p)
	list, errParse := gitconfig.Parse(data)
	return err == nil && errParse == nil && !slices.ContainsFunc(list, func(e gitconfig.Entry) bool {
		return !strings.HasPrefix(e.Key, "submodule.") || !gitconfig.Harmless(e, func(string) bool { return false })
	})
}

// inFolder judges what is in a folder, all of it as new or what is recent. A folder
// that was moved aside is not moved again: what is in it is.
func (w *sweep) inFolder(dir, tool string, all bool, depth int) {
	entries, _ := w.readDir(dir) // what could be read counts
	for _, e := range entries {
		p := paths.Join(dir, e.Name)
		fi, err := os.Lstat(p)
		aside := sensitive.Aside(e.Name)
		switch {
		case err != nil || aside && !e.IsDir():
		case e.IsDir() && sensitive.Trees(p):
			w.queue[0] = append(w.queue[0], p)
		case aside && depth < 8:
			w.inFolder(p, tool, all || w.recent(p, fi), depth+1)
		default:
			w.judge(p, tool, all || w.recent(p, fi), e.IsDir(), depth+1)
		}
	}
}

// places looks at single paths: those that settings of git name, and the start-up files
// of a home that the box could write.
func (w *sweep) places() {
	for _, home := range w.Homes {
		for _, name := range sensitive.Startup() {
			w.single(paths.Join(home, name), "your shell or session")
		}
	}
	for _, p := range w.Paths {
		w.single(p, "the shell's PATH")
	}
	for _, p := range w.Named {
		w.single(p, "git")
	}
}

// single judges what is at one path, by the name that it has where the box could write it.
func (w *sweep) single(p, tool string) {
	if p = w.beyond(p); !w.inside(p) || lies(p, w.Guarded) {
		return
	}
	if fi, err := w.lstat(p); err == nil {
		w.judge(p, tool, w.recent(p, fi), fi.IsDir(), 0)
	}
}

// stays reports whether something is not the box's: it was there before, or git outside has it, as what a
// person's git checks out while a box lives.
func (w *sweep) stays(p string) bool {
	if lies(p, w.Before) {
		return true
	}
	if w.ask(p); w.tracked[p] == nil {
		return false
	}
	fi, err := w.lstat(p)
	if err != nil || !fi.Mode().IsRegular() {
		return false
	}
	data, err := w.read(p)
	return err == nil && w.tracked.Has(p, data, fi.Mode().Perm()&0o111 != 0)
}

// tracks reports whether git outside has something in a folder.
func (w *sweep) tracks(dir string) bool {
	w.ask(dir)
	for p := range w.tracked {
		if paths.Inside(dir, p) {
			return true
		}
	}
	return false
}

// ask asks what the host's git has at a place, and below it. A work tree that the box made is the host's as
// far as the host's repository says so.
func (w *sweep) ask(p string) {
	if w.Tracked == nil || lies(p, w.asked) {
		return
	}
	w.asked = append(w.asked, p)
	top, _ := worktree.Around(filepath.Dir(p))
	r, err := git.FindAt(top)
	if err == nil && lies(r.Dir, w.Guarded) && (r.Reason == "" || lies(r.Top+"/.git", w.Guarded)) {
		rest, _ := paths.Rest(r.Top, p)
		maps.Copy(w.tracked, w.Tracked(r, rest))
	}
}

// removeCopy removes a file of a work tree that is no more than what the box keeps a copy of
// anyway, as Claude Code adds settings of the project to a new one.
func (w *sweep) removeCopy(p string) bool {
	top, _ := worktree.Around(filepath.Dir(p))
	rest, _ := paths.Rest(top, p)
	return slices.ContainsFunc(w.roots, func(r *os.File) bool {
		kept, err := files.Read(w.Copies[paths.Join(r.Name(), rest)], files.NoLinks, 1<<20)
		is, err2 := w.read(p)
		if err != nil || err2 != nil || top == r.Name() || !bytes.Equal(kept, is) {
			return false
		}
		return w.at(p, unix.Unlink) == nil
	})
}

// looksFor reports whether what tools obey is looked for in a folder: not in other
// people's packages, nor in git's folders and the state of programs in a home.
func (w *sweep) looksFor(dir string) bool {
	return slices.ContainsFunc(w.Obeyed, func(r string) bool {
		rest, ok := paths.Rest(r, dir)
		others := sensitive.Packages(rest) || strings.Contains("/"+rest+"/", "/.git/")
		return ok && !others && !(strings.HasPrefix(rest, ".") && slices.Contains(w.Homes, r))
	})
}

// real returns the search with the real paths of the folders that are compared with others, and
// without those places of before at which something else is now.
func (s Search) real() Search {
	s.Homes, s.Obeyed = files.Reals(s.Homes), files.Reals(s.Obeyed)
	s.Guarded, s.Before = s.standing(s.Guarded), s.standing(s.Before)
	return s
}
