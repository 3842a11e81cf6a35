package ownhome

// Everything that is done in a home while boxes may have it. Each name is opened from the
// folder it is in, never by a path, and no link is followed: what a box replaces meanwhile
// leads to another folder of this home at most, and never out of it.

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/copytree"
)

// opened opens a folder below the home, and makes what is missing of it. What else is in
// the way is moved aside. The caller closes the descriptor.
func (h *Home) opened(rel string) (int, error) {
	at, err := unix.FcntlInt(uintptr(h.root), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil || rel == "." {
		return at, err
	}
	for name := range strings.SplitSeq(rel, "/") {
		next, err := h.step(at, name)
		_ = unix.Close(at)
		if err != nil {
			return -1, h.fault(rel, err)
		}
		at = next
	}
	return at, nil
}

// step opens the folder of one name, which is made when it is missing.
func (h *Home) step(at int, name string) (int, error) {
	if name == "" || name == "." || name == ".." {
		return -1, unix.EINVAL
	}
	for range 8 { // a box can be quicker, and gains nothing by it
		fd, err := unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		switch {
		case err == nil:
			if err := enterable(fd); err != nil {
				_ = unix.Close(fd)
				return -1, err
			}
			return fd, nil
		case errors.Is(err, unix.ENOENT):
			err = unix.Mkdirat(at, name, 0o700)
			if errors.Is(err, unix.EEXIST) {
				err = nil
			}
		case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
			err = h.moveAside(at, name)
		}
		if err != nil {
			return -1, err
		}
	}
	return -1, errors.New("a program in another box keeps exchanging it")
}

// enterable gives a folder back the mode that a box took from it. The descriptor says
// which folder that is, whatever its name leads to now.
func enterable(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&0o700 == 0o700 {
		return err
	}
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), st.Mode&0o777|0o700)
}

// moveAside gives what has a name another one, in the same folder. No box can have taken all
// that it may be.
func (h *Home) moveAside(at int, name string) error {
	other := name + ".aside-" + strings.ToLower(rand.Text()[:8])
	err := unix.Renameat2(at, name, at, other, unix.RENAME_NOREPLACE)
	switch {
	case err == nil:
		h.Aside = append(h.Aside, other)
	case errors.Is(err, unix.ENOENT): // somebody was quicker
		return nil
	}
	return err
}

// setAside gives a file another name, in its folder.
func (h *Home) setAside(rel string) error {
	dir, err := h.opened(path.Dir(rel))
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return h.moveAside(dir, path.Base(rel))
}

func (h *Home) fault(rel string, err error) error {
	return fmt.Errorf("in %s: ~/%s: %w", h.Owner, rel, err)
}

// has reports whether a place is there, with no link on the way.
func (h *Home) has(p Point) bool {
	fd, err := copytree.Open(h.root, p.Path, unix.O_PATH)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	want := uint32(unix.S_IFDIR)
	if p.File {
		want = unix.S_IFREG
	}
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == want
}

// Folder makes a folder. What is in its way is moved aside.
func (h *Home) Folder(rel string) error { return h.place(Point{Path: rel}) }

// place makes one place.
func (h *Home) place(p Point) error {
	if !p.File {
		fd, err := h.opened(p.Path)
		if err == nil {
			err = unix.Close(fd)
		}
		return err
	}
	if h.has(p) {
		return nil
	}
	dir, err := h.opened(path.Dir(p.Path))
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	if err := h.moveAside(dir, path.Base(p.Path)); err != nil {
		return h.fault(p.Path, err)
	}
	fd, err := unix.Openat(dir, path.Base(p.Path), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return h.fault(p.Path, err)
	}
	return unix.Close(fd)
}

// Read reads a regular file of at most limit bytes. It follows no link and waits for
// nobody. Nothing, or what is no file, is fs.ErrNotExist; one that is larger or that
// cannot be opened is another error.
func (h *Home) Read(rel string, limit int64) ([]byte, error) {
	fd, err := copytree.Open(h.root, rel, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	switch {
	case err == nil:
	case slices.ContainsFunc([]error{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EXDEV, unix.ENXIO}, func(e error) bool { return errors.Is(err, e) }):
		return nil, fs.ErrNotExist
	default:
		return nil, h.fault(rel, err)
	}
	f := os.NewFile(uintptr(fd), rel)
	defer f.Close()
	fi, err := f.Stat()
	switch {
	case err != nil || !fi.Mode().IsRegular():
		return nil, fs.ErrNotExist
	case fi.Size() > limit:
		return nil, h.fault(rel, fmt.Errorf("is larger than %d KiB", limit>>10))
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// Write makes a file hold data, whole or not at all, whatever has its name now.
func (h *Home) Write(rel string, data []byte, mode fs.FileMode) error {
	dir, err := h.opened(path.Dir(rel))
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	temp, err := fill(dir, data, mode)
	if err != nil {
		return h.fault(rel, err)
	}
	name := path.Base(rel)
	for range 8 {
		err = unix.Renameat(dir, temp, dir, name)
		if !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.ENOTEMPTY) {
			break
		}
		if aside := h.moveAside(dir, name); aside != nil {
			err = aside
			break
		}
	}
	if err != nil {
		_ = unix.Unlinkat(dir, temp, 0)
		return h.fault(rel, err)
	}
	return nil
}

// fill writes a new file and returns its name.
func fill(dir int, data []byte, mode fs.FileMode) (string, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	temp := ".inner-" + hex.EncodeToString(b[:])
	fd, err := unix.Openat(dir, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(mode.Perm()))
	if err != nil {
		return "", err
	}
	f := os.NewFile(uintptr(fd), temp)
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = unix.Unlinkat(dir, temp, 0)
	}
	return temp, err
}

// Remove takes a file away. What is not there is no error.
func (h *Home) Remove(rel string) error {
	dir, err := copytree.Open(h.root, path.Dir(rel), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil
	}
	defer unix.Close(dir)
	err = unix.Unlinkat(dir, path.Base(rel), 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}
