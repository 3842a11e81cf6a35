package index

import (
	"bytes"
	"crypto/sha1"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// seeds are indexes of all forms. A null checksum lets the fuzzer change them.
func seeds() (list [][]byte) {
	a, b := file("a", modeFile, ID{1}), file("d/b", modeExecutable, ID{2})
	link, sub, added, skipped := file("l", modeLink, ID{3}), file("sub", modeGitlink, ID{4}), file("n", modeFile, ID{}), file("s", modeFile, ID{5})
	added.Extra, skipped.Extra, skipped.Stat[3], link.Flags = intentToAdd, skipWorktree, 1, assumeValid
	for _, x := range []Index{
		{},
		{Entries: []Entry{a, b}},
		{Entries: []Entry{a, link, added, skipped, sub}},
		{Entries: []Entry{staged(a, 1), staged(a, 2), staged(a, 3), b}},
		{Entries: []Entry{file(".git/a", modeFile, ID{1}), file(strings.Repeat("x", 300), modeFile, ID{1})}},
		{Entries: []Entry{file("d", modeFolder, ID{1})}},
	} {
		data := x.Bytes()
		list = append(list, data, data[:len(data)-52], append(data[:len(data)-20:len(data)-20], "zzzz\x00\x00\x00\x01x"...))
	}
	return append(list, short(0, a, b), short(1, link, file("ll", modeFile, ID{6})))
}

func unsealed(data []byte) []byte { return append(bytes.Clone(data), make([]byte, sha1.Size)...) }

// FuzzParse: whatever is read is written so that it is read in the same way.
func FuzzParse(f *testing.F) {
	for _, data := range seeds() {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := Parse(unsealed(data))
		if err != nil || x.Partial {
			return
		}
		names := 0
		for i := range x.Entries {
			names += len(x.Entries[i].Name)
		}
		if len(x.Entries)*minEntry > len(data) || names > maxExpansion*len(data) {
			t.Fatalf("%d entries, %d bytes of names from %d bytes", len(x.Entries), names, len(data))
		}
		out := x.Bytes()
		again, err := Parse(out)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(again.Entries, x.Entries) {
			t.Error("it is another one when it is read again")
		}
		if !bytes.Equal(again.Bytes(), out) {
			t.Error("it is written in another way")
		}
	})
}

// made builds an index of few names, four bytes an entry.
func made(program []byte) *Index {
	names := []string{"a", "a-b", "a/b", "a/c/d", "a/c/e", "b", "d/b", "d/e/f", "sub", "d/sub", ".git/x", "d/.GIT/x", ".gitmodules", "x/git~1", "../x", "z"}
	modes := []uint32{modeFile, modeFile, modeFile, modeExecutable, modeLink, modeGitlink}
	x := &Index{}
	for step := range slices.Chunk(program, 4) {
		if len(step) < 4 || len(x.Entries) > 40 {
			break
		}
		e := staged(file(names[step[0]%16], modes[int(step[1])%len(modes)], ID{step[1] >> 4}), int(step[2]&3))
		e.Flags |= uint16(step[2]&4) << 13
		e.Extra = uint16(step[2]&0x18) << 10
		e.Stat[0], e.Stat[3] = step[3]&1, step[3]>>1
		if have := x.at(e.Name); len(have) > 0 && (have[0].Stage() == 0) != (e.Stage() == 0) {
			x.remove(e.Name)
		}
		x.put(e)
	}
	for i := len(x.Entries) - 1; i >= 0 && ordered(x) != nil; i-- {
		x.Entries = slices.Delete(x.Entries, i, i+1)
	}
	return x
}

func ordered(x *Index) error {
	var o ordering
	for i := range x.Entries {
		o.add(&x.Entries[i])
	}
	return o.err
}

// FuzzCheck: whatever a box writes, what becomes of it does not have what a box may not bring. The
// programs make indexes.
func FuzzCheck(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x02\x10\x00\x02\x03\x20\x00\x00"), []byte("\x00\x00\x00\x00"), byte(8))
	f.Add([]byte("\x06\x00\x1c\x05\x08\x05\x00\x00"), []byte("\x06\x00\x00\x00\x08\x05\x00\x00"), byte(15))
	f.Add([]byte("\x0a\x00\x00\x00"), []byte("\x0a\x00\x00\x00"), byte(0))
	f.Add([]byte("\x02\x00\x01\x00\x02\x00\x02\x00\x07\x00\x08\x00"), []byte("\x02\x00\x00\x00"), byte(9))
	f.Fuzz(func(t *testing.T, boxProgram, hostProgram []byte, bits byte) {
		box, host := made(boxProgram), made(hostProgram)
		rules := Rules{
			Written:   1 << 62,
			Sparse:    bits&2 != 0,
			Protected: func(path string) bool { return bits&1 != 0 && strings.HasPrefix(path, "d/") },
			Gitlink:   func(string) bool { return false },
			True:      func(e *Entry) bool { return bits&4 != 0 && e.Stat[0] == 0 },
		}
		read, err := Parse(box.Bytes())
		if err != nil {
			t.Fatal("what was made cannot be read", err)
		}
		checked, err := Check(read, host, rules)
		if err != nil {
			return
		}
		data := checked.Index.Bytes()
		out, err := Parse(data)
		if err != nil || out.Partial || !slices.Equal(out.Entries, checked.Index.Entries) {
			t.Fatal("what comes out is not what was meant", err)
		}
		for i := range out.Entries {
			if fault := brought(&out.Entries[i], host, checked, rules); fault != "" {
				t.Errorf("%s: %+v", fault, out.Entries[i])
			}
		}
		if end := data[len(data)-52:]; string(end[:8]) != "EOIE\x00\x00\x00\x18" {
			t.Error("the end is not ours")
		}
		if served, err := out.Served(rules.Protected); err != nil {
			t.Error(err)
		} else if _, err := Parse(served); err != nil {
			t.Error("what is served", err)
		}
	})
}

// brought says what of an entry a box may not have brought.
func brought(e *Entry, host *Index, checked *Checked, rules Rules) string {
	var was Entry
	links := false
	for _, o := range host.at(e.Name) {
		links = links || o.Mode() == modeGitlink
		if o.Stage() == e.Stage() {
			was = o
		}
	}
	same := was.Name == e.Name && was.Mode() == e.Mode() && was.ID == e.ID
	switch {
	case same && e.Stage() == 0 && rules.Protected(e.Name) && *e != was:
		return "protected"
	case !same && (!GoodPath(e.Name, e.Mode()) || strings.Contains(strings.ToLower(e.Name), ".git/")):
		return "path"
	case !links && e.Mode() == modeGitlink:
		return "submodule"
	case !same && e.Mode() != modeGitlink && !slices.Contains(checked.Blobs, fmt.Sprintf("%x", e.ID)):
		return "its blob is not named"
	case e.Flags&assumeValid&^was.Flags != 0:
		return "assumed to be unchanged"
	case e.Extra&skipWorktree&^was.Extra != 0 && (!rules.Sparse || e.Stage() == 0 && rules.Protected(e.Name)):
		return "skipped"
	case e.Stat != e.withoutTimes() && !(same && e.Stat == was.Stat) && !rules.True(e):
		return "times"
	}
	return ""
}
