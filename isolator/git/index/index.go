// Package index reads an index of git, and makes what a box wrote into what the host's index
// becomes. Git outside believes an index: that a file with these times has this content, that
// these entries make that tree, that a folder is the repository of another. A box that may write
// one could hide its changes, put other ones into the host's next commit, or have git run what a
// folder of its own says. Check lets nothing of that through:
//
//	box, err := index.Parse(written)
//	checked, err := index.Check(box, host, rules)
//	// checked.Blobs come over, then checked.Index.Bytes() takes the place of the host's index.
//
// What an index holds besides entries is kept only where it is understood: cached trees and
// resolve-undo. All others (untracked cache, file system monitor, offsets for threads) are caches
// that git makes again. Bytes writes every byte anew, so that no reader can see in the result
// what Parse did not see in the input.
//
// Git looks at a file again unless the index is younger. Whoever writes the result therefore
// gives the file the time at which the box wrote its own, by the clock of the kernel: an mtime
// that the box could choose counts only where it is older than the ctime.
//
// The package reads no file, but for TimesTrue. It knows SHA-1 only.
package index

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
)

// ID is the name of an object.
type ID [sha1.Size]byte

// Index is what an index file holds.
//
// Source: gitformat-index(5) and read-cache.c, of git 2.39.
type Index struct {
	Version uint32 // 2, 3 or 4
	Entries []Entry
	// Partial says that entries are missing: they are in another file (a split index), or a
	// folder stands for them (a sparse one). Git makes such an index whole.
	Partial bool

	trees []byte // the extension TREE, nil where there is none
	undo  []byte // the extension REUC
}

// Entry is a path of an index.
type Entry struct {
	Stat  [statBytes]byte // what lstat(2) said of the file, and the mode, as in the file of the index
	ID    ID
	Flags uint16 // without the length of the name
	Extra uint16
	Name  string
}

const (
	statBytes  = 40
	modeAt     = 24 // in Stat
	fixedBytes = statBytes + len(ID{}) + 2

	assumeValid  = 0x8000 // in Flags
	extended     = 0x4000
	stageMask    = 0x3000
	nameMask     = 0x0fff
	skipWorktree = 0x4000 // in Extra
	intentToAdd  = 0x2000

	modeFile       = 0o100644
	modeExecutable = 0o100755
	modeLink       = 0o120000
	modeGitlink    = 0o160000
	modeFolder     = 0o040000 // of a sparse index
)

var errPartial = errors.New("index: it is split or sparse, and git has not made it whole")

// Mode returns what the entry is, as git has it in trees.
func (e *Entry) Mode() uint32 { return binary.BigEndian.Uint32(e.Stat[modeAt:]) }

// Stage returns 0, or which side of a conflict the entry is.
func (e *Entry) Stage() int { return int(e.Flags & stageMask >> 12) }

// withoutTimes returns Stat as git has it of a file that it never looked at.
func (e *Entry) withoutTimes() (stat [statBytes]byte) {
	copy(stat[modeAt:], e.Stat[modeAt:modeAt+4])
	return stat
}

// compare orders entries as an index has them.
func compare(a, b *Entry) int {
	switch {
	case a.Name < b.Name:
		return -1
	case a.Name > b.Name:
		return 1
	}
	return a.Stage() - b.Stage()
}

// at returns the entries of a path: one of stage 0, or some of 1 to 3.
func (x *Index) at(path string) []Entry {
	first, _ := slices.BinarySearchFunc(x.Entries, Entry{Name: path}, func(a, b Entry) int { return compare(&a, &b) })
	last := first
	for last < len(x.Entries) && x.Entries[last].Name == path {
		last++
	}
	return x.Entries[first:last]
}

