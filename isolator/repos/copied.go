package repos

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
)

// How much of something is compared with what was there before the run.
const (
	maxCopied      = 1000    // files and folders
	maxCopiedBytes = 4 << 20 // of one file
	maxAdded       = 16      // entries that are moved aside one by one
)

// copied reports whether p, in a work tree that the box made, is what lies at the same path
// of a root and was there before the run, byte for byte: a checkout of what git tracks.
// Tools obey it there already. Links are not followed and make it another one.
func (w *sweep) copied(p string) bool {
	r, original := w.original(p)
	left := maxCopied
	return r != nil && equal(r.dir, original, p[len(r.path)+1:], &left)
}

// original returns the place of p in the work tree at a root, relative to it, if p is in another
// work tree and something was there before the run.
func (w *sweep) original(p string) (*root, string) {
	r, original := w.place(p)
	if r == nil || !lies(r.path+"/"+original, w.Before) {
		return nil, ""
	}
	return r, original
}

// place returns the same path in the work tree at a root, relative to it, whatever is there.
func (w *sweep) place(p string) (*root, string) {
	for i := range w.roots {
		r := &w.roots[i]
		for top := filepath.Dir(p); strings.HasPrefix(top, r.path+"/"); top = filepath.Dir(top) {
			if exists(top + "/.git") {
				return r, strings.TrimPrefix(p, top+"/")
			}
		}
	}
	return nil, ""
}

// entriesAside moves aside what the box added to a folder that is a checkout otherwise, as
// Claude Code adds settings of the project to a new work tree. It reports whether the rest
// may stay.
func (w *sweep) entriesAside(p, tool string) bool {
	if r, _ := w.original(p); r == nil {
		return false
	}
	entries, err := os.ReadDir(p)
	if err != nil {
		return false
	}
	added := slices.DeleteFunc(entries, func(e os.DirEntry) bool { return w.copied(p + "/" + e.Name()) })
	if len(added) > maxAdded || len(added) == len(entries) {
		return false
	}
	for _, e := range added {
		if w.removeCopy(p + "/" + e.Name()) {
			continue
		}
		if !w.entryAside(p+"/"+e.Name(), tool, e.IsDir()) {
			return false
		}
	}
	return true
}

// removeCopy removes a file that is no more than what the box keeps a copy of anyway.
func (w *sweep) removeCopy(p string) bool {
	r, original := w.place(p)
	if r == nil {
		return false
	}
	rel := p[len(r.path)+1:]
	kept, err := files.Read(w.Copies[r.path+"/"+original], files.NoLinks, maxCopiedBytes)
	fi, err2 := r.dir.Lstat(rel)
	if errors.Join(err, err2) != nil || !fi.Mode().IsRegular() || fi.Size() != int64(len(kept)) {
		return false
	}
	is, err := r.dir.ReadFile(rel)
	return err == nil && bytes.Equal(kept, is) && r.dir.Remove(rel) == nil
}

// equal compares two places below a root. One that is a folder may hold fewer entries than
// the original.
func equal(root *os.Root, original, p string, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	was, err := root.Lstat(original)
	is, err2 := root.Lstat(p)
	if err != nil || err2 != nil || was.Mode().Type() != is.Mode().Type() {
		return false
	}
	switch {
	case is.IsDir():
		return equalFolders(root, original, p, left)
	case is.Mode().IsRegular():
		more := is.Mode().Perm() &^ was.Mode().Perm() & 0o111 // git runs a hook that is executable
		return more == 0 && was.Size() == is.Size() && is.Size() <= maxCopiedBytes && equalFiles(root, original, p)
	}
	return false
}

func equalFiles(root *os.Root, original, p string) bool {
	a, errA := root.ReadFile(original)
	b, errB := root.ReadFile(p)
	return errors.Join(errA, errB) == nil && bytes.Equal(a, b)
}

func equalFolders(root *os.Root, original, p string, left *int) bool {
	f, err := root.Open(p)
	if err != nil {
		return false
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	return err == nil && !slices.ContainsFunc(names, func(name string) bool { return !equal(root, original+"/"+name, p+"/"+name, left) })
}
