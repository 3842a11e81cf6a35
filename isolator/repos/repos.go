// Package repos inspects what a run left in the folders that it could write, so that nothing
// of it runs on the host by itself: it switches off what git would run
// from the repositories that the run made or changed, and moves aside what other tools
// would obey (package sensitive has the table).
//
// Git obeys the configuration of every repository it comes across: of one that is in
// the index of another, `git status` there runs core.fsmonitor and filters (measured
// with git 2.39); of one that somebody enters, the prompt does. What was there before
// a run is protected during it; what is made during it can only be looked at
// afterwards. What of git's was not there before is the box's, whatever times it has; where nobody
// looked before, what changed since the run began is.
//
// It promises that of what it finds nothing runs, and that nothing is lost: a
// configuration keeps the settings that run nothing (on a full disk there is none for now), the
// original stays beside it, and everything else is renamed. It looks where it has time; it names
// the folders that it did not search.
// It writes in the given folders only, through no link that leads out of them.
package repos

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/isolator/stage"
)

// Suffix is what the name of something that was switched off ends with.
const Suffix = sensitive.Suffix

// Search says where to look.
type Search struct {
	stage.Watched
	Covered []string                         // real paths of folders in the roots that the box could neither see nor move: they are left alone
	Hooks   []string                         // where the user's own settings have the hooks of every repository
	InTree  func(top string) []host.GitPlace // what settings of git name in a work tree; nil names nothing
	Limit   time.Duration                    // how long folders are looked through; at least some of them are
	NoGit   bool                             // repositories are the box's to change
	Summary bool                             // what changed is listed
	Homes   []string                         // the user's homes

	// Tracked is what git outside has at a place of a work tree, see git.TrackedAt; nil asks nobody.
	Tracked func(r *git.Repo, place string) git.Tracked
	Copies  map[string]string // the box's own copies, which it keeps, of files in the roots
	Objects map[string]string // folders of objects outside, by their places in the box

	// Noted, when not nil, is what of a folder is notable when nothing was made, renamed or removed in it since before the
	// run (host.Facts).
	Noted func(dir string, now *syscall.Stat_t) ([]files.Entry, bool)
}

// Moved is something that was moved aside.
type Moved struct {
	Path string // where it was
	Kept string // where it is
	Tool string // who would obey it

	Of   string   // the .git folder or file that it is a part of, or ""
	What []string // of such a part: settings by their key, hooks by their name
}

// Found is what a search found.
type Found struct {
	Moved  []Moved  // in the order of renaming: what is in a folder may follow it
	Unseen []string // folders that could not be read, whose path is too long, or that there was no time for, the nearest of these first

	Changes runlog.Changes // with Summary
	Later   []string       // what changed at the top of the roots, or is listed, and runs on the host, or is obeyed there, later
}

// Folders that are looked through however long it takes.
const always = 400

type sweep struct {
	Search
	roots   []*os.File      // open, by their real paths
	seen    map[string]bool // repositories
	timed   map[uint64]bool // devices, and whether the time of a change can be relied on
	tracked git.Tracked     // see tracks
	asked   []string
	reals   map[string]string // folders by the paths that lead to them, see beyond
	queue   queue             // the folders that are still to be looked through
	Found
	errs []error
}

// Hold looks for what would run on the host, and switches it off or moves it aside. What
// could not be is an error; the rest was.
func (s Search) Hold() (Found, error) {
	return (&sweep{Search: s, seen: map[string]bool{}, timed: map[uint64]bool{}, tracked: git.Tracked{}, reals: map[string]string{}}).hold()
}

