package repos

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// A box writes a folder, whatever its name is: the host, or a box that can write what it lies in, can rename it while
// the box runs. So the roots of a search are kept open, and searched where they are at the end.

// Roots are open folders, by the paths that a search has of them.
type Roots []opened

type opened struct {
	path, real string
	fd         int
}

// Open opens roots. Of one that is a file, or is not there, nothing is kept. The caller closes them.
func Open(list []string) Roots {
	var r Roots
	for _, p := range list {
		fd, err := unix.Open(p, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		o := opened{path: p, fd: fd}
		o.real, _ = o.name()
		r = append(r, o)
	}
	return r
}

// Close closes the roots.
func (r Roots) Close() {
	for _, o := range r {
		unix.Close(o.fd)
	}
}

// name returns the path that leads to the folder now; ok says that it does.
func (o opened) name() (p string, ok bool) {
	at := fmt.Sprintf("/proc/self/fd/%d", o.fd)
	p, err := os.Readlink(at)
	if err != nil || !filepath.IsAbs(p) {
		return "", false
	}
	is, ierr := os.Stat(at)
	there, terr := os.Lstat(p)
	return p, ierr == nil && terr == nil && os.SameFile(is, there)
}

// removed reports whether the folder is gone, with all that was in it.
func (o opened) removed() bool {
	var st unix.Stat_t
	return unix.Fstat(o.fd, &st) == nil && st.Nlink == 0
}

// Follow returns the search with the names that the roots have now, in everything that it says of them, and without those
// that were removed. lost are roots that cannot be found.
func (r Roots) Follow(s Search) (_ Search, lost []string) {
	names, none := map[string]string{}, map[string]bool{}
	for _, o := range r {
		now, ok := o.name()
		switch {
		case ok:
			names[o.path], names[o.real] = now, now
			continue
		case !o.removed():
			lost = append(lost, o.path)
		}
		none[o.path] = true
	}
	s.Roots = slices.DeleteFunc(slices.Clone(s.Roots), func(p string) bool { return none[p] })
	for _, list := range []*[]string{&s.Roots, &s.Timeless, &s.Guarded, &s.Unlisted, &s.Ours, &s.Obeyed, &s.Before, &s.Keep, &s.Named, &s.Paths} {
		*list = slices.Clone(*list)
		for i, p := range *list {
			(*list)[i] = nowAt(names, p)
		}
	}
	for _, list := range []*map[string]string{&s.Stood, &s.Copies} {
		now := map[string]string{}
		for p, what := range *list {
			now[nowAt(names, p)] = what
		}
		*list = now
	}
	return s, lost
}

// nowAt returns where a path is now, by the nearest folder above it that has a name.
func nowAt(names map[string]string, p string) string {
	for at := p; at != "/" && at != "."; at = filepath.Dir(at) {
		if now, ok := names[at]; ok && now != at {
			return now + p[len(at):]
		} else if ok {
			return p
		}
	}
	return p
}

// Below returns what was found with the paths that it has when the folder from is at another place.
func (f Found) Below(from, at string) Found {
	moved := func(p string) string {
		if rest, ok := strings.CutPrefix(p, from+"/"); ok {
			return filepath.Join(at, rest)
		}
		return p
	}
	for i := range f.Held {
		f.Held[i].Place = moved(f.Held[i].Place)
	}
	for _, list := range [][]Moved{f.Moved, f.Aside} {
		for i, m := range list {
			list[i].Path, list[i].Kept = moved(m.Path), moved(m.Kept)
		}
	}
	return f
}
