package index

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// seeds are indexes of all forms. A null checksum lets the fuzzer change them.
func seeds() (list [][]byte) {
	tree := func(entries ...Entry) ID {
		id, _ := (&treeVerifier{}).compute(entries, 0, nil, true)
		return id
	}
	a, b := file("a", modeFile, ID{1}), file("d/b", modeExecutable, ID{2})
	root, d := tree(a, b), tree(file("b", modeExecutable, ID{2}))
	trees := slices.Concat([]byte("\x002 1\n"), root[:], []byte("d\x001 0\n"), d[:])
	undo := slices.Concat([]byte("d/b\x00100644\x000\x00100755\x00"), a.ID[:], b.ID[:])
	link, sub, added, skipped := file("l", modeLink, ID{3}), file("sub", modeGitlink, ID{4}), file("n", modeFile, ID{}), file("s", modeFile, ID{5})
	added.Extra, skipped.Extra, skipped.Stat[3], link.Flags = intentToAdd, skipWorktree, 1, assumeValid
	for version := range uint32(3) {
		for _, x := range []Index{
			{},
			{Entries: []Entry{a, b}, trees: trees, undo: undo},
			{Entries: []Entry{a, link, added, skipped, sub}},
			{Entries: []Entry{staged(a, 1), staged(a, 2), staged(a, 3), b}, trees: []byte("\x00-1 1\nd\x001 0\n" + string(d[:]))},
			{Entries: []Entry{file(".git/a", modeFile, ID{1}), file(strings.Repeat("x", 300), modeFile, ID{1})}},
			{Entries: []Entry{file("d", modeFolder, ID{1})}},
		} {
			x.Version = version + 2
			data := x.Bytes()
			list = append(list, data, data[:len(data)-52], append(data[:len(data)-20:len(data)-20], "zzzz\x00\x00\x00\x01x"...))
		}
	}
	return list
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
		if len(x.Entries)*minEntry > len(data) || names > maxExpansion*len(data) || len(x.trees)+len(x.undo) > len(data) {
			t.Fatalf("%d entries, %d bytes of names from %d bytes", len(x.Entries), names, len(data))
		}
		out := x.Bytes()
		again, err := Parse(out)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(again.Entries, x.Entries) || !bytes.Equal(again.trees, x.trees) || !bytes.Equal(again.undo, x.undo) {
			t.Error("it is another one when it is read again")
		}
		if !bytes.Equal(again.Bytes(), out) {
			t.Error("it is written in another way")
		}
	})
}

// FuzzCheck: whatever a box writes, what becomes of it does not have what a box may not bring.
func FuzzCheck(f *testing.F) {
	all := seeds()
	for i, data := range all {
		f.Add(data, all[(i*7+3)%len(all)], byte(i))
		f.Add(data, data, byte(i))
	}
	f.Fuzz(func(t *testing.T, boxData, hostData []byte, bits byte) {
		host, err := Parse(unsealed(hostData))
		if err != nil {
			host = &Index{}
		}
		box, err := Parse(unsealed(boxData))
		if err != nil {
			return
		}
		protected := func(path string) bool { return bits&1 != 0 && strings.HasPrefix(path, "d/") }
		rules := Rules{
			Sparse:    bits&2 != 0,
			Protected: protected,
			Gitlink:   func(string) bool { return false },
			True:      func(e *Entry) bool { return bits&4 != 0 && e.Stat[0] == 0 },
			Trees:     func([]ID) bool { return bits&8 != 0 },
		}
		checked, err := Check(box, host, rules)
		if err != nil {
			return
		}
		out, err := Parse(checked.Index.Bytes())
		if err != nil || out.Partial || !slices.Equal(out.Entries, checked.Index.Entries) {
			t.Fatal("what comes out is not what was meant", err)
		}
		for i := range out.Entries {
			e := &out.Entries[i]
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
			case same && e.Stage() == 0 && protected(e.Name) && *e != was:
				t.Errorf("protected %q is another", e.Name)
			case !same && !GoodPath(e.Name, e.Mode()), !same && slices.Contains(strings.Split(strings.ToLower(e.Name), "/"), ".git"):
				t.Errorf("path %q", e.Name)
			case !links && e.Mode() == modeGitlink:
				t.Errorf("submodule %q", e.Name)
			case !same && e.Mode() != modeGitlink && !slices.Contains(checked.Blobs, e.ID):
				t.Errorf("blob %x is not named", e.ID)
			case e.Flags&assumeValid&^was.Flags != 0:
				t.Errorf("%q is assumed to be unchanged", e.Name)
			case e.Extra&skipWorktree&^was.Extra != 0 && !rules.Sparse:
				t.Errorf("%q is skipped", e.Name)
			case e.Stat != e.withoutTimes() && !(same && e.Stat == was.Stat) && !rules.True(e):
				t.Errorf("times of %q", e.Name)
			}
		}
		if out.trees != nil && (verifyTrees(out.trees, out.Entries) != nil || bits&8 == 0 && !bytes.Equal(out.trees, box.trees)) {
			t.Error("cached trees")
		}
		data := checked.Index.Bytes()
		at := int(binary.BigEndian.Uint32(data[len(data)-44:]))
		if string(data[len(data)-52:len(data)-44]) != "EOIE\x00\x00\x00\x18" || at > len(data)-52 || len(out.Entries) > 0 && at < headBytes+minEntry {
			t.Error("the end is not ours")
		}
		if served, err := Parse(out.Served(protected)); err != nil || len(served.Entries) != len(out.Entries) {
			t.Error("what is served", err)
		}
	})
}
