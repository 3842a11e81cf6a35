package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/enr/inner/internal/fault"
)

// Lock waits for the exclusive lock at path, which is created when missing, and
// returns the function that gives it back. The kernel drops the lock with its
// holder, however that ends, so there are no stale locks; the file itself stays,
// because removing it would let two holders in.
func Lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err == nil {
		err = Flock(f, syscall.LOCK_EX)
	}
	return func() { _ = Unlock(f) }, err
}

// LockFolder is Lock of an existing folder.
func LockFolder(path string) (unlock func(), err error) {
	f, err := os.Open(path)
	if err == nil {
		err = Flock(f, syscall.LOCK_EX)
	}
	return func() { _ = Unlock(f) }, err
}

// Flock is FlockFD of a file. When it cannot be locked, Flock closes it.
func Flock(f *os.File, how int) error {
	if err := FlockFD(int(f.Fd()), how); err != nil {
		_ = f.Close()
		return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return nil
}

// Unlock lets go of the lock of a file, and closes that. To close it is not enough: a child that this process is
// starting has the descriptor, too, until it runs its program, and with it the lock.
func Unlock(f *os.File) error {
	return errors.Join(FlockFD(int(f.Fd()), syscall.LOCK_UN), f.Close())
}

// FlockFD is flock(2) of a descriptor, with LOCK_EX, LOCK_NB and so on as how. A signal does not
// interrupt it.
func FlockFD(fd, how int) error {
	for {
		if err := syscall.Flock(fd, how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// MkdirOwn makes a folder that only the user can enter. When the umask takes permissions from
// the user as well, it makes none and returns a refusal: the folder could not be used, also
// after the umask is changed.
func MkdirOwn(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	fi, err := os.Lstat(path)
	if err == nil && fi.Mode().Perm() != 0o700 {
		err = fault.Refuse(125, "umask 077", "the umask takes your own permissions from new folders")
		_ = os.Remove(path)
	}
	return err
}

// Replace makes path hold data, atomically: it writes a temporary file beside it
// and renames that. The caller holds the lock of the folder, so the temporary
// name is fixed and one left by a killed writer is simply written anew.
func Replace(path string, data []byte, perm fs.FileMode) error {
	f, temp, err := Temp(path, perm)
	if err != nil {
		return err
	}
	if _, err = f.Write(data); err != nil {
		_ = f.Close()
		_ = os.Remove(temp)
		return err
	}
	return Commit(f, temp, path)
}

// Temp opens the temporary file that Commit moves to path, for content too large
// to hold in memory. The caller holds the lock.
func Temp(path string, perm fs.FileMode) (f *os.File, temp string, err error) {
	temp = path + ".tmp"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", err
	}
	f, err = os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, perm)
	if err != nil {
		return nil, "", err
	}
	return f, temp, nil
}

// Commit closes the temporary file and gives it its name; on any error the
// temporary file is removed and path is what it was.
func Commit(f *os.File, temp, path string) error {
	err := f.Close()
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp)
	}
	return err
}

// Write makes path hold data, atomically and flushed to the device, with no lock held.
func Write(path string, data []byte, perm fs.FileMode) error {
	return WriteIf(path, data, perm, func() error { return nil })
}

// WriteIf is Write, but calls still right before path is replaced: when that returns an
// error, path stays as it was and the error is returned.
func WriteIf(path string, data []byte, perm fs.FileMode, still func() error) error {
	temp, err := beside(path, data, perm)
	if err != nil {
		return err
	}
	if err = still(); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp)
	}
	return err
}

// Create is Write for a file that must not exist yet: otherwise the error is
// fs.ErrExist, and what is there stays. It uses link(2), because rename(2) replaces.
func Create(path string, data []byte, perm fs.FileMode) error {
	temp, err := beside(path, data, perm)
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	err = os.Link(temp, path)
	if !errors.Is(err, syscall.EPERM) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	// A file system without hard links.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		_ = os.Remove(path)
	}
	return err
}

// beside writes a temporary file in the folder of path, flushed, and returns its path.
func beside(path string, data []byte, perm fs.FileMode) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // 0600, O_EXCL
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(perm), f.Sync(), f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// Folder makes sure that path is a folder of the calling user's own which nobody
// else can enter, creating it and its parents when missing.
func Folder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%q is not a folder", path)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%q belongs to user %d, not to user %d", path, st.Uid, os.Geteuid())
	}
	if info.Mode().Perm()&0o077 != 0 {
		return os.Chmod(path, info.Mode().Perm()&0o700)
	}
	return nil
}
