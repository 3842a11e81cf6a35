package repos

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"strings"
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

// gitlinks returns the paths at which the index of a repository has another one. It is
// not ok with an index that is read in another way than git reads it, or not to its end.
func gitlinks(repo string) (out []string, ok bool) {
	data, err := readLinked(filepath.Join(repo, "index"), maxIndex)
	if err != nil {
		return nil, !exists(filepath.Join(repo, "index"))
	}
	split := bytes.Contains(data, []byte("link"))
	sparse := bytes.Contains(data, []byte("sdir")) // a folder stands for what is in it
	if !split && !sparse && !bytes.Contains(data, binary.BigEndian.AppendUint32(nil, gitlink)) {
		return nil, true // nearly always, and this is on the way of every run
	}
	nameless := false
	sha256 := hashes256(repo)
	ok = index(data, sha256, func(e entry) {
		if e.mode == gitlink {
			out, nameless = append(out, e.name), nameless || e.name == ""
		}
	})
	if !split {
		return out, ok
	}
	// A split index: the rest is in another file, and an entry without a name replaces
	// one of those, nobody here knows which.
	pattern := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(repo) + "/sharedindex.*"
	shared, _ := filepath.Glob(pattern) // it is well-formed
	for _, p := range shared {
		data, err := readLinked(p, maxIndex)
		whole := err == nil && index(data, sha256, func(e entry) {
			if e.mode == gitlink || nameless {
				out = append(out, e.name)
			}
		})
		ok = ok && whole
	}
	return out, ok
}

// entry is one path of an index.
type entry struct {
	mode uint32
	name string
}

// index reads the entries of an index: what stands before a fault, and of both kinds of
// hash there are. A path that is not there does no harm. It reports whether there was
// no fault in the kind that git reads.
//
// Source: gitformat-index(5); read-cache.c of git 2.39, create_from_disk.
func index(data []byte, sha256 bool, found func(entry)) bool {
	short, long := entries(data, 20, found), entries(data, 32, found)
	return short && !sha256 || long && !short
}

// hashes256 reports whether a repository may have the longer hashes.
func hashes256(repo string) bool {
	common, _ := readLinked(filepath.Join(repo, "commondir"), maxPointer)
	for _, dir := range []string{repo, beneath(repo, line(common))} {
		data, err := readLinked(filepath.Join(dir, "config"), maxConfig)
		if err != nil && exists(filepath.Join(dir, "config")) || bytes.Contains(bytes.ToLower(data), []byte("sha256")) {
			return true
		}
	}
	return false
}

func entries(data []byte, hash int, found func(entry)) bool {
	const header, stat = 12, 40
	if len(data) < header || string(data[:4]) != "DIRC" {
		return false
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return false
	}
	at := header
	var name []byte // of the entry before, which the next one of version 4 needs
	for range count {
		start := at
		if at += stat + hash + 2; at > len(data) {
			return false
		}
		mode, length := binary.BigEndian.Uint32(data[start+24:]), int(binary.BigEndian.Uint16(data[at-2:])&0xfff)
		if data[at-2]&0x40 != 0 { // more flags follow
			at += 2
		}
		drop, n := len(name), 0
		if version == 4 { // what of the name before goes, and what is added
			drop, n = offset(data[min(at, len(data)):])
			if at += n; n == 0 || drop > len(name) {
				return false
			}
		}
		end := bytes.IndexByte(data[min(at, len(data)):], 0)
		if end < 0 {
			return false
		}
		name = append(name[:len(name)-drop], data[at:at+end]...)
		// Git goes by the length, where it is one, and would find the next entry elsewhere.
		if length != min(len(name), 0xfff) {
			return false
		}
		at += end + 1
		if version < 4 { // one to eight NULs, so that an entry is a multiple of eight
			at = start + (at-start+7)/8*8
		}
		switch mode {
		case gitlink, file, executable, symlink:
		default:
			return false
		}
		if len(name) < maxName {
			found(entry{mode, string(name)})
		}
	}
	return at <= len(data)
}

// offset reads a number as packs have them (varint.c, decode_varint). n is its length,
// 0 when there is none.
func offset(data []byte) (v, n int) {
	for n < len(data) && n < 5 {
		c := data[n]
		n++
		v = v<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return v, n
		}
		v++
	}
	return 0, 0
}
