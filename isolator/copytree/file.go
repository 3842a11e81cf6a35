package copytree

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// unreadableError is a fault of the source: the file is left out, the copy
// goes on.
type unreadableError struct{ err error }

func (e *unreadableError) Error() string { return e.err.Error() }
func (e *unreadableError) Unwrap() error { return e.err }

// worker copies one file after the other.
type worker struct {
	*copier
	buf []byte
}

func (c *copier) buffer() []byte {
	if b, ok := c.buffers.Get().(*[]byte); ok {
		return *b
	}
	return make([]byte, 128<<10)
}

// one copies a file or a link from one folder to another.
func (w *worker) one(from, to int, f file) (Entry, error) {
	if f.kind == unix.S_IFLNK {
		return w.link(from, to, f.name)
	}
	fd, err := unix.Openat(from, f.name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOATIME|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EPERM) { // only its owner may leave no trace of reading
		fd, err = unix.Openat(from, f.name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return Entry{}, &unreadableError{err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Entry{}, &unreadableError{err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return Entry{}, &unreadableError{unix.ELOOP}
	}
	return w.contents(fd, to, f.name, st)
}

func (w *worker) link(from, to int, name string) (Entry, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(from, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Entry{}, &unreadableError{err}
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(from, name, buf)
	if err != nil {
		return Entry{}, &unreadableError{err}
	}
	target := string(buf[:n])
	if err := unix.Symlinkat(target, to, name); err != nil {
		return Entry{}, err
	}
	e := entry("", st)
	e.Link = target
	return e, unix.UtimesNanoAt(to, name, []unix.Timespec{st.Atim, st.Mtim}, unix.AT_SYMLINK_NOFOLLOW)
}

// contents makes a file of the copy from an open one of the source.
func (w *worker) contents(fd, dir int, name string, st unix.Stat_t) (Entry, error) {
	mode := keptMode(st.Mode)
	to, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		return Entry{}, err
	}
	defer unix.Close(to)
	if err := w.data(fd, to, st); err != nil {
		return Entry{}, err
	}
	attrs := false
	if !w.noAttrs.Load() {
		attrs = w.attributes(fd, to)
	}
	if attrs || mode&w.umask != 0 {
		if err := unix.Fchmod(to, mode); err != nil {
			return Entry{}, err
		}
	}
	if err := unix.UtimesNanoAt(dir, name, []unix.Timespec{st.Atim, st.Mtim}, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Entry{}, err
	}
	if !w.o.Record {
		return Entry{}, nil
	}
	var copied unix.Stat_t
	if err := unix.Fstat(to, &copied); err != nil {
		return Entry{}, err
	}
	e := entry("", st)
	e.Copy = copied.Ino
	return e, nil
}

// data copies what is in a file, holes as holes.
func (w *worker) data(fd, to int, st unix.Stat_t) error {
	if st.Size == 0 {
		return nil
	}
	if w.res.Shared && unix.IoctlFileClone(to, fd) == nil {
		w.count(st.Size)
		return nil
	}
	if st.Blocks*512 >= st.Size || st.Blocks == 0 && st.Size < 4096 { // tiny ones may live in the inode
		return w.span(fd, to, 0, st.Size)
	}
	return w.sparse(fd, to, st.Size)
}

// sparse copies what is between the holes of a file.
func (w *worker) sparse(fd, to int, size int64) error {
	for at := int64(0); at < size; {
		begin, err := unix.Seek(fd, at, unix.SEEK_DATA)
		switch {
		case errors.Is(err, unix.ENXIO): // a hole to the end
			begin = size
		case err != nil:
			return w.span(fd, to, at, size)
		}
		w.count(begin - at)
		if begin >= size {
			break
		}
		end, err := unix.Seek(fd, begin, unix.SEEK_HOLE)
		if err != nil || end > size {
			end = size
		}
		if err := w.span(fd, to, begin, end); err != nil {
			return err
		}
		at = end
	}
	return unix.Ftruncate(to, size)
}

// span copies the bytes from at to end. A file that became shorter meanwhile
// ends where it ends.
func (w *worker) span(fd, to int, at, end int64) error {
	inKernel := end-at > int64(len(w.buf))
	for at < end {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		n, err := w.piece(fd, to, at, end, inKernel)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case inKernel && elsewhere(err):
			inKernel = false
			continue
		case err != nil:
			return err
		case n == 0:
			return nil
		}
		at += int64(n)
		w.count(int64(n))
	}
	return nil
}

// piece copies some of the bytes from at to end, and returns how many.
func (w *worker) piece(fd, to int, at, end int64, inKernel bool) (int, error) {
	if inKernel {
		from, dest := at, at
		return unix.CopyFileRange(fd, &from, to, &dest, int(min(end-at, 16<<20)), 0)
	}
	n, err := unix.Pread(fd, w.buf[:min(end-at, int64(len(w.buf)))], at)
	if err == nil && n > 0 {
		err = writeAt(to, w.buf[:n], at)
	}
	return n, err
}

// elsewhere reports whether copy_file_range cannot be used between two files,
// and reading and writing can.
func elsewhere(err error) bool {
	return slices.ContainsFunc([]unix.Errno{unix.ENOSYS, unix.EXDEV, unix.EINVAL, unix.EOPNOTSUPP, unix.EPERM, unix.EBADF}, func(e unix.Errno) bool {
		return errors.Is(err, e)
	})
}

func writeAt(fd int, b []byte, at int64) error {
	for len(b) > 0 {
		n, err := unix.Pwrite(fd, b, at)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		}
		b, at = b[n:], at+int64(n)
	}
	return nil
}

func (w *worker) count(n int64) {
	if w.o.Progress != nil {
		w.o.Progress.Done.Add(n)
	}
}

// attributes copies the extended attributes of an open file or folder, and
// reports whether there were any. Those that give powers are not copied; those
// that cannot be set are dropped.
func (c *copier) attributes(from, to int) bool {
	var buf [4096]byte
	n, err := unix.Flistxattr(from, buf[:])
	names := buf[:max(n, 0)]
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		c.noAttrs.Store(true)
		return false
	case errors.Is(err, unix.ERANGE):
		names = make([]byte, 64<<10) // XATTR_LIST_MAX
		n, err = unix.Flistxattr(from, names)
		names = names[:max(n, 0)]
	}
	if err != nil || n <= 0 {
		return false
	}
	_ = unix.Fchmod(to, 0o700)    // setting one takes the right to write
	value := make([]byte, 64<<10) // XATTR_SIZE_MAX
	for name := range bytes.SplitSeq(names, []byte{0}) {
		key := string(name)
		if key == "" || key == "security.capability" || strings.HasPrefix(key, "trusted.") {
			continue
		}
		if n, err := unix.Fgetxattr(from, key, value); err == nil {
			_ = unix.Fsetxattr(to, key, value[:n], 0)
		}
	}
	return true
}

