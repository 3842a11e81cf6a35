package ownhome

import (
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/copytree"
)

// Kept is something in a home that a run wrote: a file, or a folder with files.
type Kept struct {
	Path   string // below the home
	Folder bool
	Files  int
}

// mostEntries is how many entries of a home are inspected after each run, and mostDepth how
// deep: each name on the way costs a step, for each entry.
const (
	mostEntries = 20_000
	mostDepth   = 40
)

// TooDeep reports whether a path is as deep as a home is looked into.
func TooDeep(p string) bool { return strings.Count(p, "/") >= mostDepth }

// Written lists what was written in the home since a time, as files know it. Settings and
// caches are left out: whatever is in a name with a dot, and the Go tool's own folder.
func (h *Home) Written(since time.Time) (out []Kept) {
	n := 0
	_ = copytree.Walk(h.Dir, []string{"."}, func(p string, st unix.Stat_t) bool {
		n++
		top, _, _ := strings.Cut(p, "/")
		if n > mostEntries || strings.HasPrefix(top, ".") || top == "go" || TooDeep(p) {
			return false
		}
		changed := time.Unix(st.Ctim.Unix()) // a time that no program can set
		if st.Mode&unix.S_IFMT == unix.S_IFREG && !h.rec.Mounted(p) && !changed.Before(since) {
			k := h.group(p)
			if i := slices.IndexFunc(out, func(o Kept) bool { return o.Path == k.Path }); i >= 0 {
				out[i].Files++
			} else {
				out = append(out, k)
			}
		}
		return true
	})
	slices.SortFunc(out, func(a, b Kept) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// Mounted reports whether a box sees something else at a path of its home.
func (r Record) Mounted(p string) bool {
	return slices.ContainsFunc(r.Points, func(q Point) bool { return q.Path == p })
}

// group is the file, or the folder it is in: the highest that is no more than the way to a
// place where something is mounted.
func (h *Home) group(p string) Kept {
	for i, c := range p {
		if c != '/' {
			continue
		}
		dir := p[:i]
		if !slices.ContainsFunc(h.rec.Points,
			func(q Point) bool { return q.Path == dir || strings.HasPrefix(q.Path, dir+"/") }) {
			return Kept{Path: dir, Folder: true, Files: 1}
		}
	}
	return Kept{Path: p, Files: 1}
}
