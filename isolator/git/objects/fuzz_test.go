package objects

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"io"
	"strings"
	"testing"
)

// What is taken for a tree is that tree, and leads nowhere that a repository could be.
func FuzzTree(f *testing.F) {
	zero := strings.Repeat("\x01", 20)
	for _, text := range []string{"", "100644 a\x00" + zero, "40000 a\x00" + zero + "160000 b\x00" + zero, "100644 .git\x00" + zero, "100644 a", "a\x00" + zero} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parseTree(data)
		if err != nil {
			return
		}
		var again bytes.Buffer
		for _, e := range list {
			again.WriteString(e.mode + " " + e.name + "\x00" + unhex(e.object))
			if lower := strings.ToLower(e.name); lower == ".git" || lower == "git~1" || strings.ContainsAny(e.name, "/\x00") || lower == ".." || lower == "." {
				t.Errorf("the name %q", e.name)
			}
		}
		if !bytes.Equal(again.Bytes(), data) {
			t.Errorf("%q was read as %q", data, again.Bytes())
		}
	})
}

func unhex(name string) string {
	object, _ := hex.DecodeString(name)
	return string(object)
}

// What is taken for an object has the name that it was asked for by, and was copied whole.
func FuzzLoose(f *testing.F) {
	for _, text := range []string{"blob 4\x00good", "tree 0\x00", "blob 5\x00good", "commit 1\x00x", ""} {
		f.Add(deflated(text), []byte(text))
	}
	f.Fuzz(func(t *testing.T, file, text []byte) {
		sum := sha1.Sum(text)
		name := hex.EncodeToString(sum[:])
		var copied bytes.Buffer
		o, err := readLoose(name, bytes.NewReader(file), &copied, 1<<20)
		if err != nil {
			return
		}
		if !bytes.Equal(copied.Bytes(), file) || !strings.HasPrefix(string(text), o.kind+" ") {
			t.Errorf("%q came as %q, a %s", file, copied.Bytes(), o.kind)
		}
		if _, err := readLoose(nothing, bytes.NewReader(file), io.Discard, 1<<20); err == nil {
			t.Error("it has any name")
		}
	})
}

// Commits and tags are read without a panic, and what a new one names was there.
func FuzzText(f *testing.F) {
	ids := strings.Repeat("a", 40)
	f.Add([]byte("tree " + ids + "\nparent " + ids + "\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n\nx"))
	f.Add([]byte("object " + ids + "\ntype blob\ntag t\ntagger A <a> 1 +0000\n\nx"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if tree, _, err := parseCommit(data); err == nil && !bytes.Contains(data, []byte("tree "+tree)) {
			t.Errorf("%q", data)
		}
		if o, _, err := parseTag(data); err == nil && !bytes.Contains(data, []byte("object "+o)) {
			t.Errorf("%q", data)
		}
	})
}
