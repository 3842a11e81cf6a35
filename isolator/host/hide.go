package host

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/profile/gitignore"
)

// Hide is what [sandbox] hide comes to on this host.
type Hide struct {
	// Paths are what the patterns matched, sorted; of a folder only the folder.
	Paths []string `json:"paths"`
	// Why says what could not be done; then nothing may start, for some of what is
	// said to be hidden would be seen.
	Why  string `json:"why,omitempty"`
	Hint string `json:"hint,omitempty"` // something to do about it
}

// How much is looked through for [sandbox] hide before the run is refused, and how
// much may be found: each place that is covered costs bwrap a look through all
// others (measured with bwrap 0.8.0: 1000 files take 2.7 s, 100 take 0.1 s).
const (
	hideEntries = 1_000_000
	hideTime    = 10 * time.Second
	hideMost    = 1000
)

// hider looks for what patterns match. The folders it reads are only those in
// which something can match.
type hider struct {
	list  gitignore.List
	found map[string]bool
	shut  map[string]bool // the closed folders, see closed in folders.go
	left  int             // how many entries may still be looked at
	until time.Time       // and until when
}

// fault ends a search that cannot be finished.
type fault struct{ why, hint string }

func (f *fault) Error() string { return f.why }

// find fills in what the patterns match.
func (h *hider) find(patterns []string) error {
	for _, text := range patterns {
		p, err := gitignore.Parse(text)
		if err != nil {
			return &fault{why: err.Error()}
		}
		h.list = append(h.list, p)
	}
	return h.folder("/", h.list.Start())
}

// folder looks at what a folder holds. dir is its real path.
func (h *hider) folder(dir string, s gitignore.State) error {
	names, known := h.list.Names(s)
	if !known {
		if systemMade(dir) {
			return nil // a box has its own
		}
		var err error
		if names, err = namesIn(dir); err != nil {
			return h.unread(dir, err)
		}
	}
	for _, name := range names {
		if err := h.count(dir); err != nil {
			return err
		}
		if err := h.entry(dir, name, s); err != nil {
			return err
		}
	}
	return nil
}

func (h *hider) entry(dir, name string, s gitignore.State) error {
	p := filepath.Join(dir, name)
	fi, err := os.Lstat(p)
	switch {
	case gone(err), errors.Is(err, syscall.ENAMETOOLONG):
		return nil
	case err != nil:
		return h.unread(dir, err)
	}
	link := fi.Mode()&fs.ModeSymlink != 0
	if link {
		// It is what it leads to that is hidden, and looked into where a name of the
		// pattern leads there; "**" goes through no link, as everywhere.
		if fi, err = os.Stat(p); err != nil {
			return nil // it leads nowhere
		}
	}
	next, named, matched := h.list.Step(s, name, fi.IsDir())
	if matched {
		return h.add(p)
	}
	if link {
		next = named
	}
	if !fi.IsDir() || !h.list.Live(next) {
		return nil
	}
	if link {
		if p, err = filepath.EvalSymlinks(p); err != nil {
			return nil
		}
	}
	return h.folder(p, next)
}

// gone reports whether an error says that there is no such file.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func (h *hider) add(p string) error {
	h.found[p] = true
	if len(h.found) > hideMost {
		return &fault{fmt.Sprintf("the patterns match more than %d files, %s among them", hideMost, p), "name their folders in hide, with a slash at the end"}
	}
	return nil
}

// unread decides about a folder that cannot be looked into. One that the box could look into is
// hidden as a whole.
func (h *hider) unread(dir string, err error) error {
	switch {
	case gone(err):
	case !errors.Is(err, fs.ErrPermission):
		return &fault{fmt.Sprintf("%s cannot be looked into: %v", dir, err), ""}
	case closed(dir, err):
		h.shut[dir] = true
	}
	return nil
}

// count keeps the search from taking for ever.
func (h *hider) count(at string) error {
	if h.left--; h.left >= 0 && (h.left%256 != 0 || time.Now().Before(h.until)) {
		return nil
	}
	return &fault{
		fmt.Sprintf("the search for it was not finished after %d files, at %s", hideEntries-max(h.left, 0), at),
		"name a folder nearer to what is to be hidden",
	}
}

// systemMade reports whether the kernel makes up what is in a folder.
func systemMade(dir string) bool { return dir == "/proc" || dir == "/sys" || dir == "/dev" }

