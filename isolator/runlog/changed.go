package runlog

import (
	"io/fs"
	"maps"
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

// Changed looks through folders for what changed since a Moment, less what inner itself put there.
// It does not look into .git and node_modules, and follows no link.
func Changed(roots, ours []string, since time.Time) (found Changes) {
	add := func(p string) {
		if len(found.Files) == maxListed {
			found.More++
			return
		}
		found.Files = append(found.Files, p)
	}
	seen, end := 0, time.Now().Add(maxSearch)
	folders := map[string]bool{} // that changed, and nothing in them shows why
	entry := func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // nothing of it is the box's: it could not read it either
		}
		if seen++; seen > maxEntries || seen%256 == 0 && time.Now().After(end) {
			found.Partly = true
			return fs.SkipAll
		}
		fi, err := e.Info()
		if err != nil {
			return nil
		}
		p = filepath.Clean(p)
		name, mine, recent := fi.Name(), slices.Contains(ours, p), changedSince(fi, since)
		skip := fi.IsDir() && (mine || name == ".git" || name == "node_modules")
		if recent || mine {
			delete(folders, filepath.Dir(p))
		}
		if skip && name == ".git" { // only what happened to the repository counts
			recent = slices.ContainsFunc([]string{"HEAD", "logs/HEAD", "index", "packed-refs", "config"}, func(name string) bool {
				fi, err := os.Lstat(filepath.Join(p, name))
				return err == nil && changedSince(fi, since)
			})
		}
		switch {
		case mine || !recent:
		case skip:
			add(p + "/")
		case fi.IsDir():
			folders[p] = true
		default:
			add(p)
		}
		if skip {
			return fs.SkipDir
		}
		return nil
	}
	for _, root := range topmost(roots) {
		_ = filepath.WalkDir(root+"/", entry) // it never fails
	}
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		if isNew(dir, since) {
			add(dir + "/")
		} else if len(found.Gone) < maxListed {
			found.Gone = append(found.Gone, dir)
		}
	}
	return found
}

// topmost drops the folders that lie in another one.
func topmost(roots []string) []string {
	sorted := slices.Clone(roots)
	slices.Sort(sorted)
	return slices.DeleteFunc(slices.Compact(sorted), func(r string) bool {
		return slices.ContainsFunc(roots, func(other string) bool { return paths.Inside(other, r) })
	})
}

// isNew reports whether a folder was made since then, where the file system remembers that.
func isNew(dir string, since time.Time) bool {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, dir, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st)
	return err == nil && st.Mask&unix.STATX_BTIME != 0 && !time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)).Before(since)
}

func changedSince(fi fs.FileInfo, since time.Time) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && !time.Unix(st.Ctim.Unix()).Before(since)
}

// RunsLater returns what changed since a Moment at the top of the folders, or is in files, and that the
// host runs or obeys the next time somebody builds, tests or opens a folder: what the table of package
// sensitive lists, and shell scripts.
func RunsLater(roots, ours, files []string, since time.Time) []string {
	var out []string
	for _, root := range topmost(roots) {
		out = append(out, slices.DeleteFunc(obeyedIn(root, true), func(p string) bool {
			fi, err := os.Lstat(p)
			return err != nil || !changedSince(fi, since) && !(fi.IsDir() && changedIn(p, since))
		})...)
	}
	for _, p := range files {
		_, obeyed := sensitive.Match(filepath.Dir(p), filepath.Base(p), sensitive.Link)
		if (strings.HasSuffix(p, ".sh") || obeyed) && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return slices.DeleteFunc(out, func(p string) bool { return slices.Contains(ours, p) })
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
