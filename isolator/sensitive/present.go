package sensitive

import (
	"strings"

	"github.com/enr/inner/internal/paths"
)

// A home holds a few dozen of the two thousand places of the table, and most of the others
// lie in six folders: what these hold tells sooner than asking for each place.

// folder is what is known of one folder of a run.
type folder struct {
	path  string
	look  func(dir string) (map[string]bool, bool) // Run.Names
	known bool
	names map[string]bool    // in lower case
	below map[string]*folder // those of deeper that were asked about
}

// folder returns what is known of a folder that places of the table may lie in.
func (s *Site) folder(path string) *folder {
	if s.Names == nil {
		return &folder{path: path}
	}
	f := s.folders[path]
	if f == nil {
		f = newFolder(path, s.Names)
		s.folders[path] = f
	}
	return f
}

func newFolder(path string, look func(string) (map[string]bool, bool)) *folder {
	f := &folder{path: path, look: look}
	f.names, f.known = look(path)
	return f
}

// mayHold reports whether a place below the folder may be there.
func (f *folder) mayHold(rest string) bool {
	if f.look == nil {
		return true
	}
	for {
		name, more, deeper := strings.Cut(rest, "/")
		if IsPattern(name) || name == "" {
			return true
		}
		if f.known && !f.names[strings.ToLower(name)] {
			return false
		}
		if !deeper || !holdsOthers(name) {
			return true
		}
		next := f.below[name]
		if next == nil {
			next = newFolder(paths.Join(f.path, name), f.look)
			if f.below == nil {
				f.below = map[string]*folder{}
			}
			f.below[name] = next
		}
		f, rest = next, more
	}
}

// holdsOthers reports whether a folder of that name holds many places of the table.
func holdsOthers(name string) bool {
	switch name {
	case ".config", ".cache", ".local", "share", "state":
		return true
	}
	return false
}
