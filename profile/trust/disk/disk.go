// Package disk keeps small private files that several processes write: each is
// replaced whole, and writers take turns under a lock. Readers take no lock and
// always see one complete version.
//
//	unlock, err := disk.Lock(filepath.Join(dir, ".lock"))
//	if err != nil { ... }
//	defer unlock()
//	old, err := os.ReadFile(name)
//	...
//	err = disk.Replace(name, fresh, 0o600)
//
// Nothing is flushed to the device: after a power cut a file may be the old
// one, or empty. Who reads must refuse an empty file, not take it for an absent
// one.
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Lock waits for the exclusive lock at path, which is created when missing, and
// returns the function that gives it back. The kernel drops the lock with its
// holder, however that ends, so there are no stale locks; the file itself stays,
// because removing it would let two holders in.
func Lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EINTR) {
			_ = f.Close()
			return nil, &fs.PathError{Op: "lock", Path: path, Err: err}
		}
	}
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
