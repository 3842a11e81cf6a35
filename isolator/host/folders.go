package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Folders remembers what folders hold, so that each is read once for a run.
type Folders struct{ read map[string]*folder }

// NewFolders returns a memory that is empty.
func NewFolders() *Folders { return &Folders{map[string]*folder{}} }

// folder is what a folder holds.
type folder struct {
	entries []fs.DirEntry   // sorted; what could be read
	known   bool            // all of it was read, or there is no such folder
	lower   map[string]bool // the names in lower case; nil until somebody asks
}

func (f *Folders) folder(dir string) *folder {
	if seen, ok := f.read[dir]; ok {
		return seen
	}
	in := new(folder)
	var err error
	in.entries, err = os.ReadDir(dir)
	in.known = err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	f.read[dir] = in
	return in
}

// list returns what a folder holds, sorted; nothing when it cannot be read.
func (f *Folders) list(dir string) []fs.DirEntry { return f.folder(dir).entries }

// Names returns the names in a folder, in lower case since some file systems do not tell case,
// and whether it is known that there are no others.
func (f *Folders) Names(dir string) (names map[string]bool, known bool) {
	in := f.folder(dir)
	if in.lower == nil {
		in.lower = make(map[string]bool, len(in.entries))
		for _, e := range in.entries {
			in.lower[strings.ToLower(e.Name())] = true
		}
	}
	return in.lower, in.known
}

// Lacks reports whether nothing is at a path, as far as that is known without looking.
func (f *Folders) Lacks(path string) bool {
	dir, base := split(path)
	in := f.read[dir]
	return in != nil && in.known && in.lower != nil && !in.lower[strings.ToLower(base)]
}

// Children lists what is in a folder, by name.
func Children(dir string) ([]Child, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	return children(dir, list)
}

func children(dir string, list []fs.DirEntry) (out []Child, err error) {
	for _, e := range list {
		c := Child{Name: e.Name(), Kind: kindOf(e.Type())}
		if e.Type()&fs.ModeSymlink != 0 {
			if c.Target, err = os.Readlink(filepath.Join(dir, c.Name)); err != nil {
				return nil, err
			}
			c.Kind = Link
		}
		out = append(out, c)
	}
	return out, nil
}

// published reports whether a folder of that name holds other people's packages
// or build results.
func published(name string) bool {
	switch name {
	case "node_modules", "vendor", "target", "dist", "build", ".venv", "venv", "__pycache__", ".cache", ".tox", "site-packages":
		return true
	}
	return false
}
