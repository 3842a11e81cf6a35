package index

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

const (
	headBytes = 12
	minEntry  = 64   // no entry is shorter
	maxName   = 4096 // PATH_MAX: no file can have a longer path
	// Names of version 4 take more memory than they have bytes, these times the whole at most.
	maxExpansion = 8
)

// Parse reads the file of an index whose objects have names of SHA-1. As in git, the hash at its end is not looked at:
// it is null where index.skipHash is set. The result shares memory with nothing.
func Parse(data []byte) (*Index, error) { return parse(data, sha1.Size, nil) }

// MayHold reports whether the file of an index may have entries at or below a path: it looks for the text
// alone. A split or a sparse one, and one with shortened names, may hold anything.
func MayHold(data []byte, path string) bool {
	whole := len(data) > headBytes && data[7] < 4 && !bytes.Contains(data, []byte("link")) &&
		!bytes.Contains(data, []byte("sdir"))
	return !whole || bytes.Contains(data, []byte(path))
}

// Gitlinks returns the places of submodules in the file of an index, in which the names of objects have that
// many bytes. One that is no good path stands for others: for those in a folder of a sparse index, or for one
// in the other part of a split index.
func Gitlinks(data []byte, hash int) (links []string, err error) {
	_, err = parse(data, hash, func(e *Entry) {
		switch e.Mode() {
		case modeGitlink:
			links = append(links, e.Name)
		case modeFolder:
			links = append(links, e.Name+"/")
		}
	})
	if err != nil {
		return nil, err
	}
	return links, nil
}

// parse reads an index. With see that is given the entries, and none is kept: a start sees tens of thousands.
func parse(data []byte, hash int, see func(*Entry)) (*Index, error) {
	if len(data) < headBytes+hash || string(data[:4]) != "DIRC" {
		return nil, errors.New("index: not an index")
	}
	p := parser{text: string(data[:len(data)-hash]), at: headBytes, hash: hash, version: binary.BigEndian.Uint32(data[4:])}
	if p.version < 2 || p.version > 4 {
		return nil, fmt.Errorf("index: version %d", p.version)
	}
	count := int64(binary.BigEndian.Uint32(data[8:]))
	if count*minEntry > int64(len(p.text)) {
		return nil, fmt.Errorf("index: %w", errCutOff)
	}
	if see == nil {
		p.index.Entries = make([]Entry, count)
	}
	var order ordering
	var two [2]Entry // this one and the one before
	for i := range count {
		e := &two[i%2]
		if see == nil {
			e = &p.index.Entries[i]
		}
		if err := p.entry(e); err != nil {
			return nil, fmt.Errorf("index: at byte %d: %w", p.at, err)
		}
		order.add(e)
		if see != nil {
			see(e)
		}
	}
	for p.at < len(p.text) {
		if err := p.extension(); err != nil {
			return nil, fmt.Errorf("index: at byte %d: %w", p.at, err)
		}
	}
	if err := order.err; err != nil && !p.index.Partial { // the entries of a split one may have no names
		return nil, fmt.Errorf("index: %w", err)
	}
	return &p.index, nil
}

type parser struct {
	index    Index
	text     string // all but the hash
	at       int
	hash     int // bytes
	version  uint32
	before   string // the name of the last entry
	short    bool   // there was less than was to be read
	expanded int    // bytes of names that were put together
}

var errCutOff = errors.New("it is cut off")

func (p *parser) entry(e *Entry) error {
	start := p.at
	copy(e.Stat[:], p.take(statBytes))
	copy(e.ID[:], p.take(p.hash))
	flags := p.uint16()
	e.Flags = flags & (assumeValid | stageMask)
	e.Extra = 0
	if flags&extended != 0 {
		e.Extra = p.uint16() & (skipWorktree | intentToAdd)
	}
	if err := p.name(e); err != nil {
		return err
	}
	if int(flags&nameMask) != min(len(e.Name), nameMask) { // by which git goes
		return errors.New("a name of another length than it says")
	}
	if p.version < 4 {
		p.take((start - p.at) & 7) // to a multiple of eight
	}
	switch e.Mode() {
	case modeFile, modeExecutable, modeLink, modeGitlink:
	case modeFolder:
		p.index.Partial = true
	default:
		return fmt.Errorf("%q has mode %o", e.Name, e.Mode())
	}
	if p.short {
		return errCutOff
	}
	return nil
}

// name reads a path and the NUL behind it.
func (p *parser) name(e *Entry) error {
	keep := 0
	if p.version == 4 {
		drop := p.offset()
		if drop < 0 || drop > len(p.before) {
			return errCutOff
		}
		keep = len(p.before) - drop
	}
	end := strings.IndexByte(p.text[p.at:], 0)
	if end < 0 || keep+end > maxName {
		return errors.New("a name without an end")
	}
	e.Name = p.take(end + 1)[:end]
	if keep > 0 {
		e.Name = p.before[:keep] + e.Name
		if p.expanded += len(e.Name); p.expanded > maxExpansion*len(p.text) {
			return errors.New("too many long names")
		}
	}
	p.before = e.Name
	return nil
}

// take returns the next bytes, and zeros where there are not so many, which is noted.
func (p *parser) take(n int) string {
	if n > len(p.text)-p.at {
		p.short = true
		return string(make([]byte, n))
	}
	p.at += n
	return p.text[p.at-n : p.at]
}

func (p *parser) uint16() uint16 { return binary.BigEndian.Uint16([]byte(p.take(2))) }

// offset reads a number as packs have them (varint.c, decode_varint), or returns -1 for one that is too large.
func (p *parser) offset() int {
	n := 0
	for range 4 {
		b := p.take(1)[0]
		n = n<<7 | int(b&0x7f)
		if b < 0x80 {
			return n
		}
		n++
	}
	return -1
}

// extension reads what follows the entries. Git passes over a name that it does not know when
// that begins with a capital letter, and so does this.
func (p *parser) extension() error {
	head := p.take(8)
	size := int(binary.BigEndian.Uint32([]byte(head[4:])))
	if p.short || size > len(p.text)-p.at {
		return errCutOff
	}
	p.take(size)
	switch name := head[:4]; {
	case name == "link" || name == "sdir":
		p.index.Partial = true
	case name[0] < 'A' || name[0] > 'Z':
		return fmt.Errorf("the extension %q", name)
	}
	return nil
}

// ordering refuses what git refuses: entries in another order, and a path twice but in a conflict.
// A path that is a file and a folder is refused, too. Git does not look (verify_cache looks at
// neighbours only), and makes a tree of it that nobody can check out.
type ordering struct {
	before *Entry
	files  []string // whose names the next one may begin with, each also with the one before
	err    error    // the first
}

func (o *ordering) add(e *Entry) {
	before := o.before
	o.before = e
	if o.err == nil && before != nil && (compare(before, e) >= 0 || before.Name == e.Name && before.Stage() == 0) {
		o.err = fmt.Errorf("%q is not in order", e.Name)
	}
	if o.err != nil || e.Stage() != 0 {
		return // of a conflict, which may be about just that
	}
	for len(o.files) > 0 && !strings.HasPrefix(e.Name, o.files[len(o.files)-1]) {
		o.files = o.files[:len(o.files)-1]
	}
	if last := len(o.files) - 1; last >= 0 && e.Name[len(o.files[last])] == '/' {
		o.err = fmt.Errorf("%q is a file and a folder", o.files[last])
	}
	o.files = append(o.files, e.Name)
}
