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
// original stays beside it, and everything else is renamed. It finds every repository in the
// index of one it knows, and the rest in the folders it has time for; it names those that it did
// not search.
// It writes in the given folders only, through no link that leads out of them.
package repos

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/profile/gitconfig"
)

// Suffix is what the name of something that was switched off ends with.
const Suffix = sensitive.Suffix

// Search says where to look.
type Search struct {
	Roots    []string      // folders the box could write
	Guarded  []string      // git directories that the box could not write, and what leads to them
	Unlisted []string      // folders in which nobody looked for repositories before the run, real paths
	Ours     []string      // what inner itself put there
	Covered  []string      // real paths of folders in the roots that the box could neither see nor move: they are left alone
	Hooks    []string      // where the user's own settings have the hooks of every repository
	Since    time.Time     // when the run began, as files know it
	Timeless []string      // roots where the time of a change can be set: everything in them counts as recent
	Limit    time.Duration // how long folders are looked through; at least some of them are

	NoGit  bool        // repositories are the box's to change
	Obeyed []string    // roots in which other tools obey what they find
	Before []string    // of that, what was there before the run: it stays
	Keep   []string    // what was named on purpose, with all that is in it: it stays
	Named  []string    // paths that settings of git name
	Homes  []string    // the user's homes
	Paths  []string    // folders of programs in these that PATH names
	Mounts host.Mounts // the other names of what the host mounts twice

	Stood map[string]string // what was at places of Guarded, Before and Ours (Stood)
	// Tracked is what git outside has at places of a work tree, see git.TrackedAt; nil asks nobody.
	Tracked func(top string, places []string) git.Tracked
	Copies  map[string]string // the box's own copies, which it keeps, of files in the roots
}

// Held is what was switched off in one place.
type Held struct {
	Place string   // the .git folder or file
	What  []string // settings by their key, hooks by their name
	Aside []Moved  // the originals

	Unwritten error // why what runs nothing of them is not in their place, or nil
}

// Moved is something that was moved aside.
type Moved struct {
	Path string // where it was
	Kept string // where it is
	Tool string // who would obey it
}

// Found is what a search found.
type Found struct {
	Held   []Held
	Moved  []Moved
	Aside  []Moved  // all that was renamed, in that order: what is in a folder may follow it
	Unseen []string // folders that could not be read, whose path is too long, or that there was no time for, the nearest of these first
}

// Folders that are looked through however long it takes.
const always = 400

// Most bytes of a configuration, and of a file that names a folder (as many as git
// reads: setup.c, read_gitfile_gently).
const maxFile = 1 << 20

// How long folders are looked through where an index does not say what git would find.
const thorough = time.Minute

type sweep struct {
	Search
	roots   []root
	seen    map[string]bool     // repositories, and whether they run nothing now
	tops    map[string]bool     // .git files and folders
	trees   map[string][]string // the work trees that repositories name
	timed   map[uint64]bool     // devices, and whether the time of a change can be relied on
	more    []string            // folders that were moved aside, and are still to be looked into
	tracked git.Tracked         // see ask
	asked   []string
	Found
	errs []error
}

type root struct {
	path string
	dir  *os.Root
	fd   *os.File // the same
}

// Hold looks for what would run on the host, and switches it off or moves it aside. What
// could not be is an error; the rest was.
func (s Search) Hold() (Found, error) {
	w := &sweep{Search: s, seen: map[string]bool{}, tops: map[string]bool{}, trees: map[string][]string{}, timed: map[uint64]bool{}, tracked: git.Tracked{}}
	for _, p := range s.Roots {
		if err := w.enter(p); err != nil {
			w.errs = append(w.errs, err)
		}
	}
	defer w.leave()
	for p := range s.Stood {
		_, _ = w.lstat(p) // opens the folders on the way, which the box may have closed
	}
	w.Search = s.real() // of what lies in the roots, which are open now
	if !s.NoGit {
		for _, g := range s.Guarded {
			w.top(g)
		}
	}
	w.places()
	w.folders()
	for _, p := range s.Before { // a profile that is named as a file is no tool's by its name
		if !slices.Contains(w.Before, p) {
			w.single(p, "inner")
		}
	}
	return w.Found, errors.Join(w.errs...)
}

