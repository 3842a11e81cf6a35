// Package objects lets what a box stored in git come into the host's repository.
//
// A box writes objects into a store of its own. Before a ref, a HEAD, a log or an index outside
// names one of them, Bring or BringBlobs brings it over with all that it needs:
//
//	g, err := objects.New(objects.Options{Git: "/usr/bin/git", Host: gitDir, Store: store, Own: folder})
//	err = g.Bring(commit)          // before a ref is renamed into place
//	err = g.BringBlobs(blobs...)   // before an index is
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
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// Options say whose objects go where. The descriptors stay the caller's, and are open as long as the gate is.
type Options struct {
	Git   string   // the host's git
	Host  *os.File // the host's git directory: that of the repository, not of a linked worktree
	Store *os.File // the box's store of objects
	Own   string   // an empty folder of inner's alone, for a git directory

	// Share returns the mode that core.sharedRepository gives what was made with a mode; nil leaves it as it is.
	Share func(mode uint32) uint32

	// Partial says that the host's repository is a partial clone: packs from its remote lack objects.
	Partial bool

	// AllowedLinks returns the paths of the gitlinks that the host's index has. It is called when one is met.
	AllowedLinks func() (map[string]bool, error)
}

// Gate brings objects from one store to one repository. Its methods may be called concurrently.
type Gate struct {
	Options
	mutex   sync.Mutex
	objects *os.File // the host's folder of objects
	asked   *cats
	packs   map[string]bool // those of the store that came over
	known   map[id]*object  // commits and trees that were read lately
}

// NewLink is the error for a commit or tree that brings a gitlink. It holds the path, which the box chose.
type NewLink string

func (l NewLink) Error() string { return fmt.Sprintf("brings the repository at %q", string(l)) }

// New makes a gate. Close must be called.
func New(o Options) (*Gate, error) {
	objects, err := os.Open(filepath.Join(folderOf(o.Host), "objects"))
	if err != nil {
		return nil, err
	}
	g := &Gate{Options: o, objects: objects, packs: map[string]bool{}, known: map[id]*object{}}
	if err := g.makeOwn(); err != nil {
		objects.Close()
		return nil, err
	}
	g.sweep()
	return g, nil
}

// folderOf returns a path that leads to an open folder, wherever it has been moved.
func folderOf(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// Close ends what the gate started.
func (g *Gate) Close() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.asked.close()
	g.objects.Close()
}

// Has reports whether the host has an object now.
func (g *Gate) Has(name string) (bool, error) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	object, err := parseID(name)
	if err != nil {
		return false, err
	}
	kinds, err := g.host().kinds(object)
	return err == nil && kinds[0] != "", err
}

// Bring brings what a ref, a HEAD or a log is about to name, in hexadecimal. The name of nothing, all zeros, is passed over.
func (g *Gate) Bring(names ...string) error {
	return g.bring(names, func(w *walk, list []id) error {
		for _, object := range list {
			if err := w.named(object, 0); err != nil {
				return fmt.Errorf("%s: %w", object, err)
			}
		}
		return nil
	})
}

// BringBlobs brings the files that an index is about to name, in hexadecimal.
func (g *Gate) BringBlobs(names ...string) error {
	return g.bring(names, func(w *walk, list []id) error { return w.need("blob", list...) })
}

// BringModules brings files that an index is about to name as .gitmodules.
func (g *Gate) BringModules(names ...string) error {
	return g.bring(names, func(w *walk, list []id) error {
		if err := w.need("blob", list...); err != nil {
			return err
		}
		return w.quarantine.modules(list)
	})
}

// bring looks at what may come over, and then brings it. Packs are looked at when something is in no file of its own.
func (g *Gate) bring(names []string, look func(*walk, []id) error) error {
	list, err := parseIDs(names)
	if err != nil || len(list) == 0 {
		return err
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	err = g.bringLoose(list, look)
	if !errors.Is(err, errMissing) {
		return err
	}
	refused := g.bringPacks()
	if err = g.bringLoose(list, look); err != nil {
		return errors.Join(err, refused)
	}
	return nil
}

// bringLoose brings what the store has as files of their own.
func (g *Gate) bringLoose(list []id, look func(*walk, []id) error) error {
	w := &walk{gate: g, quarantine: quarantine{gate: g}, host: g.host(), fresh: map[id]*object{}, done: map[string]bool{}}
	w.git = w.host
	defer w.quarantine.remove()
	if err := look(w, list); err != nil {
		return err
	}
	if w.odd {
		if err := w.quarantine.judge(w.order); err != nil {
			return err
		}
	}
	if err := g.record(w.commits); err != nil { // before they come
		return err
	}
	for name, o := range w.fresh {
		g.remember(name, o)
	}
	return w.quarantine.release(w.order)
}

// remember keeps the text of a small object: the next commit is compared with it.
func (g *Gate) remember(name id, o *object) {
	if len(g.known) == maxKnown {
		clear(g.known)
	}
	if o.kind != "blob" && len(o.text) <= 1<<14 {
		g.known[name] = o
	}
}

// hasLoose reports whether the host has an object as a file of its own.
func (g *Gate) hasLoose(object id) bool {
	return unix.Faccessat(int(g.objects.Fd()), object.file(), unix.F_OK, 0) == nil
}
