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
	r := remover{top: int(top.Fd()), moved: ".inner-gone-" + rand.Text()}
	var below []string // most trees are one folder of files, which needs no helpers
	if err = r.empty(top, func(name string) { below = append(below, name) }); err == nil && len(below) > 0 {
		err = each(context.Background(), below, func(name string, more func(string)) error { return r.folder(r.top, name, more) })
	}
	if err != nil {
		return err
	}
	return unix.Unlinkat(parent, filepath.Base(path), unix.AT_REMOVEDIR)
}

// remover removes a tree. It moves each folder up to the top of the tree before it empties it: so no path is too long, however
// deep a box has nested folders.
type remover struct {
	top   int
	moved string // begins the names of what was moved
	n     atomic.Int64
}

// folder removes a folder of an open one.
func (r *remover) folder(at int, name string, more func(string)) error {
	f, err := Enter(at, name)
	if err == nil {
		err = r.empty(f, more)
		f.Close()
	}
	if err == nil {
		err = unix.Unlinkat(at, name, unix.AT_REMOVEDIR)
	}
	if errors.Is(err, fs.ErrNotExist) { // somebody else removes it, too
		return nil
	}
	return err
}

// empty removes what is no folder in an open folder, and calls more for what is one, by its name at the top.
func (r *remover) empty(f *os.File, more func(string)) error {
	names, err := f.Readdirnames(-1)
	if err != nil {
		return err
	}
	fd := int(f.Fd())
	for _, name := range names {
		err := unix.Unlinkat(fd, name, 0)
		switch {
		case errors.Is(err, unix.EISDIR) && fd == r.top:
			more(name)
			continue
		case errors.Is(err, unix.EISDIR):
			err = r.up(fd, name, more)
		}
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// up moves a folder to the top, and calls more for it there.
func (r *remover) up(fd int, name string, more func(string)) error {
	f, err := Enter(fd, name) // only what can be written can be moved
	if err != nil {
		return err
	}
	f.Close()
	moved := r.moved + strconv.FormatInt(r.n.Add(1), 10)
	err = unix.Renameat(fd, name, r.top, moved)
	if errors.Is(err, unix.EXDEV) { // a folder of the lower layer of an overlay goes where it is
		return r.folder(fd, name, more)
	}
	if err == nil {
		more(moved)
	}
	return err
}
