package sensitive

import "strings"

// A home holds a few dozen of the two thousand places of the table, and most of the others
// lie in six folders: what these hold tells sooner than asking for each place.

// folder is what is known of one folder of a run.
type folder struct {
	path  string
	known bool
	names map[string]bool    // in lower case
	marks marks              // of the names
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
		if f.known && !(f.marks.may(name) && f.names[strings.ToLower(name)]) {
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
	for name := range f.names {
		f.marks.add(name)
	}
	return f
}

// marks is a set of names that errs on the side of being larger: it costs a tenth of asking
// a map, and nearly every name that is asked for is in no folder.
type marks [8]uint64

// markOf is the place of a name in a set; ok is false where the case of a letter can change
// its bytes.
func markOf(name string) (place uint, ok bool) {
	first, last := name[0], name[len(name)-1]
	second := name[min(1, len(name)-1)]
	if first|second|last >= 0x80 {
		return 0, false
	}
	return (uint(lower(first)) + uint(lower(second))*7 + uint(lower(last))*61) % 512, true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func (m *marks) add(name string) {
	if name == "" {
		return
	}
	if place, ok := markOf(name); ok {
		m[place/64] |= 1 << (place % 64)
	}
}

// may reports whether a name may be in the set.
func (m *marks) may(name string) bool {
	place, ok := markOf(name)
	return !ok || m[place/64]&(1<<(place%64)) != 0
}
