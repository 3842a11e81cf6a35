package ownhome

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/owned"
	"github.com/enr/inner/isolator/stage"
)

// inUse reports whether a box runs with the home of a folder.
func inUse(folder string) bool { return owned.Held(filepath.Join(folder, "running")) }

// Reset removes the home of a key with all that is in it, unless a box has it now. The next
// run begins with an empty one.
func Reset(innerHome, key string) error {
	folder := filepath.Join(Base(innerHome), key)
	gate, err := owned.Lock(filepath.Join(folder, "lock"), unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer gate.Close()
	if inUse(folder) {
		return &fault.Refusal{Code: 1, Msg: fmt.Sprintf("a box works in the home %q", key), Hint: "inner ps says which run it is, and inner stop RUN ends it"}
	}
	return stage.Discard(innerHome, folder)
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
	if rec, err := readRecord(filepath.Dir(dir)); err == nil && mountedOn(rec.Points, rel) && !holds(root, rel) {
		return nil, &fault.Refusal{Code: 1, Msg: fmt.Sprintf("~/%s is not in the home %q: there the box sees what lies outside of it", rel, key)}
	}
	// The copy is of what was opened: a link that a box puts on the way is noticed.
	res, err := copytree.Copy(ctx, filepath.Join(dir, rel), dst, copytree.Options{Dev: st.Dev, Ino: st.Ino})
	return res.Left, err
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
