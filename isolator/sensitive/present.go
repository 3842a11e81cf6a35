package sensitive

import (
	"slices"
	"strings"
)

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

// Mark says where in a home a place of the table is looked for: in which of the folders of
// markedFolders, and where in the set of its names.
type Mark uint16

// unmarked is the mark of what has to be looked for in another way.
const unmarked Mark = 1<<16 - 1

// markedFolders are the folders of a home in which most places of the table lie.
var markedFolders = [...]string{"", ".config", ".cache", ".local", ".local/share", ".local/state"} // allowed: never changed

// MarkOf returns the mark of a path of the table. The table that is generated has it.
func MarkOf(path string) Mark {
	rest, ok := strings.CutPrefix(path, "~/")
	dir := ""
	for ok {
		name, more, deeper := strings.Cut(rest, "/")
		if name == "" || IsPattern(name) {
			break
		}
		if deeper && holdsOthers(name) {
			dir, rest = strings.TrimPrefix(dir+"/"+name, "/"), more
			continue
		}
		at := slices.Index(markedFolders[:], dir)
		if place, plain := markOf(name); plain && at >= 0 {
			return Mark(at)<<9 | Mark(place)
		}
		break
	}
	return unmarked
}

// nearby are the marked folders of one home, as far as they were asked about.
type nearby [len(markedFolders)]*folder

// may reports whether a place with a mark may be in a home. Nearly all are in none.
func (s Site) may(home string, mark Mark) bool {
	if s.Names == nil || mark == unmarked {
		return true
	}
	near := s.near[home]
	if near == nil {
		near = new(nearby)
		s.near[home] = near
	}
	at, place := mark>>9, mark&511
	f := near[at]
	if f == nil {
		f = s.newFolder(strings.TrimSuffix(home+"/"+markedFolders[at], "/"))
		near[at] = f
	}
	return !f.known || f.marks[place/64]&(1<<(place%64)) != 0
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
