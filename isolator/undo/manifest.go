package undo

import (
	"encoding/binary"
	"hash/crc32"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/git/index"
)

// Entry is a path of a project as it was looked at. A folder has no ID; the ID of a link is that of its target as text.
// A file without one is left out.
type Entry struct {
	copytree.State
	ID index.ID
}

// tree is a project: what is in each folder, by the folder's path. A folder that is left out is none of them.
type tree struct {
	sure    int64 // of files that changed before that, in nanoseconds, the state tells the content
	folders map[string]listing
	written bool // it is what the manifest says
}

// listing is what is in a folder, in the order of the folder, as a manifest has it: so an unchanged folder is one
// comparison of two texts, and nothing of it is made anew.
type listing struct {
	states string // for each entry stateBytes, the name and a NUL
	ids    string // for each entry idBytes
}

const (
	stateBytes = 36
	idBytes    = len(index.ID{})
)

// withoutID counts the entries that have none.
func (l listing) withoutID() (n int) {
	for id := range slices.Chunk([]byte(l.ids), idBytes) {
		if index.ID(id) == (index.ID{}) {
			n++
		}
	}
	return n
}

func appendState(out []byte, name string, s copytree.State) []byte {
	out = binary.LittleEndian.AppendUint32(out, uint32(s.Mode))
	for _, n := range []uint64{s.Ino, uint64(s.Size), uint64(s.Mtime), uint64(s.Ctime)} {
		out = binary.LittleEndian.AppendUint64(out, n)
	}
	return append(append(out, name...), 0)
}

// all yields the names of a listing with their entries.
func (l listing) all() iter.Seq2[string, Entry] {
	return func(yield func(string, Entry) bool) {
		ids := l.ids
		for rest := l.states; rest != ""; {
			word := func(i int) uint64 { return binary.LittleEndian.Uint64([]byte(rest[4+8*i:][:8])) }
			var e Entry
			e.Mode = fs.FileMode(binary.LittleEndian.Uint32([]byte(rest[:4])))
			e.Ino, e.Size, e.Mtime, e.Ctime = word(0), int64(word(1)), int64(word(2)), int64(word(3))
			copy(e.ID[:], ids)
			name, tail, _ := strings.Cut(rest[stateBytes:], "\x00")
			if !yield(name, e) {
				return
			}
			rest, ids = tail, ids[idBytes:]
		}
	}
}

// without reports whether the tree has of an entry no more than that it is there.
func (t tree) without(rel string, e Entry) bool {
	if e.Mode.IsDir() {
		_, ok := t.folders[rel]
		return !ok
	}
	return e.Mode != 0 && e.ID == index.ID{}
}

// leftOut reports whether a folder that the tree does not have is one that it leaves out, or in one.
func (t tree) leftOut(dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		if l, ok := t.folders[path.Dir(dir)]; ok {
			for name, e := range l.all() {
				if name == path.Base(dir) {
					return e.Mode.IsDir()
				}
			}
			return false
		}
	}
	return false
}

// different returns what two trees differ in, by path; apart from that what was left out and is not the same,
// and what is new and left out.
func different(before, after tree) (list []Change, missed map[string][2]Entry) {
	missed = map[string][2]Entry{}
	folders := maps.Clone(before.folders)
	maps.Copy(folders, after.folders)
	for dir := range folders {
		was, known := before.folders[dir]
		if now, ok := after.folders[dir]; (was != now || known != ok) && (known || !before.leftOut(dir)) {
			a, b := maps.Collect(was.all()), maps.Collect(now.all())
			names := maps.Clone(a)
			maps.Copy(names, b)
			for name := range names {
				was, is, rel := a[name], b[name], path.Join(dir, name)
				left := before.without(rel, was) || was.Mode == 0 && after.without(rel, is)
				switch {
				case left && (was.State != is.State && (was.Mode&is.Mode&fs.ModeIrregular == 0 || was.Ino != is.Ino)):
					missed[rel] = [2]Entry{was, is}
				case !left && (was.ID != is.ID || was.Mode != is.Mode):
					list = append(list, Change{Path(rel), StateOf(was), StateOf(is)})
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b Change) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return list, missed
}

// A manifest is a tree as a file: a line of text with the version and a sum of what follows, the time up to which it is
// sure, and for each folder its path and its listing, each with its length before it.
const manifestMark = "inner undo 2\n"

// sum32 is what a manifest is checked by.
func sum32(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// readManifest reads a manifest. One that is not there, damaged or of another version knows nothing.
func readManifest(name string) tree {
	data, err := os.ReadFile(name)
	text, ours := strings.CutPrefix(string(data), manifestMark)
	if err != nil || !ours || len(text) < 12 || binary.LittleEndian.Uint32(data[len(manifestMark):]) != sum32(data[len(manifestMark)+4:]) {
		return tree{}
	}
	t := tree{int64(binary.LittleEndian.Uint64([]byte(text[4:12]))), map[string]listing{}, true}
	text = text[12:]
	next := func() (part string) {
		n := binary.LittleEndian.Uint32([]byte(text[:4]))
		part, text = text[4:4+n], text[4+n:]
		return part
	}
	for text != "" {
		t.folders[next()] = listing{next(), next()}
	}
	return t
}

// write writes a manifest, whole or not at all.
func (t tree) write(name string) error {
	out := binary.LittleEndian.AppendUint64([]byte(manifestMark+"    "), uint64(t.sure))
	for dir, l := range t.folders {
		for _, part := range []string{dir, l.states, l.ids} {
			out = append(binary.LittleEndian.AppendUint32(out, uint32(len(part))), part...)
		}
	}
	sum := out[len(manifestMark):]
	binary.LittleEndian.PutUint32(sum, sum32(sum[4:]))
	return files.Replace(name, out, 0o600)
}
