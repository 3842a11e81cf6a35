package repos

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/copytree"
)

// How something is moved aside, or written, in the folders of a search and nowhere else.

// inside reports whether the box could write a place: it lies in a root, and in no folder of that
// root that was covered.
func (w *sweep) inside(p string) bool {
	return slices.ContainsFunc(w.roots, func(r *os.File) bool {
		covers := func(c string) bool { return paths.Below(r.Name(), c) && paths.Below(c, p) }
		return paths.Below(r.Name(), p) && !slices.ContainsFunc(w.Covered, covers)
	})
}

// below calls do with the root that something is in, or the place for it, and its path there. No link is
// followed on the way, and none comes there any more: other boxes may still be running in these folders, and
// exchange a folder for a link.
func (w *sweep) below(p string, do func(root int, rest string) error) error {
	for _, r := range w.roots {
		if rest, ok := paths.Rest(r.Name(), p); ok && rest != "" {
			return do(int(r.Fd()), rest)
		}
	}
	return fs.ErrPermission
}

// at calls do with such a path by the open folder that it is in.
func (w *sweep) at(p string, do func(at string) error) error {
	return w.below(p, func(root int, rest string) error {
		return copytree.In(root, rest, func(parent int, name string) error { return do(fmt.Sprintf("/proc/self/fd/%d/%s", parent, name)) })
	})
}

// A program in the box can close a folder (chmod 0) with what it made there, and a person opens it
// again. So a folder that was closed since the run began is opened to be looked into.

// lstat is os.Lstat for something that may lie in closed folders.
func (w *sweep) lstat(p string) (fs.FileInfo, error) {
	fi, err := os.Lstat(p)
	if errors.Is(err, fs.ErrPermission) && w.reopen(filepath.Dir(p)) {
		return os.Lstat(p)
	}
	return fi, err
}

// deepest is the longest path of a folder that is searched, in bytes. The kernel takes no path of
// PATH_MAX, but programs go into any folder by its name alone, and what is looked at in one has a
// longer path.
const deepest = unix.PathMax - 512

// readDir is files.ReadDir for a folder that may be closed. One that is there and cannot be read is
// noted, unless it could not be before the run.
func (w *sweep) readDir(dir string) ([]files.Entry, error) {
	if len(dir) > deepest {
		w.Unseen = append(w.Unseen, dir)
		return nil, unix.ENAMETOOLONG
	}
	if unix.Access(dir, unix.R_OK|unix.X_OK) != nil {
		w.reopen(dir)
	}
	entries, err := files.ReadDir(dir)
	if unlessGone(err) != nil {
		if fi, gone := os.Lstat(dir); gone != nil || w.recent(dir, fi) || !errors.Is(err, fs.ErrPermission) {
			w.Unseen = append(w.Unseen, dir)
		}
	}
	return entries, err
}

// unlessGone returns an error unless it says that a folder is not there, or is none.
func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	return err
}

// reopen opens a folder that was closed since the run began, and reports whether it is open.
func (w *sweep) reopen(dir string) bool {
	fi, err := w.lstat(dir)
	return err == nil && fi.IsDir() && w.recent(dir, fi) && w.open(dir) == nil
}

// open gives the user back what a program in the box took of a folder.
func (w *sweep) open(p string) error {
	if !w.inside(p) {
		return fs.ErrPermission
	}
	return w.below(p, func(root int, rest string) error {
		dir, err := copytree.Enter(root, rest)
		if err == nil {
			dir.Close()
		}
		return err
	})
}

// aside gives something a name that no tool obeys, and notes what it was.
func (w *sweep) aside(p string, m Moved) bool {
	if !w.inside(p) {
		return false
	}
	_ = w.open(filepath.Dir(p)) // without it, what follows says why
	err := w.at(p, func(at string) error {
		// A name has at most 255 bytes, on some file systems 143.
		name := filepath.Base(p)
		name = strings.ToValidUTF8(name[:min(len(name), 100)], "") + Suffix
		to := name
		for n := 2; files.Exists(filepath.Join(filepath.Dir(at), to)); n++ {
			to = name + "." + strconv.Itoa(n)
		}
		m.Path, m.Kept = p, filepath.Join(filepath.Dir(p), to)
		return unix.Rename(at, filepath.Join(filepath.Dir(at), to))
	})
	if err != nil {
		w.errs = append(w.errs, &fs.PathError{Op: "rename", Path: p, Err: err})
		return false
	}
	w.Moved = append(w.Moved, m)
	return true
}

// replace moves something aside, and puts a file with other data in its place. Where that cannot be written,
// as on a full disk, nothing takes its place: git would obey what was there.
func (w *sweep) replace(p string, data []byte, m Moved) {
	if !w.aside(p, m) {
		return
	}
	err := w.at(p, func(at string) error { return files.Write(at, data, 0o644) })
	if cause := new(fs.PathError); errors.As(err, &cause) {
		err = cause.Err // its path is one of this process
	}
	if err != nil {
		err = fmt.Errorf("what runs nothing of %s could not be kept in its place, all of it is beside it: %w", p, err)
		w.errs = append(w.errs, err)
	}
}

// read reads a regular file of at most 1 MiB, in a root through no link.
func (w *sweep) read(p string) (data []byte, err error) {
	err = w.below(p, func(root int, rest string) error {
		data, err = copytree.Read(root, rest, 1<<20)
		return err
	})
	return data, err
}