// Bytes returns the file of an index. Its last extension, the place where the entries end, is
// always there: git with threads looks for it at the end, and would otherwise take for it what an
// entry or an extension was made to end with.
func (x *Index) Bytes() []byte {
	version := x.version()
	out := make([]byte, 0, 128*(len(x.Entries)+8)+len(x.trees)+len(x.undo))
	out = append(out, "DIRC"...)
	out = binary.BigEndian.AppendUint32(out, version)
	out = binary.BigEndian.AppendUint32(out, uint32(len(x.Entries)))
	before := ""
	for i := range x.Entries {
		e := &x.Entries[i]
		if version == 4 {
			out = e.appendShort(out, before)
			before = e.Name
		} else {
			out = e.appendPadded(out)
		}
	}
	end := len(out)
	types := sha1.New()
	for _, extension := range []struct {
		name    string
		content []byte
	}{{"TREE", x.trees}, {"REUC", x.undo}} {
		if extension.content != nil {
			at := len(out)
			out = append(out, extension.name...)
			out = binary.BigEndian.AppendUint32(out, uint32(len(extension.content)))
			types.Write(out[at:])
			out = append(out, extension.content...)
		}
	}
	out = append(out, "EOIE\x00\x00\x00\x18"...)
	out = binary.BigEndian.AppendUint32(out, uint32(end))
	out = types.Sum(out)
	sum := sha1.Sum(out)
	return append(out, sum[:]...)
}

// version returns the one that the entries need; the short form stays short.
func (x *Index) version() uint32 {
	if x.Version == 4 {
		return 4
	}
	for i := range x.Entries {
		if x.Entries[i].Extra != 0 {
			return 3
		}
	}
	return 2
}

// appendFixed writes what comes before the name.
func (e *Entry) appendFixed(out []byte) []byte {
	out = append(out, e.Stat[:]...)
	out = append(out, e.ID[:]...)
	flags := e.Flags | uint16(min(len(e.Name), nameMask))
	if e.Extra == 0 {
		return binary.BigEndian.AppendUint16(out, flags)
	}
	out = binary.BigEndian.AppendUint16(out, flags|extended)
	return binary.BigEndian.AppendUint16(out, e.Extra)
}

// appendPadded writes an entry of version 2 or 3, a multiple of eight bytes with a NUL at least.
func (e *Entry) appendPadded(out []byte) []byte {
	at := len(out)
	out = append(e.appendFixed(out), e.Name...)
	return append(out, make([]byte, 8-(len(out)-at)%8)...)
}

// appendShort writes an entry of version 4: how much of the name before goes, and what is added.
func (e *Entry) appendShort(out []byte, before string) []byte {
	same := commonPrefix(before, e.Name)
	out = appendOffset(e.appendFixed(out), len(before)-same)
	return append(append(out, e.Name[same:]...), 0)
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// appendOffset writes a number as packs have them (varint.c, encode_varint).
func appendOffset(out []byte, n int) []byte {
	var digits [10]byte
	at := len(digits) - 1
	digits[at] = byte(n & 0x7f)
	for n >>= 7; n != 0; n >>= 7 {
		n--
		at--
		digits[at] = 0x80 | byte(n&0x7f)
	}
	return append(out, digits[at:]...)
}

// Served returns the index as a box sees it: of the files that it may not write, which look
// otherwise in the box, git there takes no notice.
func (x *Index) Served(protected func(path string) bool) ([]byte, error) {
	if x.Partial {
		return nil, errPartial
	}
	served := *x
	served.Entries = slices.Clone(x.Entries)
	for i := range served.Entries {
		if e := &served.Entries[i]; e.Stage() == 0 && protected(e.Name) {
			e.Extra |= skipWorktree
		}
	}
	return served.Bytes(), nil
}

// EntryOf returns an entry of a mode in octal and a name in hexadecimal, as git prints them; nil for nothing.
func EntryOf(path, mode, id string) *Entry {
	e := &Entry{Name: path}
	bits, err := strconv.ParseUint(mode, 8, 32)
	if n, errID := hex.Decode(e.ID[:], []byte(id)); err != nil || errID != nil || n != len(e.ID) || bits == 0 {
		return nil
	}
	binary.BigEndian.PutUint32(e.Stat[modeAt:], uint32(bits))
	return e
}
