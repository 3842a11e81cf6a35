package host

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/atonce"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/sensitive"
)

// looker examines paths. It remembers folders, so that hundreds of paths of
// one home cost little more than that many calls of lstat, and less where the
// folder is not there.
type looker struct {
	read   map[string]*folder // what folders hold
	noted  map[string]*notes  // and what of that is notable, of those that a look through a project came to
	since  time.Time          // when the first of them was read
	paths  map[string]Path    // of folders that were looked at
	inside map[string][]noted // what lies in folders, see glob
	walked map[string]walked  // those that patterns of [sandbox] hide were looked for in
	closed map[string]bool    // see Facts.Closed

	matched map[[3]string][]string // see Match

	key, kept any // see Kept
}

func newLooker() *looker {
	return &looker{read: map[string]*folder{}, noted: map[string]*notes{}, since: time.Now(), paths: map[string]Path{}, inside: map[string][]noted{}, walked: map[string]walked{}, closed: map[string]bool{}, matched: map[[3]string][]string{}}
}

// Look looks at one path.
func Look(p string) Path { return newLooker().look(p) }

// dir looks at a folder, once.
func (l *looker) dir(p string) Path {
	if seen, ok := l.paths[p]; ok {
		return seen
	}
	seen := l.look(p)
	l.paths[p] = seen
	return seen
}

// split divides a clean absolute path before its last name. filepath.Dir cleans it
// again, which costs more than all the rest when most paths are not there.
func split(p string) (dir, base string) {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return "/", p // relative: the caller's mistake
	}
	return p[:max(i, 1)], p[i+1:]
}

// look examines one path. It follows links: Real is where they lead; for a
// missing path it is the real path of the deepest folder that exists, with the
// rest appended.
func (l *looker) look(p string) Path {
	if p == "/" {
		return Path{Kind: Dir, Real: "/"}
	}
	dir, base := split(p)
	parent := l.dir(dir)
	at := strings.TrimSuffix(parent.Real, "/") + "/" + base
	if parent.Kind == Missing || l.lacks(p) {
		return Path{Kind: Missing, Real: at, Hops: parent.Hops}
	}
	var st syscall.Stat_t
	err := ignoringEINTR(func() error { return syscall.Lstat(at, &st) }) // os.Lstat makes more of it: a start looks at hundreds
	if err == nil && st.Mode&syscall.S_IFMT == syscall.S_IFLNK {
		return l.behind(at, parent.Hops)
	}
	if err == syscall.EACCES {
		l.shut(parent.Real)
	}
	return path(at, &st, err, parent.Hops)
}

// shut notes that a folder could not be looked into, or one above it, which is closed, too. That of somebody else no
// box can open; one of the user's it can, by chmod.
func (l *looker) shut(dir string) {
	var st syscall.Stat_t
	switch err := syscall.Stat(dir, &st); {
	case err == nil && st.Mode&syscall.S_IFMT == syscall.S_IFDIR && int(st.Uid) == os.Geteuid():
		l.closed[dir] = true
	case err == syscall.EACCES:
		l.shut(filepath.Dir(dir))
	}
}

// behind looks at what a link leads to.
func (l *looker) behind(at string, hops []Hop) Path {
	more, to, err := files.Follow(at)
	if err == nil {
		hops = slices.Concat(hops, more)
	}
	var st syscall.Stat_t
	there := ignoringEINTR(func() error { return syscall.Stat(at, &st) })
	switch {
	case errors.Is(there, fs.ErrNotExist), errors.Is(there, syscall.ELOOP): // there is nothing to read behind it
		return Path{Kind: Missing, Real: at, Link: to, Hops: hops}
	case there != nil || err != nil:
		l.look(to) // which notes what is shut
		return path(at, nil, cmp.Or(there, err), hops)
	}
	return path(to, &st, nil, hops)
}

func ignoringEINTR(call func() error) error {
	for {
		if err := call(); err != syscall.EINTR {
			return err
		}
	}
}

// path is what lstat has said of a path without links.
func path(at string, st *syscall.Stat_t, err error, hops []Hop) Path {
	switch {
	case err == nil:
		return Path{Kind: kindOf(files.Type(st.Mode)), Real: at, ID: ID{uint64(st.Dev), st.Ino}, Hops: hops}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), len(filepath.Base(at)) > unix.NAME_MAX:
		return Path{Kind: Missing, Real: at, Hops: hops}
	}
	return Path{Kind: Denied, Real: at, Hops: hops}
}

func kindOf(m fs.FileMode) Kind {
	switch {
	case m.IsRegular():
		return File
	case m.IsDir():
		return Dir
	case m&fs.ModeSocket != 0:
		return Socket
	default:
		return Other
	}
}

// folder is what a folder holds.
type folder struct {
	entries []files.Entry   // sorted; what could be read
	known   bool            // all of it was read, or there is no such folder
	lower   map[string]bool // the names in lower case; nil until somebody asks
}