// umask reads the mask of the process without changing it; all bits when it
// cannot be read.
func umask() uint32 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0o777
	}
	_, rest, _ := strings.Cut(string(data), "\nUmask:")
	word, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseUint(strings.TrimSpace(word), 8, 32)
	if err != nil {
		return 0o777
	}
	return uint32(n)
}

// Contents writes at most size bytes of one open file, from its beginning, to another that is empty. It ends even when
// the first keeps growing.
func Contents(ctx context.Context, to, from int, size int64) error {
	const least = 64 << 10 // less is read more quickly
	if size >= least && unix.IoctlFileClone(to, from) == nil {
		return unix.Ftruncate(to, size)
	}
	w := worker{copier: &copier{ctx: ctx}, buf: make([]byte, min(size, 2*least))}
	return w.span(from, to, 0, size)
}

// Fill writes what is in one open file, from its beginning, to another that is
// empty: data, holes and extended attributes.
func Fill(to, from int) error {
	var st unix.Stat_t
	if err := unix.Fstat(from, &st); err != nil {
		return err
	}
	c := &copier{ctx: context.Background()}
	c.res.Shared = true // if it can be
	w := worker{copier: c, buf: c.buffer()}
	if err := w.data(from, to, st); err != nil {
		return err
	}
	c.attributes(from, to)
	return nil
}
