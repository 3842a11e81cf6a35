package repos

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
)

// How something is moved aside, or written, in the folders of a search and nowhere else.

// in returns the root that a path lies in, and its name there.
func (w *sweep) in(p string) (*os.Root, string) {
	for _, r := range w.roots {
		if rest, ok := paths.Rest(r.path, p); ok && rest != "" {
			return r.dir, rest
		}
	}
	return nil, ""
}

func (w *sweep) inside(p string) bool {
	dir, _ := w.in(p)
	return dir != nil || slices.ContainsFunc(w.roots, func(r root) bool { return r.path == p })
}

// away renames something of a repository, and notes what it was.
func (w *sweep) away(p string, h *Held, what ...string) bool {
	to, ok := w.rename(p)
	if !ok {
		return false
	}
	h.What, h.Kept = append(h.What, what...), append(h.Kept, to)
	if len(h.Kept) == 1 {
		w.Held = append(w.Held, *h)
	}
	for i := range w.Held {
		if w.Held[i].Place == h.Place {
			w.Held[i] = *h
		}
	}
	return true
}

// rename gives something a name that no tool obeys.
func (w *sweep) rename(p string) (to string, ok bool) {
	dir, rel := w.in(p)
	if dir == nil {
		return "", false
	}
	end := Suffix
	for n := 2; ; n++ {
		if _, err := dir.Lstat(rel + end); err != nil {
			break
		}
		end = Suffix + "." + strconv.Itoa(n)
	}
	err := dir.Rename(rel, rel+end)
	if errors.Is(err, fs.ErrPermission) && w.open(filepath.Dir(p), 0o700) == nil {
		err = dir.Rename(rel, rel+end)
	}
	if err != nil {
		w.errs = append(w.errs, err)
	}
	return p + end, err == nil
}

// open gives the user back what a program in the box took from it.
func (w *sweep) open(p string, mode fs.FileMode) error {
	dir, rel := w.in(p)
	if dir == nil {
		return fs.ErrPermission
	}
	for i := range len(rel) + 1 {
		if i < len(rel) && rel[i] != '/' {
			continue
		}
		at := fs.FileMode(0o700) // of the folders on the way
		if i == len(rel) {
			at = mode
		}
		fi, err := dir.Lstat(rel[:i])
		if err != nil || fi.Mode()&fs.ModeSymlink != 0 {
			return errors.Join(err, fs.ErrPermission)
		}
		if fi.Mode().Perm()&at == at {
			continue
		}
		if err := dir.Chmod(rel[:i], fi.Mode().Perm()|at); err != nil {
			return err
		}
	}
	return nil
}

func (w *sweep) write(p string, data []byte) bool {
	dir, rel := w.in(p)
	f, err := dir.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err == nil {
		_, err = f.Write(data)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		w.errs = append(w.errs, err)
	}
	return err == nil
}

func exists(p string) bool {
	_, err := os.Lstat(p)
	return err == nil
}

// readFile reads a regular file of at most maxFile bytes, readLinked also one behind a link.
func readFile(p string) ([]byte, error) { return files.Read(p, files.NoLinks, maxFile) }

func readLinked(p string) ([]byte, error) { return files.Read(p, files.FollowLinks, maxFile) }
