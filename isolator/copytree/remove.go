package copytree

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Remove removes a file or a tree that is the user's own, several folders at a
// time and never through a link. Folders that cannot be written or entered are
// made so first: a copy has them, and a program in a box may have left them.
// What is not there is removed.
func Remove(path string) error {
	parent, err := unix.Open(filepath.Dir(path), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return &fs.PathError{Op: "remove", Path: path, Err: err}
	}
	defer unix.Close(parent)
	name := filepath.Base(path)
	err = unix.Unlinkat(parent, name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	if !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM) {
		return &fs.PathError{Op: "remove", Path: path, Err: err}
	}
	r := remover{parent: parent}
	if err := r.tree(name); err != nil {
		return err
	}
	for _, d := range r.dirs {
		if err := unix.Unlinkat(parent, d, unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOENT) {
			return &fs.PathError{Op: "remove", Path: filepath.Join(filepath.Dir(path), d), Err: err}
		}
	}
	return nil
}

// tree removes what is no folder in a tree, and lists its folders, the deepest first.
func (r *remover) tree(name string) error {
	var below []string // most trees are one folder of files, which needs no helpers
	if err := r.empty(name, func(rel string) { below = append(below, rel) }); err != nil {
		return err
	}
	if len(below) > 0 {
		if err := each(context.Background(), below, r.empty); err != nil {
			return err
		}
	}
	slices.SortFunc(r.dirs, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") })
	return nil
}

type remover struct {
	parent int
	mu     sync.Mutex
	dirs   []string
}

// empty removes what is no folder in one folder.
func (r *remover) empty(rel string, more func(string)) error {
	fd, names, err := r.enter(rel)
	if err != nil {
		return &fs.PathError{Op: "remove", Path: rel, Err: err}
	}
	if fd < 0 {
		return nil
	}
	defer unix.Close(fd)
	r.mu.Lock()
	r.dirs = append(r.dirs, rel)
	r.mu.Unlock()
	for _, name := range names {
		switch err := unix.Unlinkat(fd, name, 0); {
		case err == nil, errors.Is(err, unix.ENOENT):
		case errors.Is(err, unix.EISDIR):
			at, err := r.near(fd, rel, name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return &fs.PathError{Op: "remove", Path: rel + "/" + name, Err: err}
			}
			more(at)
		default:
			return &fs.PathError{Op: "remove", Path: rel + "/" + name, Err: err}
		}
	}
	return nil
}

// enter opens a folder and lists it, and makes it fit for that.
func (r *remover) enter(rel string) (int, []string, error) {
	path, err := Open(r.parent, rel, unix.O_PATH|unix.O_DIRECTORY)
	if errors.Is(err, unix.ENOENT) {
		return -1, nil, nil
	}
	if err != nil {
		return -1, nil, err
	}
	defer unix.Close(path)
	var st unix.Stat_t
	if err := unix.Fstat(path, &st); err != nil {
		return -1, nil, err
	}
	if st.Mode&0o700 != 0o700 {
		if err := open700(path); err != nil {
			return -1, nil, err
		}
	}
	fd, err := unix.Openat(path, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return -1, nil, nil // somebody else removes it, too
	}
	if err != nil {
		return -1, nil, err
	}
	names, err := list(fd)
	if err != nil {
		unix.Close(fd)
		if errors.Is(err, fs.ErrNotExist) {
			return -1, nil, nil
		}
		return -1, nil, err
	}
	return fd, names, nil
}

// far is the length from which a path is too long to go on with: below it there
// is always room for one more name.
const far = unix.PathMax - 2*unix.NAME_MAX

// near returns where a folder in the open folder rel is. One so deep that its
// path would not fit a system call is moved to the top of the tree first.
func (r *remover) near(fd int, rel, name string) (string, error) {
	at := rel + "/" + name
	if len(at) < far {
		return at, nil
	}
	path, err := unix.Openat(fd, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(path)
	if err := open700(path); err != nil { // only what can be written can be moved
		return "", err
	}
	top, _, _ := strings.Cut(rel, "/")
	at = top + "/.inner-deep-" + rand.Text()
	return at, unix.Renameat(fd, name, r.parent, at)
}

// open700 makes a folder fit to be emptied. The name in /proc leads to what was
// opened, whatever its own name is by now; a descriptor of O_PATH cannot be
// changed itself.
func open700(path int) error { return os.Chmod(fmt.Sprintf("/proc/self/fd/%d", path), 0o700) }
