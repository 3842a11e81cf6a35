// Package gate decides what a box may bring into one repository of the host: its objects (package
// objects) and its index (package index), for who serves the repository to the box, or brings in what
// the box did in a clone.
package gate

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/lazy"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/git/index"
	"github.com/enr/inner/isolator/git/objects"
	"github.com/enr/inner/isolator/git/program"
)

// Repository is one repository of a box.
type Repository = objects.Repository

// Gate is open until Close.
type Gate struct {
	*objects.Gate
	tree   *os.File
	say    func(format string, args ...any)
	untrue atomic.Pointer[map[index.Entry]bool] // of the last index that a box wrote: entries whose times git outside may not believe
}

// Open opens the gate of a repository. say tells the person what comes of files that the box may not write.
func Open(r Repository, say func(format string, args ...any)) (*Gate, error) {
	tree, err := os.Open(r.Top)
	if err != nil {
		return nil, err
	}
	g := &Gate{tree: tree, say: say}
	if g.Gate, err = objects.New(r); err != nil {
		tree.Close()
		return nil, err
	}
	g.AllowedLinks = g.gitlinks
	return g, nil
}

// Close closes it.
func (g *Gate) Close() {
	g.Gate.Close()
	g.tree.Close()
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
	var written int64
	if fi, err := os.Stat(filepath.Join(g.Dir, name)); err == nil {
		written = fi.ModTime().UnixNano()
	}
	own := name == g.Index()
	tree := g.treeOf(name)
	defer tree.Close()
	known, untrue := g.untrue.Load(), map[index.Entry]bool{}
	checked, err := index.Check(box, host, index.Rules{
		Sparse:    g.Sparse || !own,
		Written:   written,
		Protected: func(path string) bool { return own && g.Covers(path) },
		Gitlink:   func(path string) bool { return slices.Contains(g.Nested, path) && g.HostHad(path, objects.Gitlink) },
		True: func(e *index.Entry) bool {
			// A box goes on to write those that are not: their files are not read each time.
			if is := tree != nil && (known == nil || !(*known)[*e]) && index.TimesTrue(int(tree.Fd()), e); is {
				return true
			}
			untrue[*e] = true
			return false
		},
	})
	g.untrue.Store(&untrue)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range checked.Away {
		if c.Was != nil || !slices.Contains(g.Hidden, c.Is.Name) {
			continue
		}
		out, _ := g.soon(
			"log",
			"--all",
			"--reflog",
			"--format=%H",
			"-1",
			"--",
			c.Is.Name,
		)
		if out == "" {
			return nil, nil, fmt.Errorf("%s is hidden here: it is staged outside", c.Is.Name)
		}
	}
	if err := errors.Join(g.BringAs(objects.Modules, checked.Modules...), g.BringAs("blob", checked.Blobs...)); err != nil {
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
	tree, err := g.open(rest, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil
	}
	return tree
}

// open opens something in the work tree, through no link.
func (g *Gate) open(name string, flags int) (*os.File, error) {
	fd, err := copytree.Make(int(g.tree.Fd()), name, flags, 0o666)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Served returns an index as the box sees it.
func (g *Gate) Served(name string, data []byte) ([]byte, error) {
	if name != g.Index() || !slices.ContainsFunc(g.Covered, func(at string) bool { return index.MayHold(data, at) }) {
		return data, nil
	}
	x, err := g.parse(name, data)
	if err != nil {
		return nil, err
	}
	return x.Served(g.Covers)
}

// ServeIn makes the index in a copy of the git directory what the box sees of it. It keeps its time: git
// believes times that are older.
func (g *Gate) ServeIn(dir string) error {
	file := filepath.Join(dir, g.Index())
	info, err := os.Stat(file)
	if err != nil {
		return nil // nothing is staged
	}
	data, err := os.ReadFile(file)
	if err == nil {
		data, err = g.Served(g.Index(), data)
	}
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(file, data, 0o600), os.Chtimes(file, info.ModTime(), info.ModTime()))
}

// parse reads an index of the host's. Git makes a split or sparse one whole.
func (g *Gate) parse(name string, data []byte) (*index.Index, error) {
	x, err := index.Parse(data)
	if err != nil || !x.Partial {
		return x, err
	}
	temp, err := os.MkdirTemp(g.Private, "index-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	file := filepath.Join(temp, "index")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return nil, err
	}
	c := g.Command(filepath.Dir(filepath.Join(g.Dir, name)), "-c", "index.sparse=false", "-c", "core.splitIndex=false",
		"update-index", "--no-split-index", "--force-write-index")
	c.Env = append(c.Env, "GIT_INDEX_FILE="+file)
	if out, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w", strings.TrimSpace(string(out)), err)
	}
	if data, err = os.ReadFile(file); err != nil {
		return nil, err
	}
	return index.Parse(data)
}

// Command is a git over the host's repository, whose settings it obeys.
func (g *Gate) Command(dir string, args ...string) *exec.Cmd {
	c := program.Command(g.Git, args...)
	c.Env = append(c.Env, "GIT_DIR="+dir, "GIT_WORK_TREE="+g.Top)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL} // it may wait for ever for what a box has made
	return c
}

// gitlinks are the places of submodules that the host's index has.
func (g *Gate) gitlinks() (map[string]bool, error) {
	out, err := g.Command(filepath.Join(g.Dir, g.Place()), "ls-files", "--stage", "-z").Output()
	found := map[string]bool{}
	for line := range strings.SplitSeq(string(out), "\x00") {
		if about, path, _ := strings.Cut(line, "\t"); strings.HasPrefix(about, objects.Gitlink) {
			found[path] = true
		}
	}
	return found, err
}

// badRef is what git would not take as the name of a ref (git-check-ref-format(1)).
var badRef = lazy.Regexp(`[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|^\.|/\.|//|\.$|\./|^-|/-|^@$`)

// GoodRef reports whether git takes a name as that of a ref.
func GoodRef(name string) bool {
	ref, is := strings.CutPrefix(name, "refs/")
	return is && ref != "" && !badRef().MatchString(ref) && !strings.HasSuffix(ref, ".lock") && !strings.Contains(ref, ".lock/")
}

// PackedRef is a line of packed-refs, with the line after it that says what a tag is of.
var PackedRef = lazy.Regexp(`([0-9a-f]{40}) (refs/.+)\n(\^[0-9a-f]{40}\n)?`)

// Packed returns these lines of a text by the name of the ref, and an error where it has others.
func Packed(text string) (refs map[string]string, err error) {
	refs = map[string]string{}
	if strings.HasPrefix(text, "#") {
		_, text, _ = strings.Cut(text, "\n")
	}
	read := 0
	for _, m := range PackedRef().FindAllStringSubmatch(text, -1) {
		refs[m[2]], read = m[0], read+len(m[0])
	}
	if read < len(text) {
		err = errors.New("packed-refs is not what git writes")
	}
	return refs, err
}