// namesIn returns the names in a folder.
func namesIn(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// hide looks for what the patterns match and for the other names (hard links) of
// these files: a mask has a name, and the file has several. first are the folders
// that the box sees for sure.
func (l *looker) hide(patterns, first []string) (*Hide, map[string][]string) {
	if len(patterns) == 0 {
		return nil, nil
	}
	h := &hider{found: map[string]bool{}, shut: l.closed, left: hideEntries, until: time.Now().Add(hideTime)}
	out := &Hide{}
	err := h.find(patterns)
	out.Paths = slices.Sorted(maps.Keys(h.found))
	var names map[string][]string
	if err == nil {
		names, err = h.otherNames(out.Paths, first, l.mounts)
	}
	if err != nil {
		out.Why = err.Error()
	}
	if f, ok := errors.AsType[*fault](err); ok {
		out.Hint = f.hint
	}
	return out, names
}

// wanted is a hidden file with several names.
type wanted struct {
	path  string // the hidden path it is, or lies below
	name  string
	names uint64
	found []string
}

func (w *wanted) open() bool { return uint64(len(w.found)) < w.names }

// linked returns the files with several names at or below the paths, by their number.
func (h *hider) linked(paths []string) (map[ID]*wanted, error) {
	want := map[ID]*wanted{}
	for _, p := range paths {
		real, err := filepath.EvalSymlinks(p)
		if err != nil {
			continue
		}
		err = h.walk(real, func(string) bool { return false }, func(name string, fi fs.FileInfo) bool {
			if n := linksOf(fi); n > 1 && fi.Mode().IsRegular() {
				w := want[idOf(fi)]
				if w == nil {
					w = &wanted{path: p, name: name, names: n}
					want[idOf(fi)] = w
				}
				w.found = append(w.found, name)
			}
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return want, nil
}

// otherNames returns, for each path, the other names of the files there.
func (h *hider) otherNames(paths, first []string, mounts func() []mount) (map[string][]string, error) {
	want, err := h.linked(paths)
	if err != nil {
		return nil, err
	}
	open := maps.Clone(want)
	maps.DeleteFunc(open, func(_ ID, w *wanted) bool { return !w.open() })
	if len(open) == 0 {
		return nil, nil // all of them are hidden themselves
	}
	table := mounts()
	var done []string
	for _, root := range h.roots(want, first, table) {
		skip := func(dir string) bool {
			return slices.Contains(done, dir) || dir != root && (unseen(dir) || slices.ContainsFunc(table, func(m mount) bool { return m.at == dir }))
		}
		if err := h.walk(root, skip, func(name string, fi fs.FileInfo) bool { return foundName(open, name, fi) }); err != nil {
			return nil, unfinished(open)
		}
		if len(open) == 0 {
			break
		}
		done = append(done, root)
	}
	return namesOf(want), nil
}

// foundName notes a name of a file that is looked for, and reports whether to go on. open are
// the files of which not all names are known.
func foundName(open map[ID]*wanted, name string, fi fs.FileInfo) bool {
	if linksOf(fi) < 2 || !fi.Mode().IsRegular() {
		return true
	}
	if w := open[idOf(fi)]; w != nil && !slices.Contains(w.found, name) {
		if w.found = append(w.found, name); !w.open() {
			delete(open, idOf(fi))
		}
	}
	return len(open) > 0
}

// unfinished is the fault of a search for names that took too long.
func unfinished(open map[ID]*wanted) error {
	var names []string
	for _, w := range open {
		names = append(names, w.name)
	}
	name := slices.Min(names)
	return &fault{
		fmt.Sprintf("%s has other names (hard links), and the search for them was not finished", name),
		fmt.Sprintf("cp -p %[1]s %[2]s && mv %[2]s %[1]s makes it a file of its own", quote.POSIX(name), quote.POSIX(name+".new")),
	}
}

// namesOf returns the other names that were found, by the hidden path.
func namesOf(want map[ID]*wanted) map[string][]string {
	out := map[string][]string{}
	for _, w := range want {
		for _, name := range w.found {
			if rest, ok := strings.CutPrefix(name, w.name); name != w.path && (!ok || rest != "") {
				out[w.path] = append(out[w.path], name)
			}
		}
	}
	for _, names := range out {
		slices.Sort(names)
	}
	return out
}

// unseen reports whether a folder is another one in every box.
func unseen(dir string) bool {
	return dir == "/tmp" || dir == "/var/tmp" || dir == "/run" || systemMade(dir)
}

// roots are the folders in which names of files can lie: first what is given, then
// wherever their file systems are mounted.
func (h *hider) roots(want map[ID]*wanted, first []string, table []mount) []string {
	devices := map[string]bool{}
	for _, w := range want {
		devices[deviceOf(w.name, table)] = true
	}
	candidates := slices.Clone(first)
	for _, m := range table {
		if devices[m.device] && !unseen(m.at) {
			candidates = append(candidates, m.at)
		}
	}
	var out []string
	for _, p := range candidates {
		if real, err := filepath.EvalSymlinks(p); err == nil && !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	return out
}

// deviceOf returns the device that a path is on.
func deviceOf(p string, table []mount) string {
	var on mount
	for _, m := range table { // the last one covers
		if paths.Below(m.at, p) && len(m.at) >= len(on.at) {
			on = m
		}
	}
	return on.device
}

// walk looks at everything below a path, itself included, until see says no. It
// passes over what skip names and what the user cannot read.
func (h *hider) walk(root string, skip func(dir string) bool, see func(name string, fi fs.FileInfo) bool) error {
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case d.IsDir() && skip(p):
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return h.count(p)
		}
		if err := h.count(p); err != nil {
			return err
		}
		if fi, err := d.Info(); err == nil && !see(p, fi) {
			return filepath.SkipAll
		}
		return nil
	})
}
