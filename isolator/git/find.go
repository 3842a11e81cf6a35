package git

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/worktree"
	"github.com/enr/inner/profile/gitconfig"
)

// Most bytes of a configuration and of a file that names a folder.
const (
	maxConfig  = 1 << 20
	maxPointer = 4096
)

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
	// Ways are the paths by which git gets from Top to Dir and Common, as they are written: where
	// one of them leads through a link, whoever replaces that link replaces the repository.
	Ways []string

	config []gitconfig.Entry
}

// ErrNone says that a folder is in no repository.
var ErrNone = errors.New("no git repository")

// unfit is a reason why a repository cannot be shared.
type unfit string

func (u unfit) Error() string { return string(u) }

// Find returns the repository that git would use in a folder: the one there, or in
// the nearest folder above it. The folder is a real path.
//
// A .git file alone proves nothing: a linked worktree or a submodule counts only when the
// repository that it leads to agrees.
func Find(dir string) (*Repo, error) {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		r, err := findAt(at)
		if !errors.Is(err, ErrNone) || at == filepath.Dir(at) {
			return r, err
		}
	}
}

// FindAt is Find for one folder, without those above it.
func FindAt(dir string) (*Repo, error) { return findAt(filepath.Clean(dir)) }

func findAt(top string) (*Repo, error) {
	dotGit := filepath.Join(top, ".git")
	kind := typeOf(dotGit)
	switch {
	case kind != 0:
	case typeOf(top) == 0:
		return nil, fmt.Errorf("%s: %w", top, os.ErrNotExist)
	case typeOf(top+"/HEAD") != 0 && typeOf(top+"/objects") == unix.S_IFDIR && typeOf(top+"/refs") == unix.S_IFDIR:
		return &Repo{Top: top, Dir: top, Common: top, Reason: "it is a bare repository"}, nil
	default:
		return nil, fmt.Errorf("%s: %w", top, ErrNone)
	}
	r := &Repo{Top: top, Dir: dotGit, Common: dotGit, Ways: []string{dotGit}}
	err := r.read(kind)
	if errors.Is(err, errNowhere) {
		return nil, fmt.Errorf("%s: %w", top, ErrNone)
	}
	r.Reason = reason(err)
	return r, nil
}

// errNowhere says that a .git leads to nothing: what is made there is a repository of its own.
var errNowhere = errors.New(".git leads nowhere")

// read reads the repository that a .git of that type is or leads to.
func (r *Repo) read(kind uint32) error {
	switch kind {
	case unix.S_IFDIR:
		if list, err := os.ReadDir(r.Dir); err == nil && len(list) == 0 { // a box may make one there
			return errNowhere
		}
		return r.fill()
	case unix.S_IFREG:
		return r.follow()
	case unix.S_IFLNK:
		return r.linked()
	}
	return errNowhere
}

// reason says an error of read as Repo.Reason has it.
func reason(err error) string {
	var why unfit
	switch {
	case err == nil:
		return ""
	case errors.As(err, &why):
		return string(why)
	}
	return "it cannot be read: " + err.Error()
}

// linked finds where a .git that is a link leads, also through a .git file.
func (r *Repo) linked() error {
	real, err := filepath.EvalSymlinks(r.Dir)
	if err != nil {
		return errNowhere
	}
	r.Dir = real
	if typeOf(real) == unix.S_IFREG {
		r.Ways = append(r.Ways, real)
		if err := r.target(real); err != nil {
			return err
		}
	}
	r.Common = r.Dir
	return r.separate()
}

// target follows the content of a .git file.
func (r *Repo) target(file string) error {
	line, err := line(file)
	if err != nil {
		return err
	}
	target, ok := strings.CutPrefix(line, "gitdir: ")
	if !ok || strings.ContainsAny(target, "\n\x00") {
		return unfit(".git is a file that is not git's")
	}
	target = absolute(r.Top, target)
	r.Ways = append(r.Ways, target)
	real, err := filepath.EvalSymlinks(target)
	if err != nil {
		return errNowhere
	}
	r.Dir = real
	return nil
}

// follow reads a .git file, and checks that the repository it leads to agrees.
func (r *Repo) follow() error {
	r.Pointer = true
	if err := r.target(filepath.Join(r.Top, ".git")); err != nil {
		return err
	}
	r.Common = r.Dir
	if typeOf(filepath.Join(r.Dir, "commondir")) == 0 {
		return r.separate()
	}
	return r.linkedTree()
}

// separate reads the git directory of a submodule, or one that `git init --separate-git-dir` made.
func (r *Repo) separate() error {
	if err := r.fill(); err != nil {
		return err
	}
	tree := r.setting("core.worktree")
	if r.Led = tree == ""; !r.Led && !sameFile(absolute(r.Dir, tree), r.Top) {
		return unfit("the repository that .git leads to has another work tree")
	}
	if filepath.Base(r.Dir) == ".git" && r.Led {
		return unfit("the repository that .git leads to is that of the folder it lies in")
	}
	return nil
}

// linkedTree reads the repository of a linked worktree.
func (r *Repo) linkedTree() error {
	if common, err := line(filepath.Join(r.Dir, "commondir")); err == nil {
		r.Ways = append(r.Ways, absolute(r.Dir, common))
	}
	tree := worktree.At(r.Top)
	if tree == nil {
		return unfit("the repository that .git leads to does not know this worktree")
	}
	r.Dir, r.Common, r.Worktree = tree.Dir, tree.Common, filepath.Base(tree.Dir)
	if tree.Err != nil {
		return unfit(tree.Err.Error())
	}
	return r.fill()
}

