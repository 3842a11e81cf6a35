package copytree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Remove removes a file or a tree that is the user's own, never through a link. Folders
// that cannot be written or entered are made so first: a copy has them, and a program in
// a box may have left them. What is not there is removed.
func Remove(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	parent, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer parent.Close()
	if err := unlock(parent, filepath.Base(path)); err != nil {
		return err
	}
	return os.RemoveAll(path)
}

// unlock lets the owner do everything in a folder and those in it.
func unlock(in *os.Root, name string) error {
	if fi, err := in.Lstat(name); err != nil || !fi.IsDir() {
		return err
	}
	if err := in.Chmod(name, 0o700); err != nil {
		return err
	}
	dir, err := in.OpenRoot(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	entries, err := fs.ReadDir(dir.FS(), ".")
	for _, e := range entries {
		if e.IsDir() {
			err = errors.Join(err, unlock(dir, e.Name()))
		}
	}
	return err
}
