package repos

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// How much of something is compared with what was there before the run.
const (
	maxCopied      = 1000    // files and folders
	maxCopiedBytes = 4 << 20 // of one file
)

// copied reports whether p, in a work tree that the box made, is what lies at the same path
// of a root and was there before the run, byte for byte: a checkout of what git tracks.
// Tools obey it there already. Links are not followed and make it another one.
func (w *sweep) copied(p string) bool {
	for _, r := range w.roots {
		for top := filepath.Dir(p); strings.HasPrefix(top, r.path+"/"); top = filepath.Dir(top) {
			if !exists(top + "/.git") {
				continue
			}
			original := r.path + strings.TrimPrefix(p, top)
			if !lies(original, w.Before) {
				break
			}
			left := maxCopied
			if equal(r.dir, original[len(r.path)+1:], p[len(r.path)+1:], &left) {
				return true
			}
			break
		}
	}
	return false
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
		f, err := root.Open(p)
		if err != nil {
			return false
		}
		names, err := f.Readdirnames(-1)
		if f.Close(); err != nil {
			return false
		}
		for _, name := range names {
			if !equal(root, original+"/"+name, p+"/"+name, left) {
				return false
			}
		}
		return true
	case is.Mode().IsRegular():
		more := is.Mode().Perm() &^ was.Mode().Perm() & 0o111 // git runs a hook that is executable
		if more != 0 || was.Size() != is.Size() || is.Size() > maxCopiedBytes {
			return false
		}
		a, err := root.ReadFile(original)
		b, err2 := root.ReadFile(p)
		return errors.Join(err, err2) == nil && bytes.Equal(a, b)
	}
	return false
}