func absolute(dir, p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(dir, p)
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// fill reads the properties of a repository, and refuses one that cannot be shared.
func (r *Repo) fill() error {
	if err := r.isPlain(); err != nil {
		return err
	}
	data, err := readBound(filepath.Join(r.Common, "config"), maxConfig)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if r.config, err = gitconfig.Parse(data); err != nil {
		return unfit("its configuration cannot be read")
	}
	if err := r.formats(); err != nil {
		return err
	}
	// Whoever can write that file names any folder of the host.
	if typeOf(filepath.Join(r.Common, "objects/info/alternates")) != 0 {
		return unfit("it borrows objects from another repository (objects/info/alternates)")
	}
	r.Sparse = r.Sparse || sparseTree(r.Dir)
	return nil
}

// isPlain refuses a git directory that is not the user's own, or in which links lead elsewhere.
func (r *Repo) isPlain() error {
	var st unix.Stat_t
	if err := unix.Stat(r.Common, &st); err != nil {
		return err
	}
	if int(st.Uid) != os.Getuid() {
		return unfit("the repository is somebody else's")
	}
	for _, name := range []string{"objects", "refs"} {
		if typeOf(filepath.Join(r.Common, name)) != unix.S_IFDIR {
			return unfit(name + " is no folder of the repository's own")
		}
	}
	for _, name := range []string{"HEAD", "config", "packed-refs", "index", "shallow", "logs", "objects/info", "objects/pack", "worktrees", "modules"} {
		if typeOf(filepath.Join(r.Common, name)) == unix.S_IFLNK {
			return unfit(name + " is a link")
		}
	}
	if line, err := line(filepath.Join(r.Common, "commondir")); err == nil && !sameFile(absolute(r.Common, line), r.Common) {
		return unfit("it shares the objects and refs of another (commondir)")
	}
	return nil
}

// typeOf returns the type of what is at a path, without following a link there: unix.S_IFDIR and so on, 0 for nothing.
func typeOf(p string) uint32 {
	var st unix.Stat_t
	if unix.Lstat(p, &st) != nil {
		return 0
	}
	return st.Mode & unix.S_IFMT
}

// readBound reads a plain file of at most so many bytes.
func readBound(p string, most int64) ([]byte, error) {
	f, err := os.OpenFile(p, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() || fi.Size() > most {
		return nil, fmt.Errorf("%s is no plain file of at most %d bytes", p, most)
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// line reads a file of one line.
func line(p string) (string, error) {
	data, err := readBound(p, maxPointer)
	return strings.TrimRight(string(data), "\r\n"), err
}

// formats reads which storage formats a repository uses. One that is unknown here may mean
// anything, so it is refused.
//
// Source: git's Documentation/technical/repository-version.txt; setup.c of 2.39 and 2.48.
func (r *Repo) formats() error {
	r.Digits = 40
	version := r.setting("core.repositoryformatversion")
	if version != "" && version != "0" && version != "1" {
		return unfit(fmt.Sprintf("it has format %q, which is not known", version))
	}
	if e, set := gitconfig.Last(r.config, "core.sparsecheckout"); set {
		r.Sparse = gitconfig.True(e)
	}
	for _, e := range r.config {
		name := e.Key[strings.LastIndexByte(e.Key, '.')+1:]
		r.Partial = r.Partial || e.Key == "extensions.partialclone" || strings.HasPrefix(e.Key, "remote.") && (name == "promisor" || name == "partialclonefilter")
		if why := r.format(e); why != "" {
			return unfit(why)
		}
	}
	if tree := r.setting("core.worktree"); !r.Pointer && tree != "" && !sameFile(absolute(r.Common, tree), r.Top) {
		return unfit("its work tree is another folder (core.worktree)")
	}
	return nil
}

// format says why a setting makes the repository one that cannot be shared, or "".
func (r *Repo) format(e gitconfig.Entry) string {
	section, name, _ := strings.Cut(e.Key, ".")
	if section == "extensions" {
		return r.extension(name, e.Value)
	}
	return ""
}

// extension takes one of git's extensions of the storage format, or says why it cannot.
func (r *Repo) extension(name, value string) string {
	switch name {
	case "noop", "partialclone", "preciousobjects", "worktreeconfig", "relativeworktrees":
		return ""
	case "refstorage":
		if value != "files" {
			return "its refs are kept as " + quoted(value)
		}
		return ""
	case "objectformat":
		switch value {
		case "sha256":
			r.Digits = 64
			return "its objects have names of SHA-256, which inner does not read"
		case "sha1":
			return ""
		}
	}
	return "it has an extension that is not known: " + quoted(name)
}

// quoted makes what a file says fit for a line.
func quoted(s string) string { return strconv.Quote(s[:min(len(s), 40)]) }

// sparseTree reports whether the settings of one worktree say that it is sparse.
func sparseTree(dir string) bool {
	data, err := readBound(filepath.Join(dir, "config.worktree"), maxConfig)
	if err != nil {
		return false
	}
	list, _ := gitconfig.Parse(data) // what stands before a fault counts
	e, _ := gitconfig.Last(list, "core.sparsecheckout")
	return gitconfig.True(e)
}

// setting returns the last value of a key, as git takes it.
func (r *Repo) setting(key string) string {
	e, _ := gitconfig.Last(r.config, key)
	return e.Value
}