func (w *sweep) hold() (Found, error) {
	s := w.Search
	defer func() {
		for _, r := range w.roots {
			r.Close()
		}
	}()
	for _, p := range s.Roots {
		if err := w.enter(p); err != nil {
			w.errs = append(w.errs, err)
		}
	}
	for p := range s.Stood {
		_, _ = w.lstat(p) // opens the folders on the way, which the box may have closed
	}
	w.Search = s.real() // of what lies in the roots, which are open now
	w.places()
	w.folders()
	for _, p := range s.Before { // a profile that is named as a file is no tool's by its name
		if fi, err := w.lstat(p); err == nil && !fi.IsDir() && !slices.Contains(w.Before, p) {
			w.single(p, "inner")
		}
	}
	slices.Sort(w.Changes.Files)
	slices.Sort(w.Changes.Gone)
	w.Changes.Partly = len(w.Unseen) > 0
	return w.Found, errors.Join(w.errs...)
}

// queue has folders: those that changed, others, and other people's packages.
type queue [3][]string

// folders looks through the roots: first what changed, because something that is made
// changes the folder it is in, then what is near, other people's packages last.
func (w *sweep) folders() {
	for _, r := range w.roots {
		w.queue[1] = append(w.queue[1], r.Name())
	}
	begin, left := time.Now(), always
	visited := map[string]bool{}
	for {
		i := slices.IndexFunc(w.queue[:], func(list []string) bool { return len(list) > 0 })
		if i < 0 {
			return
		}
		dir := w.queue[i][0]
		w.queue[i] = w.queue[i][1:]
		if visited[dir] {
			continue
		}
		visited[dir] = true
		if left--; left < 0 && time.Since(begin) > w.Limit {
			w.Unseen = slices.Concat(w.Unseen, []string{dir}, w.queue[0], w.queue[1], w.queue[2])
			return
		}
		w.folder(dir)
	}
}

// folder looks at what lies in one folder. The folders in it are still to be looked through.
func (w *sweep) folder(dir string) {
	fi, _ := w.lstat(dir)
	entries := w.entries(dir, fi)
	obeyed, shown := w.looksFor(dir), false
	has := map[string]bool{}
	var below queue
	for _, e := range entries {
		if !w.Summary && !sensitive.Notable(e.Name, e.Type) {
			continue
		}
		p := paths.Join(dir, e.Name)
		if slices.Contains(w.Covered, p) || obeyed && w.obeyed(dir, e) {
			continue
		}
		has[e.Name] = true
		shown = w.entry(dir, e) || shown
		switch {
		case e.Name == ".git":
			w.top(p)
		case !e.IsDir():
		case e.Name == "node_modules":
			below[2] = append(below[2], p)
		case w.changed(p):
			below[0] = append(below[0], p)
		default:
			below[1] = append(below[1], p)
		}
	}
	if !shown {
		w.unexplained(dir, fi)
	}
	// What git takes for a repository (setup.c, is_git_directory).
	if !w.NoGit && has["HEAD"] && (has["objects"] && has["refs"] || has["commondir"]) {
		w.repository(dir)
		w.named(dir, dir)
		return
	}
	for i, list := range below {
		w.queue[i] = append(w.queue[i], list...)
	}
}

// entries are what is to be looked at of a folder. One that is what it was is not read again.
func (w *sweep) entries(dir string, fi fs.FileInfo) []files.Entry {
	if w.Noted != nil && !w.Summary && fi != nil && w.keeps(dir, fi) {
		if list, same := w.Noted(dir, stat(fi)); same {
			return list
		}
	}
	list, _ := w.readDir(dir) // what could be read counts
	return list
}

// changed reports whether something is recent.
func (w *sweep) changed(p string) bool {
	fi, err := os.Lstat(p)
	return err == nil && w.recent(p, fi)
}

// lies reports whether a path is one of the list, or belongs to one.
func lies(p string, list []string) bool {
	return slices.ContainsFunc(list, func(q string) bool { return sensitive.PartOf(q, p) })
}

// beyond is a path with no link on the way to it. Many of those that are asked for lie in one folder.
func (w *sweep) beyond(p string) string {
	dir := filepath.Dir(p)
	real, known := w.reals[dir]
	if !known {
		real = files.Real(dir)
		w.reals[dir] = real
	}
	return filepath.Join(real, filepath.Base(p))
}
