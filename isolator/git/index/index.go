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
// Of what an index holds, entries alone come. All else (cached trees, resolved conflicts, untracked
// cache, file system monitor, offsets for threads) git makes again or does without. Bytes writes
// every byte anew, so that no reader can see in the result what Parse did not see in the input.
//
// Git looks at a file again unless the index is younger. Whoever writes the result therefore
// gives the file the time at which the box wrote its own, by the clock of the kernel.
//
// The package reads no file, but for TimesTrue. It knows SHA-1 only.
package index

import (
	"cmp"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ID is the name of an object.
type ID [sha1.Size]byte

// Index is what an index file holds.
//
// Source: gitformat-index(5) and read-cache.c, of git 2.39.
type Index struct {
	Entries []Entry
	// Partial says that entries are missing: they are in another file (a split index), or a
	// folder stands for them (a sparse one). Git makes such an index whole.
	Partial bool
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
	return cmp.Or(strings.Compare(a.Name, b.Name), a.Stage()-b.Stage())
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
	out := make([]byte, 0, 128*(len(x.Entries)+8))
	out = append(out, "DIRC\x00\x00\x00\x02"...)
	if slices.ContainsFunc(x.Entries, func(e Entry) bool { return e.Extra != 0 }) {
		out[7] = 3
	}
	out = binary.BigEndian.AppendUint32(out, uint32(len(x.Entries)))
	for i := range x.Entries {
		out = x.Entries[i].append(out)
	}
	end := len(out)
	out = append(out, "EOIE\x00\x00\x00\x18"...)
	out = binary.BigEndian.AppendUint32(out, uint32(end))
	types := sha1.Sum(nil) // of the extensions before this one
	out = append(out, types[:]...)
	sum := sha1.Sum(out)
	return append(out, sum[:]...)
}

// append writes an entry, a multiple of eight bytes with a NUL at least.
func (e *Entry) append(out []byte) []byte {
	at := len(out)
	out = append(out, e.Stat[:]...)
	out = append(out, e.ID[:]...)
	flags := e.Flags | uint16(min(len(e.Name), nameMask))
	if e.Extra != 0 {
		out = binary.BigEndian.AppendUint16(out, flags|extended)
		flags = e.Extra
	}
	out = append(binary.BigEndian.AppendUint16(out, flags), e.Name...)
	return append(out, make([]byte, 8-(len(out)-at)%8)...)
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

// BlobID is the name of a file with this content.
func BlobID(content []byte) ID {
	return sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(content)), content...))
}
