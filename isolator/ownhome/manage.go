package ownhome

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/copytree"
)

// inUse reports whether a box runs with the home of a folder.
func inUse(folder string) bool {
	f, err := os.OpenFile(filepath.Join(folder, "running"), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(files.FlockFD(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// Reset removes the home of a key with all that is in it, unless a box has it now. The next
// run begins with an empty one.
func Reset(innerHome, key string) error {
	folder := filepath.Join(Base(innerHome), key)
	gate, err := lockFolder(folder)
	if err != nil {
		return err
	}
	defer gate.Close()
	if inUse(folder) {
		return &fault.Refusal{Code: 1, Msg: fmt.Sprintf("a box works in the home %q", key), Hint: "inner ps says which run it is, and inner stop RUN ends it"}
	}
	gone, err := os.MkdirTemp(Base(innerHome), removed)
	if err != nil {
		return err
	}
	if err := os.Rename(folder, filepath.Join(gone, "home")); err != nil {
		return errors.Join(err, os.Remove(gone))
	}
	return sweep(innerHome)
}

// removed begins the names of homes that Reset takes away: with them no home is.
const removed = ".gone-"

// sweep removes them, also those of a Reset that did not come to its end.
func sweep(innerHome string) error {
	entries, err := os.ReadDir(Base(innerHome))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), removed) {
			err = errors.Join(err, copytree.Remove(filepath.Join(Base(innerHome), e.Name())))
		}
	}
	return err
}

// lockFolder waits for whoever prepares a box with a home, and returns the lock. Who waited
// for a home that was removed meanwhile gets fs.ErrNotExist.
func lockFolder(folder string) (*os.File, error) {
	path := filepath.Join(folder, "lock")
	f, err := lockFile(path)
	if err != nil {
		return nil, err
	}
	if err := files.Flock(f, unix.LOCK_EX); err != nil {
		return nil, err
	}
	mine, err := f.Stat()
	if err == nil {
		var now fs.FileInfo
		if now, err = os.Lstat(path); err == nil && !os.SameFile(mine, now) {
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// Get copies something out of the home of a key to dst, which must not be there. Nothing
// outside of the home gets into the copy, whatever links are in it. What was left out is
// returned.
func Get(ctx context.Context, innerHome, key, rel, dst string) ([]copytree.Left, error) {
	dir := filepath.Join(Base(innerHome), key, inside)
	root, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(root)
	fd, err := copytree.Open(root, rel, unix.O_PATH)
	if err != nil {
		return nil, &fault.Refusal{Code: 1, Msg: fmt.Sprintf("~/%s in the home %q: %v", rel, key, err), Hint: "inner home show says what is there; inner home list names other homes, for --of"}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if k := st.Mode & unix.S_IFMT; k != unix.S_IFREG && k != unix.S_IFDIR {
		return nil, fmt.Errorf("~/%s in the home %q is neither a file nor a folder", rel, key)
	}
	if mountedOn(filepath.Dir(dir), rel) && !holds(root, rel) {
		return nil, &fault.Refusal{Code: 1, Msg: fmt.Sprintf("~/%s is not in the home %q: there the box sees what lies outside of it", rel, key)}
	}
	// The copy is of what was opened: a link that a box puts on the way is noticed.
	res, err := copytree.Copy(ctx, filepath.Join(dir, rel), dst, copytree.Options{Dev: st.Dev, Ino: st.Ino})
	return res.Left, err
}

// mountedOn reports whether boxes of the home in a folder mount something at a place in it.
func mountedOn(folder, rel string) bool {
	rec, err := readRecord(folder)
	return err == nil && slices.ContainsFunc(rec.Points, func(p Point) bool { return p.Path == rel })
}

// holds reports whether something is in a folder of an open home, or in a file.
func holds(root int, rel string) bool {
	fd, err := copytree.Open(root, rel, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return true
	}
	f := os.NewFile(uintptr(fd), rel)
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.IsDir() {
		return err != nil || fi.Size() > 0
	}
	names, _ := f.Readdirnames(1)
	return len(names) > 0
}