// folders looks through the roots: first what changed, because something that is made
// changes the folder it is in, then what is near, other people's packages last.
func (w *sweep) folders() {
	var q queue
	for _, r := range w.roots {
		q.others = append(q.others, r.path)
	}
	begin, left := time.Now(), always
	visited := map[string]bool{}
	for dir, more := q.next(); more; dir, more = q.next() {
		if visited[dir] {
			continue
		}
		visited[dir] = true
		if left--; left < 0 && time.Since(begin) > w.Limit {
			w.Unseen = slices.Concat(w.Unseen, []string{dir}, q.changed, q.others, q.packages)
			if w.Limit == thorough {
				w.errs = append(w.errs, errors.New("an index that git reads in another way, and too many folders"))
			}
			return
		}
		q.add(w.folder(dir))
		q.changed, w.more = append(q.changed, w.more...), nil
	}
}

// queue has the folders that are still to be looked through: those that changed first, packages last.
type queue struct{ changed, others, packages []string }

func (q *queue) add(below queue) {
	q.changed, q.others, q.packages = append(q.changed, below.changed...), append(q.others, below.others...), append(q.packages, below.packages...)
}

// next takes the first folder out.
func (q *queue) next() (dir string, more bool) {
	for _, list := range []*[]string{&q.changed, &q.others, &q.packages} {
		if len(*list) > 0 {
			dir, *list = (*list)[0], (*list)[1:]
			return dir, true
		}
	}
	return "", false
}

// folder looks at what lies in one folder, and returns the folders in it.
func (w *sweep) folder(dir string) (below queue) {
	entries, err := w.readDir(dir)
	if err != nil {
		w.top(filepath.Join(dir, ".git")) // git may enter what cannot be listed
	}
	obeyed := w.looksFor(dir)
	has := map[string]bool{}
	for _, e := range entries {
		p := paths.Join(dir, e.Name())
		if slices.Contains(w.Covered, p) {
			continue
		}
		if obeyed && w.obeyed(dir, e) {
			continue
		}
		has[e.Name()] = true
		switch {
		case e.Name() == ".git":
			w.top(p)
		case !e.IsDir():
		case e.Name() == "node_modules":
			below.packages = append(below.packages, p)
		case w.changed(p, e):
			below.changed = append(below.changed, p)
		default:
			below.others = append(below.others, p)
		}
	}
	if w.NoGit || !isBare(has) {
		return below
	}
	w.repository(dir)
	w.named(dir, dir)
	return queue{}
}

// Bare returns the folder above a path that git takes for a repository without a work tree once there is
// something at all of the paths, "" where a work tree begins below it, or there is none.
func Bare(path string, all []string) string {
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		has := namesIn(dir)
		for _, p := range all {
			if rest, ok := paths.Rest(dir, p); ok {
				name, _, _ := strings.Cut(rest, "/")
				has[name] = true
			}
		}
		top := filepath.Join(dir, ".git")
		if fi, err := os.Lstat(top); err == nil && (!fi.IsDir() || isBare(namesIn(top))) {
			return ""
		}
		if isBare(has) {
			return dir
		}
	}
	return ""
}

// namesIn returns what is in a folder, as far as it can be read.
func namesIn(dir string) map[string]bool {
	has := map[string]bool{}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		has[e.Name()] = true
	}
	return has
}

// isBare reports whether git takes a folder with these entries for a repository (setup.c, is_git_directory).
func isBare(has map[string]bool) bool {
	return has["HEAD"] && (has["objects"] && has["refs"] || has["commondir"])
}

// changed reports whether an entry of a folder is recent.
func (w *sweep) changed(p string, e fs.DirEntry) bool {
	fi, err := e.Info()
	return err == nil && w.recent(p, fi)
}

// top looks at a .git: a repository, or what leads to one.
func (w *sweep) top(p string) {
	if w.tops[p] || w.NoGit {
		return
	}
	w.tops[p] = true
	fi, err := w.lstat(p)
	if err != nil {
		return
	}
	repo := p
	if fi.IsDir() {
		w.repository(p)
	} else if repo = w.pointer(p, fi); repo == "" {
		return
	}
	trees := append([]string{filepath.Dir(p)}, w.trees[repo]...)
	if !slices.Contains(w.Guarded, repo) {
		for _, tree := range trees {
			w.named(tree, p)
		}
	}
	w.links(repo, trees)
}

// links looks at the repositories of others in the index of one, in its work trees.
func (w *sweep) links(repo string, trees []string) {
	links, ok := gitlinks(repo)
	if !ok {
		w.Limit = thorough
	}
	for _, link := range links {
		for _, tree := range trees {
			w.top(filepath.Join(tree, link, ".git"))
		}
	}
}

// pointer looks at a .git that is a file or a link, and returns the repository that it leads to, or "".
func (w *sweep) pointer(p string, fi fs.FileInfo) (repo string) {
	repo = leadsTo(p)
	clean := repo == "" || w.repository(repo)
	if !clean && w.recent(p, fi) || w.loose(p, repo, fi) {
		w.away(p, &Held{Place: p}, "a pointer to "+cmp.Or(repo, "nothing"))
	}
	return repo
}

