package profile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
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
	// Looking before opening keeps devices from being opened at all; what counts is the
	// second look, of files.Read at the opened file.
	st, err := os.Lstat(path)
	if err == nil && !st.Mode().IsRegular() {
		return File{}, fault.Refuse(126, "look at "+path, "%q is %s, not a regular file", path, oddity(st.Mode()))
	}
	var data []byte
	if err == nil {
		data, err = files.Read(path, files.NoLinks, MaxFileSize)
	}
	var cause *fs.PathError
	switch {
	case errors.As(err, &cause):
		return File{}, fmt.Errorf("%q cannot be read: %w", path, cause.Err)
	case errors.Is(err, files.ErrNotRegular):
		return File{}, fmt.Errorf("%q is %w", path, err)
	case err != nil:
		return File{}, err
	}
	return FileOf(path, data), nil
}

// FileOf is the file that a text is, or is to be.
func FileOf(path string, data []byte) File {
	sum := sha256.Sum256(data)
	return File{Path: path, Digest: hex.EncodeToString(sum[:]), Data: data}
}

// oddity names what a file is that is not a regular one.
func oddity(mode fs.FileMode) string {
	switch mode.Type() {
	case fs.ModeSymlink:
		return "a link"
	case fs.ModeDir:
		return "a folder"
	case fs.ModeNamedPipe:
		return "a FIFO"
	case fs.ModeSocket:
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
