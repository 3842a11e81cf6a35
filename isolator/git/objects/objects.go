// Package objects lets what a box stored in git come into the host's repository.
//
// A box writes objects into a store of its own. Before a ref, a HEAD, a log or an index outside
// names one of them, Bring or its like brings it over with all that it needs:
//
//	g, err := objects.New(objects.Repository{Git: "/usr/bin/git", Dir: gitDir, Store: store, Private: folder})
//	err = g.Bring(commit)          // before a ref is renamed into place
//	err = g.BringAs("blob", blobs...)   // before an index is
//
// It promises:
//
//   - No git runs over the box's store. Loose objects are read beneath it without following links,
//     with a known bound, and are what their names say. Packs are bytes for `git index-pack --strict`
//     in a quarantine, with settings of inner's alone. Nothing else in the store is looked at.
//   - What comes over is whole: everything that a new object names is there or comes as well, and
//     an object gets its place after those that it names. Killed at any moment, no half is left.
//   - No tree brings a new gitlink: one that neither a parent of its commit nor the host's index has
//     at that path. git outside would enter the repository there, and the box wrote it.
//   - That an object is there is looked at each time, since `git gc` outside may run at any time.
//
// It does not say who may name an object: a box can name each commit that the host has. An object
// that the host has is taken as the host's git takes it, with all that it names. What came over
// for something that was then refused stays, named by nothing, until git outside removes it.
package objects

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/paths"
)

// Repository is one repository of a box. Its paths are real ones of the host.
type Repository struct {
	Git     string // the host's git, an absolute path
	Dir     string // the git directory with the objects and the refs, not that of a linked worktree
	Top     string // the work tree that the box has
	Tree    string // its name in DIR/worktrees, "" for the main one
	Store   string // the box's objects
	Private string // a folder of inner's alone, which may be kept, and shared between gates
	Partial bool   // a partial clone: packs from its remote lack objects

	// Covered are the places in the work tree that the box may not write, or does not see, relative to it.
	Covered []string
	Hidden  []string // those of Covered that the box does not see: its git takes no notice of them, unless they are tracked
	// Nested are the places in it of repositories that are there, or have no room, since the box began, so that it
	// can make none.
	Nested []string
	Sparse bool // only some files of the repository are in the work tree
}

// Place is where HEAD and the index of the work tree are in the git directory.
func (r *Repository) Place() string {
	if r.Tree != "" {
		return "worktrees/" + r.Tree
	}
	return "."
}

// Index is the name of that index.
func (r *Repository) Index() string { return filepath.Join(r.Place(), "index") }

// Covers reports whether the box may not write, or does not see, the file at a path of the work tree.
func (r *Repository) Covers(path string) bool {
	return slices.ContainsFunc(r.Covered, func(at string) bool { return paths.Below(at, path) })
}

// Gate brings objects from one store to one repository. Its methods may be called concurrently.
type Gate struct {
	Repository
	// AllowedLinks returns the paths of the gitlinks that the host's index has. It is called when one is met; it
	// may be nil.
	AllowedLinks func() (map[string]bool, error)

	mutex sync.Mutex
	host  *os.File // the host's git directory
	into  *os.File // its folder of objects
	store *os.File
	own   string // the git directory that git is run with

	quarantine string    // a folder in the host's folder of objects, while something is brought, in the form of that
	kinds      *asked    // a git that says what objects are, nil until it is asked
	diffs      *asked    // one that says what is in commits
	packed     time.Time // when the host's packs had changed last, when they were started
	packs      map[string]bool
	commits    map[string]bool // that were brought, or seen at the host, and may have gone since
}

// errMissing is an object that neither the host nor the box has.
var errMissing = errors.New("is neither in the repository nor in the box's store")

// New makes a gate. Close must be called.
func New(r Repository) (g *Gate, err error) {
	g = &Gate{Repository: r, quarantine: "tmp_objdir-inner-" + rand.Text(), packs: map[string]bool{}, commits: map[string]bool{}}
	open := func(name string, flags int) (file *os.File) {
		if err == nil {
			file, err = os.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY|flags, 0)
		}
		return file
	}
	g.host, g.into = open(r.Dir, 0), open(filepath.Join(r.Dir, "objects"), 0)
	g.store = open(r.Store, unix.O_NOFOLLOW) // a box may have made a link there
	if err == nil {
		err = g.makeOwn()
	}
	if err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// Close ends what the gate started.
func (g *Gate) Close() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.endGits()
	for _, file := range []*os.File{g.host, g.into, g.store} {
		file.Close()
	}
}

// Bring brings what a ref, a HEAD or a log is about to name, in hexadecimal. The name of nothing, all
// zeros, is passed over.
func (g *Gate) Bring(names ...string) error { return g.BringAs("", names...) }

// BringAs brings what an index is about to name: objects of the kind "blob", or files as Modules.
func (g *Gate) BringAs(kind string, names ...string) error {
	list, err := checkNames(names)
	if err != nil || len(list) == 0 {
		return err
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if kind == "" && !slices.ContainsFunc(list,
		func(name string) bool { return !g.commits[name] || !g.hasLoose(name) }) {
		return nil
	}
	return g.bring(kind, list)
}

// Modules are the files that git outside reads submodules from.
const Modules = ".gitmodules"

// bring looks at what may come over, and then brings it. Packs are looked at when something is in no file of its own.
func (g *Gate) bring(kind string, list []string) error {
	err := g.bringLoose(kind, list)
	if err == nil {
		return nil
	}
	came, refused := g.bringPacks()
	if came {
		err = g.bringLoose(kind, list)
	}
	if err == nil {
		return nil
	}
	return errors.Join(err, refused)
}

// bringLoose brings what the store has as files of their own.
func (g *Gate) bringLoose(kind string, list []string) error {
	if err := g.makeQuarantine(); err != nil {
		return err
	}
	defer g.removeQuarantine()
	w := &walk{gate: g, fresh: map[string]string{}, asks: map[ask]bool{}, odd: map[entry]bool{}, room: maxBytes}
	err := w.all(kind, list)
	if err == nil && len(w.odd) > 0 {
		err = g.judge(w.odd)
	}
	if err == nil {
		err = g.record(w.commits) // before they come
	}
	for _, name := range w.order { // they reach the disk when the system writes them, as git's own do
		if err == nil {
			err = g.release(fileOf(name))
		}
	}
	if err == nil {
		g.remember(w.commits...)
	}
	return err
}

// maxCommits is how many commits are remembered.
const maxCommits = 1000

// remember notes commits that the host has.
func (g *Gate) remember(commits ...string) {
	if len(g.commits) > maxCommits {
		clear(g.commits)
	}
	for _, name := range commits {
		g.commits[name] = true
	}
}
