package repos

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"strings"
)

// The mode of a repository in the index of another: a gitlink.
const gitlink = 0o160000

// entry is one path of an index.
type entry struct {
	mode uint32
	name string
}

// gitlinks returns the paths at which the index of a repository has another one.
func gitlinks(repo string) []string {
	data, err := readFile(filepath.Join(repo, "index"), maxIndex)
	if err != nil {
		return nil
	}
	split := bytes.Contains(data, []byte("link"))
	if !split && !bytes.Contains(data, binary.BigEndian.AppendUint32(nil, gitlink)) {
		return nil // nearly always, and this is on the way of every run
	}
	var out []string
	nameless := false
	for _, e := range index(data) {
		if e.mode == gitlink {
			out, nameless = append(out, e.name), nameless || e.name == ""
		}
	}
	if !split {
		return out
	}
	// A split index: the rest is in another file, and an entry without a name replaces
	// one of those, nobody here knows which.
	pattern := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(repo) + "/sharedindex.*"
	shared, _ := filepath.Glob(pattern) // it is well-formed
	for _, p := range shared {
		data, err := readFile(p, maxIndex)
		if err != nil {
			continue
		}
		for _, e := range index(data) {
			if e.mode == gitlink || nameless {
				out = append(out, e.name)
			}
		}
	}
	return out
}

// index reads the entries of an index: what stands before a fault, and of both kinds of
// hash there are. A path that is not there does no harm.
//
// Source: gitformat-index(5).
func index(data []byte) []entry {
	return append(entries(data, 20), entries(data, 32)...)
}

func entries(data []byte, hash int) (list []entry) {
	const header, stat = 12, 40
	if len(data) < header || string(data[:4]) != "DIRC" {
		return nil
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return nil
	}
	at, last := header, ""
	for range count {
		start := at
		if at += stat + hash + 2; at > len(data) {
			return list
		}
		mode := binary.BigEndian.Uint32(data[start+24:])
		if data[at-2]&0x40 != 0 { // more flags follow
			at += 2
		}
		name := ""
		if version == 4 { // what of the name before goes, and what is added
			drop, n := offset(data[min(at, len(data)):])
			if at += n; n == 0 || drop > len(last) {
				return list
			}
			name = last[:len(last)-drop]
		}
		end := bytes.IndexByte(data[min(at, len(data)):], 0)
		if end < 0 {
			return list
		}
		name += string(data[at : at+end])
		at += end + 1
		if version < 4 { // one to eight NULs, so that an entry is a multiple of eight
			at = start + (at-start+7)/8*8
		}
		list, last = append(list, entry{mode, name}), name
	}
	return list
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
