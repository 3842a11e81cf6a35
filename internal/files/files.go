// Package files reads and writes files that other programs may write too, or may have
// planted.
//
// A file is written whole or not at all, in one of two ways. Replace is for writers that take
// turns under a lock. It flushes nothing to the device: after a power cut the file may be the
// old one, or empty, and its reader must refuse an empty one.
//
//	unlock, err := files.Lock(filepath.Join(dir, ".lock"))
//	if err != nil { ... }
//	defer unlock()
//	old, err := os.ReadFile(name)
//	...
//	err = files.Replace(name, fresh, 0o600)
//
// Write and Create need no lock, and flush. Readers take no lock and always see one complete
// version.
//
// Read and Head take regular files only, up to a number of bytes, and never block.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ErrNotRegular says that a path leads to a link, a folder, a pipe, a socket or a device.
var ErrNotRegular = errors.New("not a regular file")

// Links says what becomes of a link at the end of a path. Links before that are always followed.
type Links bool

// The two ways with a link.
const (
	NoLinks     Links = false // it is ErrNotRegular
	FollowLinks Links = true
)

// Open opens a regular file for reading; anything else is ErrNotRegular. A FIFO does not
// block it (fifo(7)), and no terminal becomes the controlling one of this process (O_NOCTTY).
func Open(path string, links Links) (*os.File, fs.FileInfo, error) {
	flags := os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY
	if links == NoLinks {
		flags |= syscall.O_NOFOLLOW
	}
	f, err := os.OpenFile(path, flags, 0)
	if links == NoLinks && errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return nil, nil, ErrNotRegular // open(2): a link; a socket
	}
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, fi, nil
}

// Read reads a file of at most limit bytes. A larger one is an error.
func Read(path string, links Links, limit int64) ([]byte, error) {
	data, err := Head(path, links, limit+1)
	if err == nil && int64(len(data)) > limit {
		return nil, fmt.Errorf("%q is larger than %d KiB", path, limit>>10)
	}
	return data, err
}

// Head reads the first bytes of a file, at most n.
func Head(path string, links Links, n int64) ([]byte, error) {
	f, _, err := Open(path, links)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, n))
}

// Real returns a path with its links resolved, or the path itself when that fails, for
// instance because a part of it does not exist.
func Real(p string) string {
	if real, err := filepath.EvalSymlinks(p); err == nil {
		return real
	}
	return p
}

// Resolved returns a path with its links resolved as far as it exists.
func Resolved(path string) string {
	rest := ""
	for p := path; ; p = filepath.Dir(p) {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			return filepath.Join(real, rest)
		}
		if p == "/" || p == "." {
			return path
		}
		rest = filepath.Join(filepath.Base(p), rest)
	}
}

// Exists reports whether there is something at a path, a dangling link included.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
