package runlog

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/sensitive"
)

// Changes is what changed in the writable folders during a run, by the run or
// by somebody else: their time of change is not before its start. What was
// removed is only known by the folder it was in.
type Changes struct {
	Files  []string `json:"files,omitempty"`  // new, written, or with other attributes
	Gone   []string `json:"gone,omitempty"`   // folders something was removed from or renamed in
	More   int      `json:"more,omitempty"`   // files not listed
	Partly bool     `json:"partly,omitempty"` // the search ended early: there may be others
}

// Bounds of a search.
const (
	maxEntries = 50_000
	maxSearch  = time.Second
	maxListed  = 1000
)

// Moment returns the time as files know it: their clock ticks every few
// milliseconds only. What changes from now on has this time or a later one.
func Moment() time.Time {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &ts) != nil {
		return time.Now().Add(-10 * time.Millisecond)
	}
	return time.Unix(ts.Unix())
}

// Changed looks through folders for what changed since a Moment, less what
// inner itself put there. It does not look into .git and node_modules, and
// follows no link.
func Changed(roots, ours []string, since time.Time) Changes {
	s := search{since: since, ours: ours, end: time.Now().Add(maxSearch)}
	for _, root := range topmost(roots) {
		if !s.folder(root) {
			break
		}
	}
	return s.found
}

// topmost drops the folders that lie in another one.
func topmost(roots []string) []string {
	sorted := slices.Clone(roots)
	slices.Sort(sorted)
	var out []string
	for _, r := range sorted {
		if n := len(out); n == 0 || !paths.Below(out[n-1], r) {
			out = append(out, r)
		}
	}
	return out
}

type search struct {
	since time.Time
	ours  []string
	end   time.Time
	seen  int
	found Changes
}

// folder looks through one folder, and reports whether to go on.
func (s *search) folder(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return true // nothing of it is the box's: it could not read it either
	}
	changed := false // something in it shows why the folder itself did
	for _, e := range entries {
		s.seen++
		if s.seen > maxEntries || s.seen%256 == 0 && time.Now().After(s.end) {
			s.found.Partly = true
			return false
		}
		p := filepath.Join(dir, e.Name())
		if slices.Contains(s.ours, p) {
			changed = true
			continue
		}
		fi, err := os.Lstat(p)
		if err != nil {
			continue
		}
		changed = changed || s.recent(fi)
		if !s.entry(p, fi) {
			return false
		}
	}
	if fi, err := os.Lstat(dir); err == nil && !changed && s.recent(fi) {
		switch {
		case s.isNew(dir):
			s.add(dir + "/")
		case len(s.found.Gone) < maxListed:
			s.found.Gone = append(s.found.Gone, dir)
		}
	}
	return true
}

// entry looks at what is in a folder, and reports whether to go on.
func (s *search) entry(p string, fi fs.FileInfo) bool {
	if !fi.IsDir() {
		if s.recent(fi) {
			s.add(p)
		}
		return true
	}
	switch fi.Name() {
	case ".git":
		s.repository(p)
	case "node_modules":
		if s.recent(fi) {
			s.add(p + "/")
		}
	default:
		return s.folder(p)
	}
	return true
}

// isNew reports whether a folder was made during the run, where the file system
// remembers that.
func (s *search) isNew(dir string) bool {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, dir, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st)
	return err == nil && st.Mask&unix.STATX_BTIME != 0 && !time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)).Before(s.since)
}

// repository tells of a repository only what happened to it.
func (s *search) repository(dir string) {
	for _, name := range []string{"HEAD", "logs/HEAD", "index", "packed-refs", "config"} {
		if fi, err := os.Lstat(filepath.Join(dir, name)); err == nil && s.recent(fi) {
			s.add(dir + "/")
			return
		}
	}
}

func (s *search) add(p string) {
	if len(s.found.Files) == maxListed {
		s.found.More++
		return
	}
	s.found.Files = append(s.found.Files, p)
}

func (s *search) recent(fi fs.FileInfo) bool { return changedSince(fi, s.since) }

func changedSince(fi fs.FileInfo, since time.Time) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && !time.Unix(st.Ctim.Unix()).Before(since)
}

// RunsLater returns what changed since a Moment at the top of the folders, or
// is in files, and that the host runs or obeys the next time somebody builds, tests
// or opens a folder: what the table of package sensitive lists, and shell scripts.
func RunsLater(roots, ours, files []string, since time.Time) []string {
	var out []string
	add := func(p string) {
		if !slices.Contains(out, p) && !slices.Contains(ours, p) {
			out = append(out, p)
		}
	}
	for _, root := range topmost(roots) {
		for _, p := range obeyedIn(root, true) {
			if fi, err := os.Lstat(p); err == nil && (changedSince(fi, since) || fi.IsDir() && changedIn(p, since)) {
				add(p)
			}
		}
	}
	for _, p := range files {
		_, obeyed := sensitive.Match(filepath.Dir(p), filepath.Base(p), sensitive.Link)
		if strings.HasSuffix(p, ".sh") || obeyed {
			add(p)
		}
	}
	return out
}

// obeyedIn returns what tools obey in a folder, and one level below in the folders
// that such names begin with.
func obeyedIn(dir string, deeper bool) []string {
	var out []string
	entries, _ := os.ReadDir(dir) // what could be read counts
	for _, e := range entries {
		hit, ok := sensitive.Match(dir, e.Name(), sensitive.KindOf(e))
		switch {
		case ok && hit.Row.Tool != "inner":
			out = append(out, filepath.Join(dir, e.Name()))
		case deeper && e.IsDir() && sensitive.Leads(e.Name()):
			out = append(out, obeyedIn(filepath.Join(dir, e.Name()), false)...)
		}
	}
	return out
}

// changedIn looks one level down.
func changedIn(dir string, since time.Time) bool {
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries[:min(len(entries), 100)], func(e fs.DirEntry) bool {
		fi, err := e.Info()
		return err == nil && changedSince(fi, since)
	})
}
