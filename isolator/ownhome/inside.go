package ownhome

// Everything that is done in a home while boxes may have it. What is done is done in an open
// folder, and no link is followed on the way to it: what a box replaces meanwhile
// leads to another folder of this home at most, and never out of it.

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/copytree"
)

// Folder makes a folder, and what is missing above it. What else is in the way is moved aside, and a
// folder that a box closed is opened.
func (h *Home) Folder(rel string) error {
	for i, c := range rel + "/" {
		if c == '/' {
			if err := h.step(rel[:i]); err != nil {
				return h.fault(rel, err)
			}
		}
	}
	return nil
}

// step is Folder where the folder above is there.
func (h *Home) step(at string) error {
	for range 8 { // a box can be quicker, and gains nothing by it
		f, err := copytree.Enter(h.root, at)
		switch {
		case err == nil:
			return f.Close()
		case errors.Is(err, unix.ENOENT):
			err = copytree.In(h.root, at, func(dir int, name string) error { return unix.Mkdirat(dir, name, 0o700) })
			if errors.Is(err, unix.EEXIST) {
				err = nil
			}
		case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
			err = h.moveAside(at)
		}
		if err != nil {
			return err
		}
	}
	return errors.New("a program in another box keeps exchanging it")
}

// moveAside gives something another name, in the same folder. No box can have taken all
// that it may be.
func (h *Home) moveAside(rel string) error {
	return copytree.In(h.root, rel, func(dir int, name string) error {
		other := name + ".aside-" + strings.ToLower(rand.Text()[:8])
		err := unix.Renameat2(dir, name, dir, other, unix.RENAME_NOREPLACE)
		switch {
		case err == nil:
			h.Aside = append(h.Aside, other)
		case errors.Is(err, unix.ENOENT): // somebody was quicker
			return nil
		}
		return err
	})
}

func (h *Home) fault(rel string, err error) error {
	return fmt.Errorf("in %s: ~/%s: %w", h.Owner, rel, err)
}

// has reports whether a place is there, with no link on the way.
func (h *Home) has(p Point) bool {
	want := uint32(unix.S_IFDIR)
	if p.File {
		want = unix.S_IFREG
	}
	st, err := copytree.Lstat(h.root, p.Path)
	return err == nil && st.Mode&unix.S_IFMT == want
}

// place makes one place.
func (h *Home) place(p Point) error {
	if !p.File {
		return h.Folder(p.Path)
	}
	if h.has(p) {
		return nil
	}
	err := errors.Join(h.Folder(path.Dir(p.Path)), h.moveAside(p.Path))
	if err == nil {
		err = copytree.In(h.root, p.Path, func(dir int, name string) error { return copytree.New(dir, name, nil, 0o600) })
	}
	if err != nil {
		return h.fault(p.Path, err)
	}
	return nil
}

// Link makes a link for the box. What has its name stays: nobody outside follows it.
func (h *Home) Link(rel, target string) error {
	err := h.Folder(path.Dir(rel))
	if err == nil {
		err = copytree.In(h.root, rel, func(dir int, name string) error { return unix.Symlinkat(target, dir, name) })
	}
	if err == nil || errors.Is(err, unix.EEXIST) {
		return nil
	}
	return h.fault(rel, err)
}

// Read reads a regular file of at most limit bytes. It follows no link and waits for
// nobody. Nothing, or what is no file, is fs.ErrNotExist; one that is larger or that
// cannot be opened is another error.
func (h *Home) Read(rel string, limit int64) ([]byte, error) {
	data, err := copytree.Read(h.root, rel, limit)
	switch err {
	case nil:
		return data, nil
	case files.ErrNotRegular, unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EXDEV, unix.ENXIO:
		return nil, fs.ErrNotExist
	}
	return nil, h.fault(rel, err)
}

// Write makes a file hold data, whole or not at all, whatever has its name now.
func (h *Home) Write(rel string, data []byte, mode fs.FileMode) error {
	if err := h.Folder(path.Dir(rel)); err != nil {
		return err
	}
	err := copytree.In(h.root, rel, func(dir int, name string) error {
		temp := ".inner-" + rand.Text()
		err := copytree.New(dir, temp, data, mode)
		for try := 0; err == nil; try++ {
			err = unix.Renameat(dir, temp, dir, name)
			inTheWay := errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EEXIST) || errors.Is(err, unix.ENOTEMPTY)
			if !inTheWay || try == 8 {
				break
			}
			err = h.moveAside(rel)
		}
		if err != nil {
			_ = unix.Unlinkat(dir, temp, 0)
		}
		return err
	})
	if err != nil {
		return h.fault(rel, err)
	}
	return nil
}

// Remove takes a file away. What is not there is no error.
func (h *Home) Remove(rel string) error {
	err := copytree.In(h.root, rel, func(dir int, name string) error { return unix.Unlinkat(dir, name, 0) })
	if _, there := copytree.Lstat(h.root, rel); there != nil {
		return nil
	}
	return err
}
