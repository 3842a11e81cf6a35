package share

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// sweep removes the lock files that a server has left which was killed.
func sweep(dir, private string) error {
	r := &repository{root: -1, private: -1}
	var err error
	if r.root, err = unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	defer unix.Close(r.root)
	if r.private, err = unix.Open(filepath.Join(private, "own"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	defer unix.Close(r.private)
	l, err := r.openLocks(filepath.Join(private, "locks"))
	if err != nil {
		return err
	}
	return l.notes.Close()
}