func (l *looker) folder(dir string) *folder {
	if seen, ok := l.read[dir]; ok {
		return seen
	}
	in := &folder{known: l.gone(dir)}
	if !in.known {
		var err error
		in.entries, err = files.ReadDir(dir)
		in.known = err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
		if !in.known {
			l.shut(dir)
		}
	}
	l.read[dir] = in
	return in
}

// names returns the names in a folder, in lower case since some file systems do not tell case,
// and whether it is known that there are no others.
func (l *looker) names(dir string) (names map[string]bool, known bool) {
	in := l.folder(dir)
	if in.lower == nil {
		in.lower = make(map[string]bool, len(in.entries))
		for _, e := range in.entries {
			in.lower[strings.ToLower(e.Name)] = true
		}
	}
	return in.lower, in.known
}

// list lists a home, and the folders in it that hold those of programs.
func (l *looker) list(dir string) {
	names, _ := l.names(dir)
	for _, name := range []string{".config", ".cache", ".local", "share", "state"} {
		if names[name] {
			l.list(paths.Join(dir, name))
		}
	}
}

// notes are what of a folder is notable (sensitive.Notable), sorted, and what the folder was then.
type notes struct {
	entries []files.Entry
	known   bool // all of it was read
	was     syscall.Stat_t
}

// note looks through a folder of a project, once. Of its files, which may be tens of thousands, it keeps few.
func (l *looker) note(dir string) *notes {
	n, seen := l.noted[dir]
	if !seen {
		n = notesOf(dir)
		l.noted[dir] = n
	}
	return n
}

// ahead notes a folder and those in it, in which a person works, that nobody has noted: so many of them, no deeper than
// depth, the nearest first. As many as there are processors are looked through at a time.
func (l *looker) ahead(dir string, folders, depth int) {
	for level := []string{dir}; len(level) > 0 && folders > 0 && depth >= 0; depth-- {
		level = level[:min(len(level), folders)]
		folders -= len(level)
		if len(level) >= fewFolders {
			found := make([]*notes, len(level))
			atonce.Of(len(level), func(i int) {
				if l.noted[level[i]] == nil {
					found[i] = notesOf(level[i])
				}
			})
			for i, n := range found {
				if n != nil {
					l.noted[level[i]] = n
				}
			}
		}
		var below []string
		for _, dir := range level {
			for _, e := range l.note(dir).entries {
				if e.IsDir() && e.Name != ".git" && !published(e.Name) && !sensitive.PackageFolder(e.Name) {
					below = append(below, paths.Join(dir, e.Name))
				}
			}
		}
		level = below
	}
}

// fewFolders are noted sooner than a thread starts.
const fewFolders = 8

func notesOf(dir string) *notes {
	n := new(notes)
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return n
	}
	defer unix.Close(fd)
	err = syscall.Fstat(fd, &n.was)
	if err == nil {
		n.entries, err = files.List(fd, sensitive.Notable)
		slices.SortFunc(n.entries, files.Entry.Compare)
	}
	n.known = err == nil
	return n
}

// Notes returns what of a folder is notable when that is known: it was looked through, and nothing was made, renamed or
// removed in it since. now is what it is now, of a file system that keeps the time of that.
func (f Facts) Notes(dir string, now *syscall.Stat_t) ([]files.Entry, bool) {
	if f.on == nil || f.on.noted[dir] == nil {
		return nil, false
	}
	n := f.on.noted[dir]
	return n.entries, f.on.same(n, now)
}

// same reports whether a folder that was looked through is as it was then.
func (l *looker) same(n *notes, now *syscall.Stat_t) bool {
	// What changed in the moment of the look has the time of that, and so has what changes in the same one later; some
	// disks know seconds alone.
	before := n.was.Ctim.Nsec != 0 && time.Unix(n.was.Ctim.Unix()).Before(l.since.Add(-time.Second))
	return before && n.known && n.was.Dev == now.Dev && n.was.Ino == now.Ino && n.was.Ctim == now.Ctim
}

// lacks reports whether nothing is at a path, as far as that is known without looking.
func (l *looker) lacks(path string) bool {
	dir, base := split(path)
	if l.read[dir] == nil || strings.Trim(base, ".") == "" { // no listing has . and ..
		return false
	}
	names, known := l.names(dir)
	return known && !names[strings.ToLower(base)]
}

// gone is lacks for a path or a folder that it lies in.
func (l *looker) gone(path string) bool {
	dir, _ := split(path)
	return l.lacks(path) || dir != "/" && l.gone(dir)
}

// Children lists what is in a folder, by name.
func Children(dir string) (out []Child, err error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		c := Child{Name: e.Name(), Kind: kindOf(e.Type())}
		if e.Type()&fs.ModeSymlink != 0 {
			if c.Target, err = os.Readlink(filepath.Join(dir, c.Name)); err != nil {
				return nil, err
			}
			c.Kind = Link
		}
		out = append(out, c)
	}
	return out, nil
}

// published reports whether a folder of that name holds other people's packages
// or build results.
func published(name string) bool {
	switch name {
	case "node_modules", "vendor", "target", "dist", "build", ".venv", "venv", "__pycache__", ".cache", ".tox", "site-packages":
		return true
	}
	return false
}
