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

// Changed looks through folders for what changed since a Moment, less what inner itself put there, and says which of it
// the host runs or obeys the next time somebody builds, tests or opens a folder: what the table of package sensitive
// lists, and shell scripts. It does not look into .git and node_modules, and follows no link. Unless all is wanted it
// looks for what is obeyed at the top of the folders alone, and one level below in those that such names begin with.
func Changed(roots, ours []string, since time.Time, all bool) (found Changes, later []string) {
	add := func(p string) {
		if len(found.Files) == maxListed {
			found.More++
			return
		}
		found.Files = append(found.Files, p)
	}
	seen, end := 0, time.Now().Add(maxSearch)
	folders := map[string]bool{} // that changed, and nothing in them shows why
	entry := func(root, p string, e fs.DirEntry) error {
		if seen++; seen > maxEntries || seen%256 == 0 && time.Now().After(end) {
			found.Partly = true
			return fs.SkipAll
		}
		name := e.Name()
		dir := strings.TrimSuffix(p, "/"+name)
		hit, obeyed := sensitive.Match(dir, name, sensitive.KindOf(e))
		obeyed = obeyed && p != root && hit.Row.Tool != "inner"
		skip := e.IsDir() && (name == ".git" || name == "node_modules" || !all && p != root && (obeyed || dir != root || !sensitive.Leads(name)))
		if !all && !obeyed && p != root {
			if skip {
				return fs.SkipDir
			}
			return nil
		}
		fi, err := e.Info()
		switch {
		case err != nil:
			return nil
		case slices.Contains(ours, p):
			delete(folders, dir)
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		recent := changedSince(fi, since)
		if recent {
			delete(folders, dir)
		}
		if skip && name == ".git" { // only what happened to the repository counts
			recent = slices.ContainsFunc([]string{"HEAD", "logs/HEAD", "index", "packed-refs", "config"}, func(name string) bool {
				fi, err := os.Lstat(filepath.Join(p, name))
				return err == nil && changedSince(fi, since)
			})
		}
		if obeyed && (recent || e.IsDir() && changedIn(p, since)) || all && recent && !e.IsDir() && strings.HasSuffix(name, ".sh") {
			later = append(later, p)
		}
		switch {
		case !recent:
		case skip:
			add(p + "/")
		case e.IsDir():
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
		_ = filepath.WalkDir(root+"/", func(p string, e fs.DirEntry, err error) error { // it never fails
			if err != nil {
				return nil // nothing of it is the box's: it could not read it either
			}
			return entry(root, strings.TrimSuffix(p, "/"), e)
		})
	}
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		if isNew(dir, since) {
			add(dir + "/")
		} else if len(found.Gone) < maxListed {
			found.Gone = append(found.Gone, dir)
		}
	}
	return found, later
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

// changedIn looks one level down.
func changedIn(dir string, since time.Time) bool {
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries[:min(len(entries), 100)], func(e fs.DirEntry) bool {
		fi, err := e.Info()
		return err == nil && changedSince(fi, since)
	})
}
