package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/worktree"
	"github.com/enr/inner/profile/gitconfig"
)

// maxConfig is the most bytes of a configuration.
const maxConfig = 1 << 20

// Repo is a repository of the host as Find found it.
type Repo struct {
	Top      string // the folder that its .git is in; the top of the work tree
	Pointer  bool   // TOP/.git is a file that leads to Dir
	Dir      string // the git directory of that work tree
	Common   string // the one with the objects and refs; Dir, but for a linked worktree
	Worktree string // the name of the linked worktree, "" for the main one
	Digits   int    // of the name of an object: 40, or 64 for sha256
	Led      bool   // .git leads to Dir, which does not say that this is its work tree
	Partial  bool   // objects may be missing, which a remote has
	Sparse   bool   // only some of the files are in the work tree
	// Reason says why the box cannot share it, in words that follow
	// "git is read-only here: ". Then only Dir and Common can be relied upon.
	Reason string
	// Ways are Dir, Common and the paths by which git gets there from Top, as they are written: where
	// one of them leads through a link, whoever replaces that link replaces the repository.
	Ways []string

	config []gitconfig.Entry
}

// ErrNone says that a folder is in no repository.
var ErrNone = errors.New("no git repository")

// Find returns the repository that git would use in a folder: the one there, or in
// the nearest folder above it. The folder is a real path.
//
// A .git file alone proves nothing: a linked worktree or a submodule counts only when the
// repository that it leads to agrees.
func Find(dir string) (*Repo, error) {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		r, err := FindAt(at)
		if !errors.Is(err, ErrNone) || at == filepath.Dir(at) {
			return r, err
		}
	}
}

// FindAt is Find for one folder, without those above it.
func FindAt(top string) (*Repo, error) {
	top = filepath.Clean(top)
	dotGit := filepath.Join(top, ".git")
	r := &Repo{Top: top, Dir: dotGit, Common: dotGit, Ways: []string{dotGit}}
	kind := typeOf(dotGit)
	vacant := func() bool { // in an empty one a box may make one
		list, err := os.ReadDir(dotGit)
		return err == nil && len(list) == 0
	}
	switch {
	case kind == unix.S_IFDIR && !vacant():
		r.Reason = r.fill()
	case kind == unix.S_IFREG, kind == unix.S_IFLNK:
		r.Pointer = kind == unix.S_IFREG
		r.Reason = r.follow()
	case typeOf(top) == 0:
		return nil, os.ErrNotExist
	case kind == 0 && typeOf(top+"/HEAD") != 0 && typeOf(top+"/objects") == unix.S_IFDIR && typeOf(top+"/refs") == unix.S_IFDIR:
		r = &Repo{Top: top, Dir: top, Common: top, Reason: "it is a bare repository"}
	default:
		return nil, ErrNone
	}
	if r.Reason == nowhere {
		return nil, ErrNone
	}
	r.Ways = append(r.Ways, r.Dir, r.Common)
	return r, nil
}

// nowhere says that a .git leads to nothing: what is made there is a repository of its own.
const nowhere = ".git leads nowhere"

// follow finds where a .git that is a file or a link leads, also a link to a file, and checks that the repository there
// agrees. Like all that follow it says why the box cannot share the repository, "" where it can.
func (r *Repo) follow() (why string) {
	real, err := files.Eval(r.Dir)
	if err != nil {
		return nowhere
	}
	if typeOf(real) == unix.S_IFREG {
		target := worktree.Target(real, r.Top)
		if target == "" {
			return ".git is a file that is not git's"
		}
		r.Ways = append(r.Ways, real, target)
		if real, err = files.Eval(target); err != nil {
			return nowhere
		}
	}
	r.Dir, r.Common = real, real
	if r.Pointer && typeOf(filepath.Join(real, "commondir")) != 0 {
		return r.linkedTree()
	}
	if why := r.fill(); why != "" {
		return why
	}
	// That of a submodule says where its work tree is, and one that `git init --separate-git-dir` made does not.
	if r.Led = r.setting("core.worktree") == ""; r.Led && filepath.Base(r.Dir) == ".git" {
		return "the repository that .git leads to is that of the folder it lies in"
	}
	return ""
}

// linkedTree reads the repository of a linked worktree.
func (r *Repo) linkedTree() (why string) {
	if common := worktree.Named(filepath.Join(r.Dir, "commondir")); common != "" {
		r.Ways = append(r.Ways, worktree.Absolute(r.Dir, common))
	}
	tree := worktree.At(r.Top)
	if tree == nil {
		return "the repository that .git leads to does not know this worktree"
	}
	r.Dir, r.Common, r.Worktree = tree.Dir, tree.Common, filepath.Base(tree.Dir)
	if tree.Err != nil {
		return tree.Err.Error()
	}
	return r.fill()
}

