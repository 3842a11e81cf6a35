package profile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/enr/inner/internal/own"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/internal/worktree"
)

// Project is a folder with a .inner folder that holds profiles/ or config.toml.
type Project struct {
	Root string // as walked up to from the folder that was asked about
	Dir  string // Root/.inner; that of the main worktree when Root has none
	// Of is set where Root is, or lies in, a linked worktree of git, and the repository
	// confirms it: the same folder in the main worktree.
	Of string
	// Problem says why the .inner folder is not used: its owner, its mode, or
	// that it cannot be inspected. It is nil for a project in order.
	Problem error

	tree *worktree.Tree // the linked worktree that Root lies in; where it does in none, nil
}

// FindProject returns the project that dir, a physical path, lies in: the
// nearest folder upwards with a .inner that counts. The folders of innerHomes
// (INNER_HOME, and ~/.inner when that is another one) never count, nor does the
// .inner of the home that the password file names. It returns nil when there is
// none. A folder of a linked worktree that has none is in the project of the same folder
// of the main worktree.
//
// A .inner that anyone but the user or root can change is returned with a
// Problem and is not skipped: the next one upwards must not step in for it.
func FindProject(dir string, innerHomes ...string) *Project {
	if !filepath.IsAbs(dir) {
		return nil
	}
	w := walk{homes: innerHomes}
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		if p := projectAt(dir, innerHomes); p != nil {
			if p.tree = w.tree(dir); p.tree != nil && p.tree.Main != "" && confirmed(p.tree) == nil {
				p.Of = inMain(p.tree, dir)
			}
			return p
		}
		if p := w.main(dir); p != nil {
			return p
		}
		if dir == "/" {
			return nil
		}
	}
}

// FromMain reports whether the .inner in force is that of the main worktree.
func (p *Project) FromMain() bool { return p.Of != "" && p.Dir != filepath.Join(p.Root, ".inner") }

// Behind returns the project of the main worktree, in force in this linked one, that stands
// behind a .inner of the worktree's own: what that does not claim, this may. It returns nil
// when there is none. A program in a box can make a .inner, and must not be able to lift a
// claim so.
func (p *Project) Behind(innerHomes ...string) *Project {
	if p.Dir != filepath.Join(p.Root, ".inner") {
		return nil
	}
	w := walk{homes: innerHomes, top: p.Root, at: p.tree}
	return w.main(p.Root)
}

// walk looks for linked worktrees on the way upwards, each once.
type walk struct {
	homes []string
	top   string // the nearest folder with a .git, "" before it was looked for
	at    *worktree.Tree
}

// tree is the linked worktree that a folder lies in, or nil.
func (w *walk) tree(dir string) *worktree.Tree {
	if w.top == "" || !paths.Below(w.top, dir) {
		w.top, w.at = worktree.Around(dir)
	}
	return w.at
}

// main is the project that a folder of a linked worktree without a .inner has from the same
// folder of the main worktree. One that the repository does not confirm has a Problem: the
// commands of a project that a folder claims to belong to do not run outside the sandbox
// for that.
func (w *walk) main(dir string) *Project {
	tree := w.tree(dir)
	if tree == nil || tree.Main == "" {
		return nil
	}
	at := inMain(tree, dir)
	m := projectAt(at, w.homes)
	if at == dir || m == nil {
		return nil
	}
	p := &Project{Root: dir, Dir: m.Dir, Of: at, Problem: m.Problem}
	if err := confirmed(tree); err != nil {
		p.Of, p.Problem = "", err
	}
	return p
}

func confirmed(t *worktree.Tree) error {
	if t.Err != nil {
		return t.Err
	}
	return t.Owned()
}

// inMain is the place in the main worktree that a folder of a linked one stands for.
func inMain(t *worktree.Tree, dir string) string {
	return filepath.Join(t.Main, strings.TrimPrefix(dir, t.Top))
}

func projectAt(root string, innerHomes []string) *Project {
	p := &Project{Root: root, Dir: filepath.Join(root, ".inner")}
	switch _, err := os.Lstat(p.Dir); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), err == nil && slices.Contains(innerHomes, p.Dir):
		return nil
	case err != nil:
		p.Problem = fmt.Errorf("%q cannot be inspected: %w", p.Dir, err)
		return p
	}
	target, err := os.Stat(p.Dir)
	if err != nil || !target.IsDir() || isInnerHome(target, innerHomes) { // a dangling link holds nothing
		return nil
	}
	holds := false
	for _, at := range []string{p.Dir, filepath.Join(p.Dir, "profiles"), filepath.Join(p.Dir, "config.toml")} {
		st, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			p.Problem = fmt.Errorf("%q cannot be inspected: %w", p.Dir, err)
			return p
		}
		holds = holds || at != p.Dir
		if why := own.Fault(st); why != "" && p.Problem == nil {
			p.Problem = fmt.Errorf("%q %s", at, why)
		}
	}
	if !holds {
		return nil
	}
	return p
}

// isInnerHome compares by identity: another spelling is the same folder.
func isInnerHome(fi fs.FileInfo, innerHomes []string) bool {
	same := func(home string) bool {
		own, err := os.Stat(home)
		return err == nil && os.SameFile(fi, own)
	}
	if slices.ContainsFunc(innerHomes, same) {
		return true
	}
	home := PasswordHome() // asked last: most folders have no .inner at all
	return home != "" && same(filepath.Join(home, ".inner"))
}

// Own returns an error when someone other than the user or root may have
// written what is at path; links are followed.
func Own(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if why := own.Fault(st); why != "" {
		return fmt.Errorf("%q %s", path, why)
	}
	return nil
}

// ProfileFiles returns the paths of the project's *.toml profiles, sorted;
// nothing is opened. A project without profiles/ has none.
func (p *Project) ProfileFiles() ([]string, error) {
	return profileFiles(filepath.Join(p.Dir, "profiles"))
}

// maxFiles bounds the work of listing a folder of profiles.
const maxFiles = 4096

func profileFiles(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(maxFiles + 1)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case len(entries) > maxFiles:
		return nil, fmt.Errorf("%q holds more than %d files", dir, maxFiles)
	}
	var out []string
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".toml") && len(name) > len(".toml") && name[0] != '.' {
			out = append(out, filepath.Join(dir, name))
		}
	}
	slices.Sort(out)
	return out, nil
}
