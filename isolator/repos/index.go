package repos

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// The modes an entry of an index has (gitformat-index(5)).
const (
	gitlink    = 0o160000 // the repository of another
	file       = 0o100644
	executable = 0o100755
	symlink    = 0o120000
)

// Longer names than this lead nowhere (PATH_MAX of limits.h).
const maxName = 4096

// Most bytes of an index, and of all that belong to one repository: some 4 million
// paths. A larger one is not read.
const maxIndex = 512 << 20

// gitlinks returns the paths at which the index of a repository has another one. It is
// not ok with an index that is read in another way than git reads it, or not to its end.
// An index is read in little memory and once, whatever it claims to hold.
func gitlinks(repo string) (out []string, ok bool) {
	p := filepath.Join(repo, "index")
	left := int64(maxIndex)
	sha256 := hashes256(repo)
	nameless := false
	x, err := readIndex(p, sha256, &left, func(mode uint32, name []byte) {
		if mode == gitlink {
			out, nameless = append(out, string(name)), nameless || len(name) == 0
		}
	})
	switch {
	case err != nil:
		return nil, !exists(p)
	case x.shared == "":
		return out, x.whole
	}
	// A split index: the rest is in the file that it names, and an entry without a name
	// replaces one of those, nobody here knows which.
	y, err := readIndex(filepath.Join(repo, "sharedindex."+x.shared), sha256, &left, func(mode uint32, name []byte) {
		if mode == gitlink || nameless {
			out = append(out, string(name))
		}
	})
	return out, x.whole && err == nil && y.whole
}

// indexed is what is known of an index besides its entries.
type indexed struct {
	whole  bool   // it was read as git reads it, to its end
	shared string // what the name of the file with the rest ends with, "" when there is none
}

// readIndex reads the index at p with the kind of hash that git reads it with.
// Repositories that have the longer one are few, and a file alone does not tell: where it
// may be, the kind that fits counts.
func readIndex(p string, sha256 bool, left *int64, found func(mode uint32, name []byte)) (indexed, error) {
	f, err := os.OpenFile(p, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return indexed{}, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > *left {
		return indexed{}, errors.Join(err, fs.ErrInvalid)
	}
	*left -= fi.Size()
	x := index(io.NewSectionReader(f, 0, fi.Size()), 20, found)
	if sha256 {
		if long := index(io.NewSectionReader(f, 0, fi.Size()), 32, found); long.whole {
			// What was found in the other kind does no harm: nothing is there.
			x = indexed{whole: !x.whole, shared: long.shared}
		} else {
			x.whole = false
		}
	}
	return x, nil
}

// hashes256 reports whether a repository may have the longer hashes.
func hashes256(repo string) bool {
	common, _ := readLinked(filepath.Join(repo, "commondir"))
	for _, dir := range []string{repo, beneath(repo, line(common))} {
		data, err := readLinked(filepath.Join(dir, "config"))
		if err != nil && exists(filepath.Join(dir, "config")) || bytes.Contains(bytes.ToLower(data), []byte("sha256")) {
			return true
		}
	}
	return false
}

// index reads the entries of an index, and the extension that names a shared one. It
// reports as whole what ends where git would find the end, too.
//
// Source: gitformat-index(5); read-cache.c of git 2.39, create_from_disk.
func index(f *io.SectionReader, hash int, found func(mode uint32, name []byte)) (x indexed) {
	const header, stat = 12, 40
	r := &counted{r: bufio.NewReaderSize(f, 64<<10)}
	head := r.take(header)
	if head == nil || string(head[:4]) != "DIRC" {
		return x
	}
	version, count := binary.BigEndian.Uint32(head[4:]), int64(binary.BigEndian.Uint32(head[8:]))
	if version < 2 || version > 4 || count > f.Size()/(stat/2) {
		return x
	}
	var name []byte // of the entry before, which the next one of version 4 needs
	for range count {
		start := r.at
		fixed := r.take(stat + hash + 2)
		if fixed == nil {
			return x
		}
		mode, flags := binary.BigEndian.Uint32(fixed[24:]), binary.BigEndian.Uint16(fixed[stat+hash:])
		length := int(flags & 0xfff)
		if flags&0x4000 != 0 && r.take(2) == nil { // more flags follow
			return x
		}
		drop := len(name)
		if version == 4 { // what of the name before goes, and what is added
			if drop = r.offset(); drop < 0 || drop > len(name) {
				return x
			}
		}
		var ok bool
		if name, ok = r.text(name[:len(name)-drop]); !ok {
			return x
		}
		// Git goes by the length, where it is one, and would find the next entry elsewhere.
		if length != min(len(name), 0xfff) {
			return x
		}
		if version < 4 { // one to eight NULs, so that an entry is a multiple of eight
			if pad := (r.at-start+7)/8*8 - (r.at - start); pad > 0 && r.take(int(pad)) == nil {
				return x
			}
		}
		switch mode {
		case gitlink, file, executable, symlink:
		default:
			return x
		}
		if len(name) < maxName {
			found(mode, name)
		}
	}
	return extensions(f, r.at, int64(hash))
}

// maxExtensions is how many are looked at; git has nine kinds.
const maxExtensions = 64

// extensions looks through what follows the entries. In lower case stand those that a
// reader has to know; "link" names the shared index, "sdir" says that a folder stands for
// what is in it.
func extensions(file *io.SectionReader, at, hash int64) (x indexed) {
	head := make([]byte, 8)
	for n := 0; at+8 <= file.Size()-hash; n++ {
		if _, err := file.ReadAt(head, at); err != nil || n == maxExtensions {
			return x
		}
		size := int64(binary.BigEndian.Uint32(head[4:]))
		switch string(head[:4]) {
		case "link":
			sum := make([]byte, hash)
			if _, err := file.ReadAt(sum, at+8); err != nil {
				return x
			}
			if x.shared = hex.EncodeToString(sum); strings.Trim(x.shared, "0") == "" {
				x.shared = "" // git takes it for no split index
			}
		case "sdir":
			return x
		}
		at += 8 + size
	}
	x.whole = true
	return x
}

// counted reads an index from its beginning.
type counted struct {
	r  *bufio.Reader
	at int64
}

// take returns the next bytes, until the next call, or nil.
func (c *counted) take(n int) []byte {
	part, err := c.r.Peek(n)
	if err != nil {
		return nil
	}
	_, _ = c.r.Discard(n) // they are there
	c.at += int64(n)
	return part
}

// text reads to the next NUL and appends it to name, of which nothing is kept beyond what
// leads anywhere.
func (c *counted) text(name []byte) ([]byte, bool) {
	for {
		part, err := c.r.ReadSlice(0)
		c.at += int64(len(part))
		if err == nil {
			part = part[:len(part)-1]
		}
		if len(name)+len(part) > maxText {
			return nil, false
		}
		name = append(name, part...)
		if err == nil {
			return name, true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, false
		}
	}
}

// maxText is the longest name that is read. Git reads longer ones, and nothing can be at
// one.
const maxText = 4 << 20

// offset reads a number as packs have them (varint.c, decode_varint), or returns -1.
func (c *counted) offset() int {
	v := 0
	for range 5 {
		b := c.take(1)
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
