package git

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"
)

// The modes an entry of an index has (gitformat-index(5)).
const (
	modeFile       = 0o100644
	modeExecutable = 0o100755
	modeLink       = 0o120000
	modeGitlink    = 0o160000
)

// Flags of an entry.
const (
	flagValid    = 0x8000 // assume-unchanged
	flagExtended = 0x4000
	flagStage    = 0x3000
	flagName     = 0x0fff

	extraSkip   = 0x4000 // skip-worktree
	extraIntent = 0x2000 // intent-to-add
)

const statBytes = 40

// indexEntry is one path of an index.
type indexEntry struct {
	stat  [statBytes]byte // as in the file: times, device, inode, mode, owner, size
	mode  uint32
	oid   string // raw bytes
	flags uint16 // without the length of the name and without flagExtended
	extra uint16
	name  string
}

func (e *indexEntry) stage() int { return int(e.flags&flagStage) >> 12 }

// index is a git index without its extensions.
type index struct {
	entries []indexEntry
}

// errIndexForm is the error for an index that git reads in a way that inner does not know.
var errIndexForm = errors.New("an index in a form that inner does not read (split or sparse)")

// parseIndex reads an index strictly: versions 2 to 4, entries in git's order, nothing
// left over. An extension that changes what the entries mean is an error, all others
// are passed over. Names and hashes are parts of the text, but for names in version 4.
func parseIndex(text string, hashLen int) (*index, error) {
	if len(text) < hashLen {
		return nil, errNoIndex
	}
	body := text[:len(text)-hashLen]
	// index.skipHash writes zeros.
	if sum := text[len(body):]; sum != string(make([]byte, hashLen)) && sum != string(checksum(body, hashLen)) {
		return nil, errors.New("an index that is damaged")
	}
	from := strings.NewReader(body)
	r, count, err := newIndexReader(from, hashLen)
	if err != nil {
		return nil, err
	}
	if count > len(body)/(statBytes+hashLen+2) {
		return nil, errNoIndex
	}
	ix := &index{entries: make([]indexEntry, 0, count)}
	size := 0 // as inner would write it: in version 4 a small file can say a lot
	for i := range count {
		start := int(r.at)
		raw, err := r.next()
		if size += statBytes + hashLen + 12 + len(raw.name); err == nil {
			err = raw.strict(r.version, size)
		}
		if err != nil {
			return nil, fmt.Errorf("entry %d of the index: %w", i, err)
		}
		e := indexEntry{
			stat: raw.stat, mode: raw.mode, flags: raw.flags & (flagValid | flagStage), extra: raw.extra,
			oid: body[start+statBytes : start+statBytes+hashLen],
		}
		if r.version == 4 {
			e.name = string(raw.name)
		} else {
			e.name = body[raw.nameAt : int(raw.nameAt)+len(raw.name)]
		}
		if n := len(ix.entries); n > 0 && !before(&ix.entries[n-1], &e) {
			return nil, fmt.Errorf("entry %d of the index: not in order", i)
		}
		ix.entries = append(ix.entries, e)
	}
	end, err := eachExtension(from, r.at, from.Size(), func(name string, _ int64) error {
		if name[0] < 'A' || name[0] > 'Z' {
			return errIndexForm
		}
		return nil
	})
	if err == nil && end != from.Size() {
		err = errCutOff
	}
	return ix, err
}

// strict refuses an entry of an index that inner does not write anew: size is that of the index so far.
func (e *rawEntry) strict(version uint32, size int) error {
	switch {
	case e.flags&flagExtended != 0 && version < 3:
		return errCutOff
	case e.extra&^(extraSkip|extraIntent) != 0:
		return errors.New("an unknown flag")
	case len(e.name) > maxPathName:
		return errors.New("a name that is too long")
	case size > maxText:
		return errTooLarge
	}
	return nil
}

// before reports whether a comes before b in git's order. It allows no two entries for one path and stage.
func before(a, b *indexEntry) bool {
	if a.name != b.name {
		return a.name < b.name
	}
	return a.stage() != 0 && a.stage() < b.stage()
}

func checksum[T string | []byte](data T, hashLen int) []byte {
	h := newHash(hashLen)
	for len(data) > 0 {
		n := min(len(data), 64<<10) // no second copy of a text
		h.Write([]byte(data[:n]))
		data = data[n:]
	}
	return h.Sum(nil)
}

// newHash is git's hash for names of that many bytes.
func newHash(hashLen int) hash.Hash {
	if hashLen == sha256.Size {
		return sha256.New()
	}
	return sha1.New()
}

// digest returns a hash of the content of an index: paths, objects and flags, but not the cached file
// status, which `git status` outside updates.
func (ix *index) digest() string {
	if ix == nil {
		return ""
	}
	h := sha256.New()
	b := make([]byte, 0, 64<<10)
	for i := range ix.entries {
		e := &ix.entries[i]
		if len(b) > 48<<10 {
			h.Write(b)
			b = b[:0]
		}
		b = binary.BigEndian.AppendUint32(b, e.mode)
		b = binary.BigEndian.AppendUint16(b, e.flags)
		b = binary.BigEndian.AppendUint16(b, e.extra)
		b = append(b, e.oid...)
		b = append(append(b, e.name...), 0)
	}
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil))
}

