package share

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Sweep removes the lock files that a server has left which was killed. Another server may not have the private folder.
func Sweep(dir, private string) error {
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

// HalfDone says what a box has left unfinished in its private folder, "" for nothing.
func HalfDone(private string) string {
	for _, in := range []string{"own", "own/worktrees/*", "clone"} {
		for name, what := range map[string]string{"rebase-merge": "rebase", "rebase-apply": "rebase", "sequencer": "cherry-pick or revert", "BISECT_LOG": "bisection"} {
			if found, _ := filepath.Glob(filepath.Join(private, in, name)); len(found) > 0 {
				return what
			}
		}
	}
	return ""
}
