// Package owned is about folders that have an owner: of a run, a home of boxes, a session. The owner holds
// a lock in the folder. The kernel lets go of it with the process, however that ends: who finds the lock
// free has found a folder whose owner is gone, takes the lock, undoes what is left to undo and removes the
// folder.
//
//	f, err := owned.New(base, id) // base/id, mode 0700
//	defer f.Close()               // removes it
//	...
//	err := owned.Sweep(base, undo) // in another process, at any time
//
// A base is private to the user. A folder that is taken away is moved below a base that is swept first: when
// its removal is ended, the next sweep goes on with it.
package owned

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/copytree"
)

// Files of a base and of a folder.
const (
	gateName  = ".gate"
	lockName  = "lock"
	spareName = ".spare"
)

// Folder is a folder and its lock, which its owner holds.
type Folder struct {
	Path string
	lock *os.File
}

// New makes a folder of base and holds it. base is made when it is missing.
func New(base, name string) (*Folder, error) {
	gate, err := Gate(base)
	if err != nil {
		return nil, err
	}
	defer gate.Close()
	f := &Folder{Path: filepath.Join(base, name)}
	if err := os.Rename(filepath.Join(base, spareName), f.Path); err != nil {
		if err := files.MkdirOwn(f.Path); err != nil {
			return nil, err
		}
	}
	if f.lock, err = Lock(filepath.Join(f.Path, lockName), unix.LOCK_EX); err != nil {
		return nil, errors.Join(err, os.RemoveAll(f.Path))
	}
	return f, nil
}

// Move gives the folder another base. It is held all the while.
func (f *Folder) Move(base string) error {
	gate, err := Gate(base)
	if err != nil {
		return err
	}
	defer gate.Close()
	to := filepath.Join(base, filepath.Base(f.Path))
	if err := os.Rename(f.Path, to); err != nil {
		return err
	}
	f.Path = to
	return nil
}

// Leave lets go of the folder, with what is in it. It is safe on nil.
func (f *Folder) Leave() {
	if f != nil {
		_ = files.Unlock(f.lock)
	}
}

// Close removes the folder. It is safe on nil.
func (f *Folder) Close() error {
	if f == nil {
		return nil
	}
	defer f.Leave()
	return copytree.Remove(f.Path)
}

// Spare is Close for a folder in which is nothing of its owner but files that the next one writes over: that one
// has it, since a disk takes longer to make folders and files than for anything else that New does.
func (f *Folder) Spare() error {
	if os.Rename(f.Path, filepath.Join(filepath.Dir(f.Path), spareName)) != nil { // another one is there
		return f.Close()
	}
	f.Leave()
	return nil
}

// Alive reports whether somebody holds a folder.
func Alive(dir string) bool { return Held(filepath.Join(dir, lockName)) }

// Living are the folders of base that somebody holds, by name.
func Living(base string) ([]string, error) {
	names, err := list(base)
	return slices.DeleteFunc(names, func(name string) bool { return !Alive(filepath.Join(base, name)) }), err
}

// Sweep removes the folders of base that nobody holds, the last one first. It holds each meanwhile,
// and calls undo first, unless that is nil: a folder for which it returns false stays for the next
// sweep. A base that is not private is an error, and not touched.
func Sweep(base string, undo func(dir string) bool) error {
	names, err := list(base)
	for _, name := range slices.Backward(names) {
		f, errTake := take(base, name)
		if f != nil && (undo == nil || undo(f.Path)) {
			errTake = copytree.Remove(f.Path)
		}
		f.Leave()
		err = errors.Join(err, errTake)
	}
	return err
}

// list returns the names of the folders of base.
func list(base string) (names []string, err error) {
	if err := Private(base); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(base)
	for _, e := range entries {
		if e.IsDir() && e.Name() != spareName {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// take holds a folder whose owner is gone, nil when it is not. At the gate, no folder is seen between
// its making and its lock.
func take(base, name string) (*Folder, error) {
	dir := filepath.Join(base, name)
	lock := filepath.Join(dir, lockName)
	if Held(lock) {
		return nil, nil
	}
	gate, err := Gate(base)
	if err != nil {
		return nil, err
	}
	defer gate.Close()
	if Held(lock) || !files.Exists(dir) {
		return nil, nil
	}
	f, err := Lock(lock, unix.LOCK_EX) // who asks whether it is held has it for a moment
	if err != nil {
		return nil, err
	}
	return &Folder{dir, f}, nil
}

// Discard takes away a folder that nobody uses, by way of base, a folder of the same disk that is
// swept. free removes what was in it, which may take a while.
func Discard(dir, base string) (free func() error, err error) {
	gone := filepath.Join(base, ".gone-"+rand.Text())
	if err := errors.Join(ensure(base), os.Rename(dir, gone)); err != nil {
		return nil, err
	}
	return func() error { return copytree.Remove(gone) }, nil
}

// Gate makes base and holds it: until it is closed no folder is made in it, taken, or given to it.
func Gate(base string) (*os.File, error) {
	if err := ensure(base); err != nil {
		return nil, err
	}
	return Lock(filepath.Join(base, gateName), unix.LOCK_EX)
}

func ensure(base string) error {
	if err := files.MkdirOwn(base); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return Private(base)
}

// Private refuses a folder that somebody else owns or can enter. One that is not there is fs.ErrNotExist.
func Private(dir string) error {
	fi, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	switch {
	case !fi.IsDir():
		return fmt.Errorf("%q is not a folder", dir)
	case !ok || int(st.Uid) != os.Getuid():
		return fmt.Errorf("%q belongs to somebody else", dir)
	case fi.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%q is open to others", dir)
	}
	return nil
}

// Lock locks the file at path, which is made when it is missing, and keeps it until that is closed.
// how is of flock(2). Who waited for a file that was removed meanwhile locks the one that is there
// now.
func Lock(path string, how int) (*os.File, error) {
	for {
		// Not by os.OpenFile, which asks the poller about it and is told no: five calls.
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		f := os.NewFile(uintptr(fd), path)
		if err := files.Flock(f, how); err != nil { // which closes it
			return nil, err
		}
		var mine, now unix.Stat_t
		if unix.Fstat(fd, &mine) == nil && unix.Lstat(path, &now) == nil && mine.Dev == now.Dev && mine.Ino == now.Ino {
			return f, nil
		}
		f.Close()
	}
}

// Held reports whether somebody has the file at path locked. One that cannot be asked, for lack of
// descriptors for instance, counts as locked: what is alive is never swept.
func Held(path string) bool {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err != unix.ENOENT && err != unix.ENOTDIR
	}
	defer unix.Close(fd)
	held := files.FlockFD(fd, unix.LOCK_EX|unix.LOCK_NB) != nil
	_ = files.FlockFD(fd, unix.LOCK_UN) // as files.Unlock does
	return held
}
