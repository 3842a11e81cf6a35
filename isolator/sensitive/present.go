package sensitive

import "strings"

// A home holds a few dozen of the two thousand places of the table, and most of the others
// lie in six folders: what these hold tells sooner than asking for each place.

// folder is what is known of one folder of a run.
type folder struct {
	path  string
	known bool
	names map[string]bool    // in lower case
	below map[string]*folder // those of deeper that were asked about
}

// present reports whether a place below a folder may be there.
func (s Site) present(dir, rest string) bool {
	if s.Names == nil {
		return true
	}
	f := s.folders[dir]
	if f == nil {
		f = s.newFolder(dir)
		s.folders[dir] = f
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
			next = s.newFolder(f.path + "/" + name)
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

func (s Site) newFolder(path string) *folder {
	f := &folder{path: path}
	f.names, f.known = s.Names(path)
	return f
}
