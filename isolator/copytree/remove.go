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
	below, err := r.empty(top)
	if err == nil {
		err = each(context.Background(), below, func(name string) ([]string, error) { return r.folder(r.top, name) })
	}
	if err != nil {
		return err
	}
	return unix.Unlinkat(parent, filepath.Base(path), unix.AT_REMOVEDIR)
}

// remover removes a tree. It moves each folder up to the top of the tree before it empties it: so no
// path is too long, however deep a box has nested folders.
type remover struct {
	top   int
	moved string // begins the names of what was moved
	n     atomic.Int64
}

// folder removes a folder of an open one, but for the folders in it, which it returns by their names at the top.
func (r *remover) folder(at int, name string) (below []string, err error) {
	f, err := Enter(at, name)
	if err == nil {
		below, err = r.empty(f)
		f.Close() // before what is below is removed: there may be no end of it
	}
	if err == nil {
		err = unix.Unlinkat(at, name, unix.AT_REMOVEDIR)
	}
	if errors.Is(err, fs.ErrNotExist) { // somebody else removes it, too
		err = nil
	}
	return below, err
}

// empty removes what is no folder in an open folder, and moves up what is one.
func (r *remover) empty(f *os.File) (below []string, err error) {
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		err := unix.Unlinkat(int(f.Fd()), name, 0)
		if errors.Is(err, unix.EISDIR) {
			var up []string
			up, err = r.up(int(f.Fd()), name)
			below = append(below, up...)
		}
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return below, fmt.Errorf("%s: %w", name, err)
		}
	}
	return below, nil
}

// up moves a folder to the top, and returns its name there. One that cannot be moved is removed where it is.
func (r *remover) up(at int, name string) ([]string, error) {
	f, err := Enter(at, name) // only what can be written can be moved
	if err != nil {
		return nil, err
	}
	f.Close()
	moved := r.moved + strconv.FormatInt(r.n.Add(1), 10)
	err = unix.Renameat(at, name, r.top, moved)
	if errors.Is(err, unix.EXDEV) { // a folder of the lower layer of an overlay
		return r.folder(at, name)
	}
	return []string{moved}, err
}
