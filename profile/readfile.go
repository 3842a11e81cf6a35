package profile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// MaxFileSize is the largest profile or config.toml that is read, in bytes.
const MaxFileSize = 1 << 20

// File is a profile or config.toml as it was read: once, through one
// descriptor. Whoever decides by Digest and acts on Data acts on what was
// decided.
type File struct {
	Path   string
	Digest string // lower-case hex sha256 of Data
	Data   []byte
}

// ReadFile opens, reads and hashes a file once. It refuses links, folders,
// FIFOs, sockets, devices and files over MaxFileSize; it never blocks. A file
// that is not there gives an error that is fs.ErrNotExist.
func ReadFile(path string) (File, error) {
	fail := func(format string, args ...any) (File, error) {
		return File{}, fmt.Errorf("%q "+format, append([]any{path}, args...)...)
	}
	// Looking before opening keeps devices from being opened at all; what
	// counts is the second look, at the opened file.
	var st syscall.Stat_t
	if err := retry(func() error { return syscall.Lstat(path, &st) }); err != nil {
		return fail("cannot be read: %w", err)
	}
	if what := oddity(st.Mode); what != "" {
		return fail("is %s, not a regular file", what)
	}
	// O_NOFOLLOW: open(2), a link as the last component fails with ELOOP.
	// O_NONBLOCK: fifo(7), a FIFO put there since does not block the open.
	fd := -1
	err := retry(func() (err error) {
		fd, err = syscall.Open(path, syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC|syscall.O_NOCTTY, 0)
		return err
	})
	switch {
	case errors.Is(err, syscall.ELOOP):
		return fail("is a link, not a regular file")
	case err != nil:
		return fail("cannot be read: %w", err)
	}
	defer syscall.Close(fd)
	if err := retry(func() error { return syscall.Fstat(fd, &st) }); err != nil {
		return fail("cannot be read: %w", err)
	}
	if what := oddity(st.Mode); what != "" {
		return fail("is %s, not a regular file", what)
	}
	if st.Size > MaxFileSize {
		return fail("is larger than %d KiB", MaxFileSize>>10)
	}
	data, err := readAll(fd, int(st.Size))
	switch {
	case err != nil:
		return fail("cannot be read: %w", err)
	case len(data) > MaxFileSize:
		return fail("is larger than %d KiB", MaxFileSize>>10)
	}
	sum := sha256.Sum256(data)
	return File{Path: path, Digest: hex.EncodeToString(sum[:]), Data: data}, nil
}

// readAll reads to the end of the file, or one byte past MaxFileSize.
func readAll(fd, size int) ([]byte, error) {
	buf := make([]byte, 0, size+1)
	for len(buf) <= MaxFileSize {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		var n int
		err := retry(func() (err error) {
			n, err = syscall.Read(fd, buf[len(buf):cap(buf)])
			return err
		})
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			break
		}
		buf = buf[:len(buf)+n]
	}
	return buf, nil
}

func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// oddity names what a file is when it is not a regular one.
func oddity(mode uint32) string {
	switch mode & syscall.S_IFMT {
	case syscall.S_IFREG:
		return ""
	case syscall.S_IFLNK:
		return "a link"
	case syscall.S_IFDIR:
		return "a folder"
	case syscall.S_IFIFO:
		return "a FIFO"
	case syscall.S_IFSOCK:
		return "a socket"
	}
	return "a device"
}

// exists reports whether there is anything under that name, without following
// a link there. An error other than absence is returned.
func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return false, nil
	}
	return false, err
}
