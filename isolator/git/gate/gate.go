// Package gate decides what a box may bring into one repository of the host: its objects (package
// objects) and its index (package index), for who serves the repository to the box, or brings in what
// the box did in a clone.
package gate

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/git/index"
	"github.com/enr/inner/isolator/git/objects"
)

// Repository is one repository of a box. Its paths are real ones of the host.
type Repository struct {
	Git     string // the host's git, an absolute path
	Dir     string // the git directory with the objects and the refs
	Top     string // the work tree that the box has
	Tree    string // its name in DIR/worktrees, "" for the main one
	Store   string // the box's objects
	Private string // a folder of inner's alone, kept between runs
	Partial bool   // a partial clone

	// Covered are the places in the work tree that the box may not write, or does not see, relative to it.
	Covered []string
	Sparse  bool // only some files of the repository are in the work tree
}

// Index is the name of the work tree's index in the git directory.
func (r *Repository) Index() string {
	if r.Tree != "" {
		return "worktrees/" + r.Tree + "/index"
	}
	return "index"
}

// Covers reports whether the box may not write, or does not see, the file at a path of the work tree.
func (r *Repository) Covers(path string) bool {
	return slices.ContainsFunc(r.Covered, func(at string) bool { return paths.Below(at, path) })
}

// Gate is open until Close.
type Gate struct {
	Repository
	objects   *objects.Gate
	host      *os.File
	store     *os.File
	tree      *os.File
	making    sync.Mutex
	own       string // a folder for git, "" until there are objects to bring
	say       func(format string, args ...any)
	settling  sync.Mutex
	unsettled map[string]string // what was told of a path
}

// Open opens the gate of a repository. say tells the person what comes of files that the box may not write.
func Open(r Repository, say func(format string, args ...any)) (g *Gate, err error) {
	g = &Gate{Repository: r, say: say, unsettled: map[string]string{}}
	defer func(opened *Gate) {
		if err != nil {
			opened.Close()
		}
	}(g)
	if g.host, err = os.Open(r.Dir); err != nil {
		return nil, err
	}
	if g.store, err = os.OpenFile(r.Store, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_DIRECTORY, 0); err != nil { // a box may have made a link there
		return nil, err
	}
	if g.tree, err = os.Open(r.Top); err != nil {
		return nil, err
	}
	return g, nil
}

// bringer is what brings objects, made when something is brought: most boxes bring nothing.
func (g *Gate) bringer() (*objects.Gate, error) {
	g.making.Lock()
	defer g.making.Unlock()
	if g.objects != nil {
		return g.objects, nil
	}
	own, err := os.MkdirTemp(g.Private, "gate-")
	if err != nil {
		return nil, err
	}
	g.own = own
	g.objects, err = objects.New(objects.Options{
		Git: g.Git, Host: g.host, Store: g.store, Own: own, Partial: g.Partial, AllowedLinks: g.gitlinks,
	})
	return g.objects, err
}

// Close closes it.
func (g *Gate) Close() {
	if g.objects != nil {
		g.objects.Close()
	}
	for _, f := range []*os.File{g.host, g.store, g.tree} {
		f.Close()
	}
	if g.own != "" {
		_ = os.RemoveAll(g.own)
	}
}

// Bring brings objects that are about to be named, with all that they name.
func (g *Gate) Bring(ids ...string) error {
	bring, err := g.bringer()
	if err == nil {
		err = bring.Bring(ids...)
	}
	var link objects.NewLink
	if errors.As(err, &link) {
		return fmt.Errorf("%w: a new submodule is for outside: git submodule add, or git fetch and merge there", err)
	}
	return err
}

