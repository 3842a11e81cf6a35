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

// made builds an index of few names, four bytes an entry, with the true trees.
func made(program []byte) *Index {
	names := []string{"a", "a-b", "a/b", "a/c/d", "a/c/e", "b", "d/b", "d/e/f", "sub", "d/sub", ".git/x", "d/.GIT/x", ".gitmodules", "x/git~1", "../x", "z"}
	modes := []uint32{modeFile, modeFile, modeFile, modeExecutable, modeLink, modeGitlink}
	x := &Index{Version: 2}
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
	for i := len(x.Entries) - 1; i >= 0 && x.fileAndFolder() != nil; i-- {
		x.Entries = slices.Delete(x.Entries, i, i+1)
	}
	x.trees = cached("", x.Entries, "")
	return x
}

// naive computes a tree in the plainest way, for comparison. It is nil for one that cannot be known.
func naive(entries []Entry, folder string) (id *ID, count int) {
	tree, done, whole := []byte{}, map[string]bool{}, true
	for _, e := range entries {
		rest, in := strings.CutPrefix(e.Name, folder)
		if !in {
			continue
		}
		count++
		name, _, deeper := strings.Cut(rest, "/")
		line, of := fmt.Sprintf("%o %s\x00", e.Mode(), name), &e.ID
		if whole = whole && e.Stage() == 0 && e.Extra&intentToAdd == 0; !whole || done[name] {
			continue
		}
		if deeper {
			done[name] = true
			line = "40000 " + name + "\x00"
			of, _ = naive(entries, folder+name+"/")
		}
		if whole = of != nil; whole {
			tree = append(append(tree, line...), of[:]...)
		}
	}
	if !whole {
		return nil, count
	}
	sum := ID(sha1.Sum(append(fmt.Appendf(nil, "tree %d\x00", len(tree)), tree...)))
	return &sum, count
}

// cached writes all trees as git would.
func cached(name string, entries []Entry, folder string) []byte {
	var below []string
	for _, e := range entries {
		if rest, in := strings.CutPrefix(e.Name, folder); in {
			if name, _, deeper := strings.Cut(rest, "/"); deeper && !slices.Contains(below, name) {
				below = append(below, name)
			}
		}
	}
	id, count := naive(entries, folder)
	if id == nil {
		count = -1
	}
	out := fmt.Appendf(nil, "%s\x00%d %d\n", name, count, len(below))
	if id != nil {
		out = append(out, id[:]...)
	}
	for _, name := range below {
		out = append(out, cached(name, entries, folder+name+"/")...)
	}
	return out
}

// lies returns a cached tree that is not that of the entries, in whatever order they come.
func lies(text string, entries []Entry, folder string) (rest, lie string) {
	var c cachedTree
	rest, err := c.next(text)
	if err != nil {
		return "", "malformed"
	}
	if c.name != "" {
		folder += c.name + "/"
	}
	id, count := naive(entries, folder)
	if count == 0 && folder != "" || c.known() && (id == nil || *id != c.id || count != c.entries) {
		return rest, "of " + folder
	}
	for range c.folders {
		if rest, lie = lies(rest, entries, folder); lie != "" {
			return rest, lie
		}
	}
	return rest, ""
}

// FuzzCheck: whatever a box writes, what becomes of it does not have what a box may not bring. The
// programs make indexes; the cached trees of the box are changed at a place.
func FuzzCheck(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x02\x10\x00\x02\x03\x20\x00\x00"), []byte("\x00\x00\x00\x00"), byte(8), uint16(0), byte(0), []byte{})
	f.Add([]byte("\x06\x00\x1c\x05\x08\x05\x00\x00"), []byte("\x06\x00\x00\x00\x08\x05\x00\x00"), byte(15), uint16(4), byte(1), []byte("a\x00100644\x000\x000\x00aaaaaaaaaaaaaaaaaaaa"))
	f.Add([]byte("\x0a\x00\x00\x00"), []byte("\x0a\x00\x00\x00"), byte(0), uint16(0), byte(0), []byte{})
	f.Add([]byte("\x02\x00\x01\x00\x02\x00\x02\x00\x07\x00\x08\x00"), []byte("\x02\x00\x00\x00"), byte(1), uint16(9), byte(3), []byte{})
	f.Fuzz(func(t *testing.T, boxProgram, hostProgram []byte, bits byte, at uint16, change byte, undo []byte) {
		box, host := made(boxProgram), made(hostProgram)
		if int(at) < len(box.trees) {
			box.trees[at] ^= change
		}
		box.undo = undo
		rules := Rules{
			Written:   1 << 62,
			Sparse:    bits&2 != 0,
			Protected: func(path string) bool { return bits&1 != 0 && strings.HasPrefix(path, "d/") },
			Gitlink:   func(string) bool { return false },
			True:      func(e *Entry) bool { return bits&4 != 0 && e.Stat[0] == 0 },
			Trees:     func([]ID) bool { return bits&8 != 0 },
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
		if out.trees != nil {
			if rest, lie := lies(string(out.trees), out.Entries, ""); rest != "" || lie != "" {
				t.Errorf("cached trees lie %s%q", lie, rest)
			}
		} else if change == 0 && bits&8 != 0 && slices.Equal(out.Entries, box.Entries) {
			t.Error("true trees are gone")
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
	case !same && e.Mode() != modeGitlink && !slices.Contains(checked.Blobs, e.ID):
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
