package copytree

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Remove removes a file or a tree that is the user's own, several folders at a
// time and never through a link. Folders that cannot be written or entered are
// made so first: a copy has them, and a program in a box may have left them.
// What is not there is removed.
func Remove(path string) error {
	err := unix.Unlink(path)
	if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) {
		err = removeTree(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "remove", Path: path, Err: err}
	}
	return nil
}

func removeTree(path string) error {
	parent, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	top, err := Enter(parent, filepath.Base(path))
	if err != nil {
		return err
	}
	defer top.Close()
	r := remover{crew: newCrew(context.Background()), top: int(top.Fd()), moved: ".inner-gone-" + rand.Text()}
	below, err := r.empty(top)
	if err == nil {
		r.all(below)
		err = r.wait()
	}
	if err != nil {
		return err
	}
	return unix.Unlinkat(parent, filepath.Base(path), unix.AT_REMOVEDIR)
}

// remover removes a tree. It moves each folder up to the top of the tree before it empties it: so no
// path is too long, however deep a box has nested folders.
type remover struct {
	*crew
	top   int
	moved string // begins the names of what was moved
	n     atomic.Int64
}

// all removes folders at the top.
func (r *remover) all(names []string) {
	for _, name := range names {
		r.do(func() error { return r.folder(r.top, name) })
	}
}

// folder removes a folder of an open one.
func (r *remover) folder(at int, name string) error {
	f, err := Enter(at, name)
	if err == nil {
		var below []string
		below, err = r.empty(f)
		f.Close() // before what is below is removed: there may be no end of it
		r.all(below)
	}
	if err == nil {
		err = unix.Unlinkat(at, name, unix.AT_REMOVEDIR)
	}
	if errors.Is(err, fs.ErrNotExist) { // somebody else removes it, too
		return nil
	}
	return err
}

// empty removes what is no folder in an open folder, and returns what is one, by its name at the top.
func (r *remover) empty(f *os.File) (below []string, err error) {
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	fd := int(f.Fd())
	for _, name := range names {
		err := unix.Unlinkat(fd, name, 0)
		at := name
		if errors.Is(err, unix.EISDIR) {
			if err = nil; fd != r.top {
				at, err = r.up(fd, name)
			}
			if err == nil && at != "" {
				below = append(below, at)
			}
		}
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return below, fmt.Errorf("%s: %w", name, err)
		}
	}
	return below, nil
}

// up moves a folder to the top, and returns its name there; "" when it was removed where it is.
func (r *remover) up(fd int, name string) (string, error) {
	f, err := Enter(fd, name) // only what can be written can be moved
	if err != nil {
		return "", err
	}
	f.Close()
	moved := r.moved + strconv.FormatInt(r.n.Add(1), 10)
	err = unix.Renameat(fd, name, r.top, moved)
	if errors.Is(err, unix.EXDEV) { // a folder of the lower layer of an overlay
		return "", r.folder(fd, name)
	}
	return moved, err
}