// fill reads the properties of a repository, and refuses one that cannot be shared.
func (r *Repo) fill() (why string) {
	if why := r.isPlain(); why != "" {
		return why
	}
	for _, name := range []string{filepath.Join(r.Common, "config"), filepath.Join(r.Dir, "config.worktree")} {
		data, err := files.Read(name, files.FollowLinks, maxConfig)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "it cannot be read: " + err.Error()
		}
		list, err := gitconfig.Parse(data)
		if err != nil {
			return "its configuration cannot be read"
		}
		r.config = append(r.config, list...)
	}
	if why := r.formats(); why != "" {
		return why
	}
	// Whoever can write that file names any folder of the host.
	if typeOf(filepath.Join(r.Common, "objects/info/alternates")) != 0 {
		return "it borrows objects from another repository (objects/info/alternates)"
	}
	return ""
}

// isPlain refuses a git directory that is not the user's own, or in which links lead elsewhere.
func (r *Repo) isPlain() (why string) {
	var st unix.Stat_t
	if unix.Stat(r.Common, &st) != nil || int(st.Uid) != os.Getuid() {
		return "the repository is somebody else's"
	}
	for _, name := range []string{"objects", "refs"} {
		if typeOf(filepath.Join(r.Common, name)) != unix.S_IFDIR {
			return name + " is no folder of the repository's own"
		}
	}
	for _, name := range []string{"HEAD", "config", "packed-refs", "index", "shallow", "logs", "objects/info", "objects/pack", "worktrees", "modules"} {
		if typeOf(filepath.Join(r.Common, name)) == unix.S_IFLNK {
			return name + " is a link"
		}
	}
	if typeOf(filepath.Join(r.Common, "commondir")) != 0 {
		return "it shares the objects and refs of another (commondir)"
	}
	return ""
}

// typeOf returns the type of what is at a path, without following a link there: unix.S_IFDIR and so on, 0 for nothing.
func typeOf(p string) uint32 {
	var st unix.Stat_t
	if unix.Lstat(p, &st) != nil {
		return 0
	}
	return st.Mode & unix.S_IFMT
}

// formats reads which storage formats a repository uses. One that is unknown here may mean
// anything, so it is refused.
//
// Source: git's Documentation/technical/repository-version.txt; setup.c of 2.39 and 2.48.
func (r *Repo) formats() (why string) {
	r.Digits = 40
	if version := r.setting("core.repositoryformatversion"); version != "" && version != "0" && version != "1" {
		return fmt.Sprintf("it has format %.40q, which is not known", version)
	}
	sparse, _ := gitconfig.Last(r.config, "core.sparsecheckout")
	r.Sparse = gitconfig.True(sparse)
	for _, e := range r.config {
		name := e.Key[strings.LastIndexByte(e.Key, '.')+1:]
		r.Partial = r.Partial || e.Key == "extensions.partialclone" || strings.HasPrefix(e.Key,
			"remote.") && (name == "promisor" || name == "partialclonefilter")
		if why := r.extension(e); why != "" {
			return why
		}
	}
	if tree := r.setting("core.worktree"); r.Worktree == "" && tree != "" &&
		files.Real(worktree.Absolute(r.Dir, tree)) != files.Real(r.Top) {
		return "its work tree is another folder (core.worktree)"
	}
	return ""
}

// harmless are git's extensions of the storage format that change nothing here.
var harmless = []string{"noop", "partialclone", "preciousobjects", "worktreeconfig", "relativeworktrees"}

// extension refuses a setting that asks for another one.
func (r *Repo) extension(e gitconfig.Entry) (why string) {
	name, is := strings.CutPrefix(e.Key, "extensions.")
	switch {
	case !is, slices.Contains(harmless, name):
		return ""
	case name == "refstorage" && e.Value == "files", name == "objectformat" && e.Value == "sha1":
		return ""
	case name == "refstorage":
		return fmt.Sprintf("its refs are kept as %.40q", e.Value)
	case name == "objectformat" && e.Value == "sha256":
		r.Digits = 64
		return "its objects have names of SHA-256, which inner does not read"
	}
	return fmt.Sprintf("it has an extension that is not known: %.40q", name)
}

// setting returns the last value of a key, as git takes it.
func (r *Repo) setting(key string) string {
	e, _ := gitconfig.Last(r.config, key)
	return e.Value
}
