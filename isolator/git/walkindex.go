package git

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"strings"
)

// indexReader reads the entries of an index one after the other, in little memory, whatever the index claims to hold.
//
// Source: gitformat-index(5); read-cache.c of git 2.39, create_from_disk.
type indexReader struct {
	r       *bufio.Reader
	at      int64
	hash    int
	version uint32
	name    []byte // of the entry before, which the next one of version 4 needs
}

// rawEntry is an entry as it is in the file.
type rawEntry struct {
	mode  uint32
	flags uint16
	name  []byte // until the next one is read
}

// What of the bytes of an entry is used here (gitformat-index(5)).
const (
	statBytes      = 40
	flagExtended   = 0x4000
	flagName       = 0x0fff
	modeFile       = 0o100644
	modeExecutable = 0o100755
	modeLink       = 0o120000
	modeGitlink    = 0o160000
	maxPathName    = 4095
)

// maxEntryName is the longest name that is read. Git reads longer ones, and nothing can be at
// one.
const maxEntryName = 4 << 20

var (
	errNoIndex = errors.New("not an index that git 2.39 writes")
	errCutOff  = errors.New("it is cut off")
	errFolder  = errors.New("it has folders in the place of files")
	errTooMany = errors.New("too many extensions")
)

// newIndexReader reads the header of an index, and returns how many entries it announces.
func newIndexReader(from io.Reader, hashLen int) (r *indexReader, count int, err error) {
	r = &indexReader{r: bufio.NewReaderSize(from, 64<<10), hash: hashLen}
	head := r.take(12)
	if head == nil || string(head[:4]) != "DIRC" {
		return nil, 0, errNoIndex
	}
	r.version = binary.BigEndian.Uint32(head[4:])
	if r.version < 2 || r.version > 4 {
		return nil, 0, errNoIndex
	}
	return r, int(binary.BigEndian.Uint32(head[8:])), nil
}

// next reads an entry. One that stands for a whole folder comes with errFolder.
func (r *indexReader) next() (e rawEntry, err error) {
	start := r.at
	fixed := r.take(statBytes + r.hash + 2)
	if fixed == nil {
		return e, errCutOff
	}
	e.mode = binary.BigEndian.Uint32(fixed[24:])
	e.flags = binary.BigEndian.Uint16(fixed[statBytes+r.hash:])
	if e.flags&flagExtended != 0 && r.take(2) == nil {
		return e, errCutOff
	}
	if e.name, err = r.path(); err != nil {
		return e, err
	}
	// Git goes by this length, and would find the next entry elsewhere.
	if int(e.flags&flagName) != min(len(e.name), flagName) {
		return e, errors.New("a name of another length than it says")
	}
	if pad := (start - r.at) & 7; r.version < 4 && r.take(int(pad)) == nil { // an entry is a multiple of eight
		return e, errCutOff
	}
	switch e.mode {
	case modeFile, modeExecutable, modeLink, modeGitlink:
		return e, nil
	case 0o040000:
		return e, errFolder
	}
	return e, errors.New("an unknown mode")
}

// path reads the name of an entry and the NUL after it. In version 4 it says what of the name before goes, and what is
// added.
func (r *indexReader) path() ([]byte, error) {
	keep := 0
	if r.version == 4 {
		drop := r.offset()
		if drop < 0 || drop > len(r.name) {
			return nil, errCutOff
		}
		keep = len(r.name) - drop
	}
	r.name = r.name[:keep]
	for {
		part, err := r.r.ReadSlice(0)
		r.at += int64(len(part))
		if len(r.name)+len(part) > maxEntryName || err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, errors.New("a name without an end")
		}
		if r.name = append(r.name, part...); err == nil {
			r.name = r.name[:len(r.name)-1]
			return r.name, nil
		}
	}
}

// take returns the next bytes, until the next call, or nil.
func (r *indexReader) take(n int) []byte {
	part, err := r.r.Peek(n)
	if err != nil {
		return nil
	}
	_, _ = r.r.Discard(n) // they are there
	r.at += int64(n)
	return part
}

// offset reads a number as packs have them (varint.c, decode_varint), or returns -1.
func (r *indexReader) offset() int {
	v := 0
	for range 5 {
		b := r.take(1)
		if b == nil {
			return -1
		}
		v = v<<7 | int(b[0]&0x7f)
		if b[0]&0x80 == 0 {
			return v
		}
		v++
	}
	return -1
}

// maxExtensions is how many are looked at; git has nine kinds.
const maxExtensions = 64

// eachExtension calls found for what follows the entries, with the name and the place of the content. It returns where
// the last one ends.
func eachExtension(f io.ReaderAt, at, size int64, found func(name string, at int64) error) (end int64, err error) {
	var head [8]byte
	for n := 0; at+8 <= size; n++ {
		if _, err := f.ReadAt(head[:], at); err != nil || n == maxExtensions {
			return at, errors.Join(err, errTooMany)
		}
		if err := found(string(head[:4]), at+8); err != nil {
			return at, err
		}
		at += 8 + int64(binary.BigEndian.Uint32(head[4:]))
	}
	return at, nil
}

// Indexed is what is known of an index besides its entries.
type Indexed struct {
	Whole  bool   // it was read as git reads it, to its end
	Sparse bool   // folders stand for what is in them
	Shared string // what the name of the file with the rest ends with (a split index), "" when there is none
}

// WalkIndex reads an index as git does, in little memory and once, whatever it claims to hold. It calls found with each
// name that can be a path, and whether the repository of another is there (a gitlink). The entries of a split index can
// have no name.
func WalkIndex(f *io.SectionReader, hashLen int, found func(gitlink bool, name []byte)) (x Indexed) {
	r, count, err := newIndexReader(f, hashLen)
	if err != nil || int64(count) > f.Size()/(statBytes/2) {
		return x
	}
	for range count {
		e, err := r.next()
		if x.Sparse = x.Sparse || errors.Is(err, errFolder); err != nil && !errors.Is(err, errFolder) {
			return x
		}
		if len(e.name) <= maxPathName {
			found(e.mode == modeGitlink, e.name)
		}
	}
	_, err = eachExtension(f, r.at, f.Size()-int64(hashLen), func(name string, at int64) error {
		switch name {
		case "link":
			sum := make([]byte, hashLen)
			if _, err := f.ReadAt(sum, at); err != nil {
				return err
			}
			if x.Shared = hex.EncodeToString(sum); strings.Trim(x.Shared, "0") == "" {
				x.Shared = "" // git takes it for no split index
			}
		case "sdir": // a folder stands for what is in it
			x.Sparse = true
		}
		return nil
	})
	x.Whole = err == nil
	return x
}