// unknown reports whether something of git's is the box's because it was not there before
// the run, whatever times it has: what was there may have been moved to where git finds it.
func (w *sweep) unknown(p string) bool {
	return w.inside(p) && !lies(p, w.Guarded) && !lies(p, w.Unlisted) && !lies(p, w.Keep)
}

// loose reports whether a pointer is the box's and leads to where a repository of any kind can be made later, which the host's
// git would obey while a later box is still writing it. Into the git directories of the host no box writes, and a repository
// that lies in a .git folder is found before a run.
func (w *sweep) loose(p, repo string, fi fs.FileInfo) bool {
	switch {
	case !w.inside(p) || lies(p, w.Guarded) || !w.fresh(p, p, fi) || lies(repo, w.Guarded) && agrees(p):
		return false
	case repo == "":
		return !pointsInto(p, w.Guarded)
	case w.inside(repo) && !lies(repo, w.Guarded):
		return !standing(repo)
	}
	return w.unknown(p)
}

// standing reports whether a git directory is there that is looked for before each run.
func standing(repo string) bool {
	return strings.Contains(repo+"/", "/.git/") && exists(repo+"/HEAD")
}

// agrees reports whether a repository that the box cannot write says of a pointer to it that it is one: the
// person made a worktree meanwhile.
func agrees(p string) bool {
	r, err := git.FindAt(filepath.Dir(p))
	return err == nil && r.Reason == ""
}

// fresh reports whether the box made or changed something of a repository.
func (w *sweep) fresh(repo, p string, fi fs.FileInfo) bool {
	return !lies(p, w.Keep) && (w.unknown(repo) || w.recent(p, fi))
}

// freshAt reports whether something is there that is fresh.
func (w *sweep) freshAt(repo, p string) bool {
	fi, err := w.lstat(p)
	return err == nil && w.fresh(repo, p, fi)
}

// line returns what git reads of a file that names a folder: a string of C, less the line
// ends after it (setup.c, read_gitfile_gently and get_common_dir_noenv).
func line(data []byte) string {
	text, _, _ := strings.Cut(strings.TrimRight(string(data), "\r\n"), "\x00")
	return text
}

// beneath returns a path that is relative to dir. It is not cleaned: what ".." is after a
// link the kernel says.
func beneath(dir, p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return paths.Join(dir, p)
}

// leadsTo returns the repository behind a .git that is a file or a link.
func leadsTo(p string) string {
	real, err := filepath.EvalSymlinks(p)
	if err != nil {
		return ""
	}
	if fi, err := os.Lstat(real); err == nil && fi.IsDir() {
		return real
	}
	data, err := readFile(real)
	target, ok := strings.CutPrefix(line(data), "gitdir: ")
	if err != nil || !ok {
		return ""
	}
	target, err = filepath.EvalSymlinks(beneath(filepath.Dir(p), target))
	if err != nil {
		return ""
	}
	return target
}

// harmless reports whether all settings of a file have keys that begin so, run nothing and lead nowhere.
func harmless(p, prefix string) bool {
	data, err := readFile(p)
	if err != nil {
		return false
	}
	list, err := gitconfig.Parse(data)
	return err == nil && !slices.ContainsFunc(list, func(e gitconfig.Entry) bool {
		return !strings.HasPrefix(e.Key, prefix) || !gitconfig.Harmless(e, func(string) bool { return false })
	})
}

// pointsInto reports whether a .git file names a place in one of these git directories at which nothing is.
func pointsInto(p string, dirs []string) bool {
	data, err := readFile(p)
	target, ok := strings.CutPrefix(line(data), "gitdir: ")
	if err != nil || !ok || filepath.Clean(target) != target { // what ".." is after a link the kernel says
		return false
	}
	at := filepath.Clean(beneath(filepath.Dir(p), target))
	return straight(at) && lies(at, dirs)
}

// straight reports whether no folder on the way to a path is a link, as far as they are there.
func straight(p string) bool {
	for !exists(p) {
		p = filepath.Dir(p)
	}
	real, err := filepath.EvalSymlinks(p)
	return err == nil && real == p
}

// reposIn returns the repositories in a folder of them.
func (w *sweep) reposIn(dir string, depth int) []string {
	var out []string
	entries, _ := w.readDir(dir) // what could be read counts
	for _, e := range entries {
		p := filepath.Join(dir, e.Name())
		switch {
		case !e.IsDir():
		case w.has(filepath.Join(p, "HEAD")):
			out = append(out, p)
		case depth > 0:
			out = append(out, w.reposIn(p, depth-1)...)
		}
	}
	return out
}
