package stage

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Some things can only be kept from being created by being there: a mount
// needs a place. Borrow makes such a place in a folder of the host, and the
// last run of the user to end takes all of them away; after a crash the next
// sweep does. What is to be taken away is written down before it is made.

// Borrow creates path, with content, or as an empty folder when content is
// nil, unless it exists. Its parent must be a real folder: no link is
// followed. A folder that cannot be written needs no protection and is left
// alone.
func (r *Run) Borrow(path string, content []byte) error {
	gate, err := lockFile(filepath.Join(filepath.Dir(r.Path), ".gate"), syscall.LOCK_EX)
	if err != nil {
		return err
	}
	defer gate.Close()
	parent, err := unix.Open(filepath.Dir(path), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%q: %w", filepath.Dir(path), err)
	}
	defer unix.Close(parent)
	name := filepath.Base(path)
	var st unix.Stat_t
	if unix.Fstatat(parent, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		return nil
	}
	if err := note(filepath.Dir(r.Path), path, content); err != nil {
		return err
	}
	if content == nil {
		err = unix.Mkdirat(parent, name, 0o755)
	} else {
		var fd int
		fd, err = unix.Openat(parent, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
		if err == nil {
			_, err = unix.Write(fd, content)
			err = errors.Join(err, unix.Close(fd))
		}
	}
	switch {
	case errors.Is(err, unix.EEXIST), errors.Is(err, unix.EACCES), errors.Is(err, unix.EROFS), errors.Is(err, unix.EPERM):
		return nil
	case err != nil:
		return fmt.Errorf("%q: %w", path, err)
	}
	return nil
}

// borrowed is the list of what is to be taken away: one quoted path and one
// quoted content (or "dir") per line.
func borrowed(base string) string { return filepath.Join(base, ".borrowed") }

func note(base, path string, content []byte) error {
	what := "dir"
	if content != nil {
		what = strconv.Quote(string(content))
	}
	line := strconv.Quote(path) + "\t" + what + "\n"
	f, err := os.OpenFile(borrowed(base), os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}

// giveBack takes away what was borrowed, when no run but the one at except
// lives any more. The caller holds the gate. What is not as it was made, or
// not empty, stays: it is somebody's.
func giveBack(base, except string) error {
	data, err := os.ReadFile(borrowed(base))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(base)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != except && alive(filepath.Join(base, e.Name())) {
			return nil
		}
	}
	var errs []error
	lines := slices.Compact(strings.Split(strings.TrimSpace(string(data)), "\n"))
	for _, line := range lines {
		path, what, _ := strings.Cut(line, "\t")
		path, err := strconv.Unquote(path)
		if err != nil {
			continue
		}
		errs = append(errs, takeAway(path, what))
	}
	return errors.Join(append(errs, os.Remove(borrowed(base)))...)
}

func takeAway(path, what string) error {
	fi, err := os.Lstat(path)
	if err != nil {
		return nil
	}
	if what == "dir" {
		if fi.IsDir() {
			_ = syscall.Rmdir(path) // fails when it is not empty any more: then it is somebody's
		}
		return nil
	}
	want, err := strconv.Unquote(what)
	if err != nil || !fi.Mode().IsRegular() {
		return nil
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, []byte(want)) {
		return nil
	}
	return os.Remove(path)
}

// alive reports whether the run that staged dir still holds its lock.
func alive(dir string) bool {
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer lock.Close()
	return errors.Is(syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
