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
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
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

// flags are those by which a file is opened.
func (l Links) flags() int {
	if l == NoLinks {
		return syscall.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY | syscall.O_NOFOLLOW
	}
	return syscall.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY
}

// fault is why it could not be.
func (l Links) fault(err error) error {
	if l == NoLinks && errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return ErrNotRegular // open(2): a link; a socket
	}
	return err
}

// Open opens a regular file for reading; anything else is ErrNotRegular. A FIFO does not
// block it (fifo(7)), and no terminal becomes the controlling one of this process (O_NOCTTY).
func Open(path string, links Links) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, links.flags(), 0)
	if err != nil {
		return nil, nil, links.fault(err)
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

// Head reads the first bytes of a file, at most n. A start reads dozens, so it makes no more calls than it needs.
func Head(path string, links Links, n int64) (data []byte, err error) {
	failed := func(op string, err error) ([]byte, error) {
		return data, links.fault(&fs.PathError{Op: op, Path: path, Err: err})
	}
	fd, err := unix.Open(path, links.flags()|unix.O_CLOEXEC, 0)
	for err == unix.EINTR {
		fd, err = unix.Open(path, links.flags()|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return failed("open", err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return failed("stat", err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, ErrNotRegular
	}
	data = make([]byte, 0, min(max(st.Size, 511)+1, n)) // files of the kernel have no size
	for int64(len(data)) < n {
		if len(data) == cap(data) {
			data = slices.Grow(data, len(data))
		}
		room := data[len(data):min(int64(cap(data)), n)]
		switch got, err := unix.Read(fd, room); {
		case err == unix.EINTR:
		case err != nil:
			return failed("read", err)
		case got == 0:
			return data, nil
		default:
			data = data[:len(data)+got]
		}
	}
	return data, nil
}

// Real returns a path with its links resolved, or the path itself when that fails, for
// instance because a part of it does not exist.
func Real(p string) string {
	if real, err := Eval(p); err == nil {
		return real
	}
	return p
}

// Reals are Real of each.
func Reals(list []string) (out []string) {
	for _, p := range list {
		out = append(out, Real(p))
	}
	return out
}

// Resolved returns a path with its links resolved as far as it exists.
func Resolved(path string) string {
	rest := ""
	for p := path; ; p = filepath.Dir(p) {
		if real, err := Eval(p); err == nil {
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
