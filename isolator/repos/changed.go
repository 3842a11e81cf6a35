package repos

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/sensitive"
)

// The same look tells what changed in the roots since the run began, by the run or by somebody else, for a
// summary, and what of that runs on the host the next time somebody builds, tests or opens a folder.

// maxListed is how many changes are listed.
const maxListed = 1000

// since reports whether the time of something's change is not before the run's beginning.
func (w *sweep) since(fi fs.FileInfo) bool { return !time.Unix(stat(fi).Ctim.Unix()).Before(w.Since) }

// entry notes an entry of a folder, and reports whether it shows why the folder changed.
func (w *sweep) entry(dir string, e files.Entry) bool {
	p := paths.Join(dir, e.Name)
	list := w.lists(dir)
	hit, obeyed := sensitive.Match(dir, e.Name, sensitive.KindOf(e.Type))
	top := obeyed && hit.Row.Tool != "inner" && w.isRoot(hit.Base)
	if !list && !top {
		return false
	}
	mine := slices.Contains(w.Before, p)
	fi, err := os.Lstat(p)
	if mine || err != nil {
		return mine
	}
	changed := w.since(fi)
	if top && (changed || fi.IsDir() && w.changedIn(p)) {
		w.Later = append(w.Later, p)
	}
	if !list || !changed && e.Name != ".git" {
		return changed
	}
	switch _, file := sensitive.Match(dir, e.Name, sensitive.Link); {
	case !fi.IsDir():
		w.list(p)
		if (file || strings.HasSuffix(p, ".sh")) && !slices.Contains(w.Later, p) {
			w.Later = append(w.Later, p)
		}
	case e.Name == ".git" && w.changedGit(p), e.Name == "node_modules":
		w.list(p + "/")
	}
	return changed
}

// list lists a change.
func (w *sweep) list(p string) {
	if len(w.Changes.Files) == maxListed {
		w.Changes.More++
		return
	}
	w.Changes.Files = append(w.Changes.Files, p)
}

// lists reports whether what changed in a folder is listed: not what is in git's folders, nor in packages.
func (w *sweep) lists(dir string) bool {
	return w.Summary && !slices.ContainsFunc(w.roots, func(r *os.File) bool {
		rest, ok := paths.Rest(r.Name(), dir)
		return ok && (strings.Contains("/"+rest+"/", "/.git/") || strings.Contains("/"+rest+"/", "/node_modules/"))
	})
}

// unexplained lists a folder that changed, and nothing in it shows why: it is new, or something is gone.
func (w *sweep) unexplained(dir string, fi fs.FileInfo) {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, dir, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st)
	switch {
	case fi == nil || !w.since(fi) || !w.lists(dir) || slices.Contains(w.Before, dir):
	case err == nil && st.Mask&unix.STATX_BTIME != 0 && !time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)).Before(w.Since):
		w.list(dir + "/")
	case len(w.Changes.Gone) < maxListed:
		w.Changes.Gone = append(w.Changes.Gone, dir)
	}
}

// changedGit reports whether something happened to a repository.
func (w *sweep) changedGit(p string) bool {
	return slices.ContainsFunc([]string{"HEAD", "logs/HEAD", "index", "packed-refs", "config"}, func(name string) bool {
		fi, err := os.Lstat(filepath.Join(p, name))
		return err == nil && w.since(fi)
	})
}

// changedIn looks one level down.
func (w *sweep) changedIn(dir string) bool {
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries[:min(len(entries), 100)], func(e fs.DirEntry) bool {
		fi, err := e.Info()
		return err == nil && w.since(fi)
	})
}