// gitlinks returns the paths at which the index has other repositories.
func (ix *index) gitlinks() map[string]bool {
	out := map[string]bool{}
	if ix != nil {
		for i := range ix.entries {
			if ix.entries[i].mode == modeGitlink {
				out[ix.entries[i].name] = true
			}
		}
	}
	return out
}

// finder returns a function that finds the entries of another index in this one. It must be called in their order.
func (ix *index) finder() func(*indexEntry) *indexEntry {
	if ix == nil {
		return func(*indexEntry) *indexEntry { return nil }
	}
	at := 0
	return func(e *indexEntry) *indexEntry {
		for at < len(ix.entries) {
			old := &ix.entries[at]
			c := strings.Compare(old.name, e.name)
			if c == 0 {
				c = old.stage() - e.stage()
			}
			if c == 0 {
				return old
			}
			if c > 0 {
				break
			}
			at++
		}
		return nil
	}
}

// fileAndFolder returns an entry that would make a path both a file and a folder, or "".
func (ix *index) fileAndFolder(name string) string {
	for i := range len(name) {
		if name[i] == '/' && ix.any(name[:i]) {
			return name[:i]
		}
	}
	at, _ := slices.BinarySearchFunc(ix.entries, name+"/", func(e indexEntry, want string) int { return strings.Compare(e.name, want) })
	if at < len(ix.entries) && strings.HasPrefix(ix.entries[at].name, name+"/") {
		return ix.entries[at].name
	}
	return ""
}

func (ix *index) any(name string) bool {
	_, ok := slices.BinarySearchFunc(ix.entries, name, func(e indexEntry, want string) int { return strings.Compare(e.name, want) })
	return ok
}

// taken returns the index of a box as the host gets it: a new one, of entries that equal the
// host's own or that are fit for it. An entry that differs gets no times and no size: a box
// could set those of a file that it changed, and the host's git would call that file unchanged.
// sparse says that the host's work tree has only some of the files.
func (ix *index) taken(host *index, hostTime int64, sparse bool) (*index, error) {
	out := &index{entries: make([]indexEntry, 0, len(ix.entries))}
	find := host.finder()
	for i := range ix.entries {
		e := ix.entries[i]
		old := find(&ix.entries[i])
		e.flags &^= flagValid
		if old != nil && old.mode == e.mode && old.oid == e.oid {
			e.flags |= old.flags & flagValid
			e.stat = old.stat
			if racy(&e, hostTime) {
				e.forget()
			}
		} else {
			if err := ix.unfit(&e); err != nil {
				return nil, err
			}
			e.forget()
		}
		if e.extra&extraSkip != 0 && !sparse && (old == nil || old.extra&extraSkip == 0) {
			e.extra &^= extraSkip
		}
		out.entries = append(out.entries, e)
	}
	return out, nil
}

// unfit says why an entry that the host's index does not have may not be in it.
func (ix *index) unfit(e *indexEntry) error {
	if why := treePath(e.name); why != "" {
		return fmt.Errorf("%q %s", e.name, why)
	}
	if e.mode == modeLink && settingsFile(e.name) {
		return fmt.Errorf("%q is a link, and git reads settings from it", e.name)
	}
	if other := ix.fileAndFolder(e.name); other != "" {
		return fmt.Errorf("%q is in a folder that %q says is a file", e.name, other)
	}
	return nil
}

// forget drops the cached status of a file, so that git looks at the file again.
func (e *indexEntry) forget() {
	e.stat = [statBytes]byte{}
	binary.BigEndian.PutUint32(e.stat[24:], e.mode)
}

// racy reports whether a file may have changed within the clock tick in which its status was
// cached (git: Documentation/technical/racy-git.txt).
func racy(e *indexEntry, indexTime int64) bool {
	seconds, nanos := binary.BigEndian.Uint32(e.stat[8:]), binary.BigEndian.Uint32(e.stat[12:])
	return int64(seconds)*1e9+int64(nanos) >= indexTime
}

// format writes an index: version 2, or 3 when an entry needs it, with no extension.
func (ix *index) format(hashLen int) []byte {
	version := uint32(2)
	size := 12 + hashLen
	for i := range ix.entries {
		if ix.entries[i].extra != 0 {
			version = 3
		}
		size += statBytes + hashLen + 12 + len(ix.entries[i].name)
	}
	b := append(make([]byte, 0, size), "DIRC"...)
	b = binary.BigEndian.AppendUint32(b, version)
	b = binary.BigEndian.AppendUint32(b, uint32(len(ix.entries)))
	for i := range ix.entries {
		e := &ix.entries[i]
		start := len(b)
		b = append(append(b, e.stat[:]...), e.oid...)
		flags := e.flags | uint16(min(len(e.name), flagName))
		if e.extra != 0 {
			b = binary.BigEndian.AppendUint16(b, flags|flagExtended)
			b = binary.BigEndian.AppendUint16(b, e.extra)
		} else {
			b = binary.BigEndian.AppendUint16(b, flags)
		}
		b = append(b, e.name...)
		for b = append(b, 0); (len(b)-start)%8 != 0; {
			b = append(b, 0)
		}
	}
	return append(b, checksum(b, hashLen)...)
}
