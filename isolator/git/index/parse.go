package index

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
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

// Parse reads the file of an index. It is as strict as git where that refuses an index, and
// stricter where git would take one number or another. The result shares memory with nothing.
func Parse(data []byte) (*Index, error) {
	if len(data) < headBytes+sha1.Size || string(data[:4]) != "DIRC" {
		return nil, errors.New("index: not an index")
	}
	if err := checkSum(data); err != nil {
		return nil, err
	}
	p := parser{text: string(data[:len(data)-sha1.Size]), at: headBytes}
	p.index.Version = binary.BigEndian.Uint32(data[4:])
	if p.index.Version < 2 || p.index.Version > 4 {
		return nil, fmt.Errorf("index: version %d", p.index.Version)
	}
	if err := p.entries(int64(binary.BigEndian.Uint32(data[8:]))); err != nil {
		return nil, fmt.Errorf("index: at byte %d: %w", p.at, err)
	}
	for p.at < len(p.text) {
		if err := p.extension(); err != nil {
			return nil, fmt.Errorf("index: at byte %d: %w", p.at, err)
		}
	}
	if p.index.Partial { // the entries of a split one may have no names
		return &p.index, nil
	}
	if err := p.index.ordered(); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	if err := p.index.fileAndFolder(); err != nil {
		return nil, err
	}
	return &p.index, nil
}

// checkSum looks at the hash at the end. It is null where index.skipHash is set.
func checkSum(data []byte) error {
	content, sum := data[:len(data)-sha1.Size], data[len(data)-sha1.Size:]
	if bytes.Equal(sum, make([]byte, sha1.Size)) || sha1.Sum(content) == ID(sum) {
		return nil
	}
	if at := len(data) - sha256.Size; at > 0 && sha256.Sum256(data[:at]) == [sha256.Size]byte(data[at:]) {
		return errors.New("index: it has hashes of SHA-256, of which inner knows nothing")
	}
	return errors.New("index: its checksum is another")
}

type parser struct {
	index    Index
	text     string // all but the hash
	at       int
	expanded int // bytes of names that were put together
}

var (
	errCutOff = errors.New("cut off")
	errName   = errors.New("a name of another length than it says")
)

func (p *parser) entries(count int64) error {
	if count*minEntry > int64(len(p.text)) {
		return errCutOff
	}
	p.index.Entries = make([]Entry, count)
	before := ""
	for i := range p.index.Entries {
		e := &p.index.Entries[i]
		if err := p.entry(e, before); err != nil {
			return err
		}
		before = e.Name
	}
	return nil
}

func (p *parser) entry(e *Entry, before string) error {
	start := p.at
	fixed := p.take(fixedBytes)
	if fixed == "" {
		return errCutOff
	}
	copy(e.Stat[:], fixed)
	copy(e.ID[:], fixed[statBytes:])
	flags := uint16(fixed[fixedBytes-2])<<8 | uint16(fixed[fixedBytes-1])
	if flags&extended != 0 {
		extra := p.take(2)
		if extra == "" || p.index.Version == 2 {
			return errors.New("more flags than its version has")
		}
		e.Extra = uint16(extra[0])<<8 | uint16(extra[1])
	}
	if e.Extra&^(skipWorktree|intentToAdd) != 0 {
		return errors.New("unknown flags") // git ends there
	}
	if err := p.name(e, before); err != nil {
		return err
	}
	if int(flags&nameMask) != min(len(e.Name), nameMask) {
		return errName
	}
	if pad := (start - p.at) & 7; p.index.Version < 4 && len(p.take(pad)) != pad { // to a multiple of eight
		return errCutOff
	}
	e.Flags = flags & (assumeValid | stageMask)
	if e.Mode() == modeFolder {
		p.index.Partial = true
	} else if !isMode(e.Mode()) {
		return fmt.Errorf("%q has mode %o", e.Name, e.Mode())
	}
	return nil
}

func isMode(mode uint32) bool {
	return mode == modeFile || mode == modeExecutable || mode == modeLink || mode == modeGitlink
}

// name reads a path and the NUL behind it.
func (p *parser) name(e *Entry, before string) error {
	keep := 0
	if p.index.Version == 4 {
		drop := p.offset()
		if drop < 0 || drop > len(before) {
			return errCutOff
		}
		keep = len(before) - drop
	}
	end := strings.IndexByte(p.text[p.at:], 0)
	if end < 0 || keep+end > maxName {
		return errors.New("a name without an end")
	}
	added := p.take(end + 1)[:end]
	e.Name = added
	if keep > 0 {
		e.Name = before[:keep] + added
		if p.expanded += len(e.Name); p.expanded > maxExpansion*len(p.text) {
			return errors.New("too many long names")
		}
	}
	return nil
}

// take returns the next bytes, or "" where there are not so many.
func (p *parser) take(n int) string {
	if n > len(p.text)-p.at {
		return ""
	}
	p.at += n
	return p.text[p.at-n : p.at]
}

// offset reads a number as packs have them (varint.c, decode_varint), or returns -1.
func (p *parser) offset() int {
	n := 0
	for range 4 {
		b := p.take(1)
		if b == "" {
			return -1
		}
		n = n<<7 | int(b[0]&0x7f)
		if b[0] < 0x80 {
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
	if head == "" {
		return errCutOff
	}
	size := int(binary.BigEndian.Uint32([]byte(head[4:])))
	if size > len(p.text)-p.at {
		return errCutOff
	}
	content := []byte(p.take(size))
	var kept *[]byte
	switch name := head[:4]; {
	case name == "TREE":
		kept = &p.index.trees
	case name == "REUC":
		kept = &p.index.undo
	case name == "link" || name == "sdir":
		p.index.Partial = true
		return nil
	case name[0] < 'A' || name[0] > 'Z':
		return fmt.Errorf("the extension %q", name)
	default:
		return nil
	}
	if *kept != nil {
		return fmt.Errorf("a second extension %q", head[:4])
	}
	*kept = content
	return nil
}

// ordered refuses what git refuses: entries in another order, and a path twice but in a conflict.
func (x *Index) ordered() error {
	for i := range len(x.Entries) - 1 {
		a, b := &x.Entries[i], &x.Entries[i+1]
		if compare(a, b) >= 0 || a.Name == b.Name && a.Stage() == 0 {
			return fmt.Errorf("%q is not in order", b.Name)
		}
	}
	return nil
}

// fileAndFolder refuses a path that is a file and a folder. Git does not look (verify_cache looks
// at neighbours only), and makes a tree of it that nobody can check out.
func (x *Index) fileAndFolder() error {
	before := ""
	for i := range x.Entries {
		e := &x.Entries[i]
		if e.Stage() != 0 {
			continue // of a conflict, which may be about just that
		}
		// A folder that the entry before is in, too, was looked at there.
		for at := commonPrefix(before, e.Name); at < len(e.Name); at++ {
			if e.Name[at] != '/' {
				continue
			}
			if file := x.at(e.Name[:at]); len(file) > 0 && file[0].Stage() == 0 {
				return fmt.Errorf("index: %q is a file and a folder", file[0].Name)
			}
		}
		before = e.Name
	}
	return nil
}