// Enter decides about an index that a box wrote. done brings what of it the box could not write itself.
func (g *Gate) Enter(name string, data, old []byte) (entered []byte, done func(), err error) {
	box, err := index.Parse(data)
	if err != nil {
		return nil, nil, err
	}
	host := &index.Index{}
	if len(old) > 0 {
		if host, err = g.parse(name, old); err != nil {
			return nil, nil, err
		}
	}
	bring, err := g.bringer()
	if err != nil {
		return nil, nil, err
	}
	var written int64
	if fi, err := os.Stat(filepath.Join(g.Dir, name)); err == nil {
		written = fi.ModTime().UnixNano()
	}
	own := name == g.Index()
	tree := g.treeOf(name)
	defer tree.Close()
	checked, err := index.Check(box, host, index.Rules{
		Sparse:    g.Sparse || !own,
		Written:   written,
		Protected: func(path string) bool { return own && g.Covers(path) },
		Gitlink:   func(path string) bool { had, err := bring.HostHadLink(path); return err == nil && had },
		True:      func(e *index.Entry) bool { return tree != nil && index.TimesTrue(int(tree.Fd()), e) },
		Trees:     func(ids []index.ID) bool { return bring.Bring(names(ids)...) == nil },
	})
	if err != nil {
		return nil, nil, err
	}
	if err := errors.Join(bring.BringModules(names(checked.Modules)...), bring.BringBlobs(names(checked.Blobs)...)); err != nil {
		return nil, nil, err
	}
	if len(checked.Away) > 0 {
		done = func() { g.settle(checked.Away) }
	}
	return checked.Index.Bytes(), done, nil
}

// treeOf opens the work tree of an index, nil when it is not in the one that the box has.
func (g *Gate) treeOf(name string) *os.File {
	rest := "."
	if name != g.Index() {
		line, err := os.ReadFile(filepath.Join(g.Dir, filepath.Dir(name), "gitdir"))
		if err != nil {
			return nil
		}
		if rest, _ = paths.Rest(g.Top, filepath.Dir(strings.TrimSpace(string(line)))); rest == "" {
			return nil
		}
	}
	fd, err := unix.Openat2(int(g.tree.Fd()), rest, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_DIRECTORY, Resolve: beneath})
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), rest)
}

// Served returns an index as the box sees it.
func (g *Gate) Served(name string, data []byte) ([]byte, error) {
	if name != g.Index() || len(g.Covered) == 0 {
		return data, nil
	}
	x, err := g.parse(name, data)
	if err != nil {
		return nil, err
	}
	return x.Served(g.Covers)
}

// HostHad reports whether a commit that no box brought has this file, by its name in hexadecimal, at a path.
func (g *Gate) HostHad(path, blob string) bool {
	bring, err := g.bringer()
	if err != nil {
		return false
	}
	had, err := bring.HostHad(path, blob)
	return err == nil && had
}

func names(ids []index.ID) (out []string) {
	for _, id := range ids {
		out = append(out, hex.EncodeToString(id[:]))
	}
	return out
}

// parse reads an index of the host's. Git makes a split or sparse one whole.
func (g *Gate) parse(name string, data []byte) (*index.Index, error) {
	x, err := index.Parse(data)
	if err != nil || !x.Partial {
		return x, err
	}
	temp, err := os.CreateTemp(g.Private, "gate-")
	if err != nil {
		return nil, err
	}
	file := temp.Name()
	defer os.Remove(file)
	if _, err := temp.Write(data); errors.Join(err, temp.Close()) != nil {
		return nil, err
	}
	c := g.Command(filepath.Dir(filepath.Join(g.Dir, name)), "-c", "index.sparse=false", "-c", "core.splitIndex=false", "update-index", "--no-split-index", "--force-write-index")
	c.Env = append(c.Env, "GIT_INDEX_FILE="+file)
	if out, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w", strings.TrimSpace(string(out)), err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return index.Parse(whole)
}

// Command is a git over the host's repository, whose settings it obeys, but for those that run something.
func (g *Gate) Command(dir string, args ...string) *exec.Cmd {
	c := exec.Command(g.Git, append([]string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"}, args...)...)
	c.Dir = "/"
	c.Env = []string{
		"PATH=/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C", "GIT_DIR=" + dir, "GIT_WORK_TREE=" + g.Top, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1",
	}
	return c
}

// gitlinks are the places of submodules that the host's index has.
func (g *Gate) gitlinks() (map[string]bool, error) {
	found := map[string]bool{}
	data, err := os.ReadFile(filepath.Join(g.Dir, g.Index()))
	if errors.Is(err, os.ErrNotExist) {
		return found, nil
	}
	if err != nil {
		return nil, err
	}
	x, err := g.parse(g.Index(), data)
	if err != nil {
		return nil, err
	}
	for _, e := range x.Entries {
		if e.Mode() == 0o160000 {
			found[e.Name] = true
		}
	}
	return found, nil
}
