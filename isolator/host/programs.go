package host

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
)

// Program is a file that is run when somebody types Name.
type Program struct {
	Name string `json:"name"`
	// Files are the real paths of the file: more than one when it has hard links.
	Files []string `json:"files"`
	// Names are all the names in the folders that lead to the file, sorted.
	Names []string `json:"names"`
	// Copy says that Name is only a version of the name that was asked about, and
	// that the file is byte by byte the same: pip3 for pip.
	Copy bool `json:"copy,omitempty"`
}

// largestCopy bounds what is compared: copies under another name are scripts.
const largestCopy = 1 << 20

// executable is a file that programs are called by.
type executable struct {
	size  int64
	paths []string // as found
	names []string
}

// program is the file, called by that name.
func (f *executable) program(name string, again bool) Program {
	p := Program{Name: name, Names: slices.Sorted(slices.Values(f.names)), Copy: again}
	for _, path := range f.paths {
		if real, err := filepath.EvalSymlinks(path); err == nil && !slices.Contains(p.Files, real) {
			p.Files = append(p.Files, real)
		}
	}
	return p
}

// findPrograms looks for names in folders, as a shell does, and for every other
// name that leads to the same files. Files below the folders skip do not count.
func findPrograms(dirs, names, skip []string) (out []Program) {
	if len(names) == 0 {
		return nil
	}
	files := executables(dirs, names, skip)
	for _, name := range names {
		var found []*executable
		for _, f := range files {
			if slices.Contains(f.names, name) {
				found = append(found, f)
				out = append(out, f.program(name, false))
			}
		}
		for _, f := range files {
			i := slices.IndexFunc(f.names, func(n string) bool { return n != name && Stem(n) == Stem(name) })
			if i >= 0 && !slices.Contains(found, f) && slices.ContainsFunc(found, f.copies) {
				out = append(out, f.program(f.names[i], true))
			}
		}
	}
	return out
}

// copies reports whether two programs are the same, byte by byte.
func (f *executable) copies(o *executable) bool {
	return f.size == o.size && equal(o.paths[0], f.paths[0], f.size)
}

// executables returns those in the folders, in the order in which a shell finds them.
func executables(dirs, names, skip []string) (order []*executable) {
	files := map[ID]*executable{}
	for _, real := range realFolders(dirs, skip) {
		for _, base := range listed(real, names) {
			path := filepath.Join(real, base)
			fi, err := os.Stat(path)
			if err != nil || !fi.Mode().IsRegular() || fi.Mode().Perm()&0o111 == 0 {
				continue
			}
			f := files[idOf(fi)]
			if f == nil {
				f = &executable{size: fi.Size()}
				files[idOf(fi)] = f
				order = append(order, f)
			}
			f.paths = append(f.paths, path)
			if !slices.Contains(f.names, base) {
				f.names = append(f.names, base)
			}
		}
	}
	return order
}

// realFolders returns the real paths of folders, each once, without those below skip.
func realFolders(dirs, skip []string) (out []string) {
	for _, dir := range dirs {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil && !slices.Contains(out, real) && !slices.ContainsFunc(skip, func(s string) bool { return paths.Below(s, real) }) {
			out = append(out, real)
		}
	}
	return out
}

// listed returns what is in a folder; of one that cannot be listed, the names that
// may be there all the same.
func listed(dir string, names []string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return names
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// Stem is a program's name without the version at its end: pip for pip3.11 and
// pip-3.
func Stem(name string) string {
	s := strings.TrimRight(name, "0123456789.")
	if s != name {
		s = strings.TrimSuffix(s, "-")
	}
	if s == "" {
		return name
	}
	return s
}

// equal compares two programs of one size.
func equal(a, b string, size int64) bool {
	if size > largestCopy {
		return false
	}
	x, errX := files.Read(a, files.FollowLinks, largestCopy)
	y, errY := files.Read(b, files.FollowLinks, largestCopy)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
