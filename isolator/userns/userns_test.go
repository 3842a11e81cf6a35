package userns

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSubordinate(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       Range // zero: none
	}{
		{"by name", "root:1:65536\nalice:100000:65536\n", Range{100000, 65536}},
		{"by number", "1000:200000:70000", Range{200000, 70000}},
		{"the first that is large enough", "alice:100000:1000\nalice:300000:65536\nalice:400000:65536\n", Range{300000, 65536}},
		{"another's", "alicia:100000:65536\n10000:100000:65536\n", Range{}},
		{"too small", "alice:100000:65535\n", Range{}},
		{"beyond the last id", "alice:4294901760:65536\n", Range{}},
		{"up to the last id", "alice:4294901759:65536\n", Range{4294901759, 65536}},
		{"over the user's own group", "alice:1:65536\n", Range{}},
		{"from root's id", "alice:0:65536\n", Range{}},
		{"overflow", "alice:18446744073709551615:65536\n", Range{}},
		{"negative", "alice:-5:65536\n", Range{}},
		{"fields too many", "alice:100000:65536:1\n", Range{}},
		{"spaces around", " alice:100000:65536 \n", Range{100000, 65536}},
		{"empty", "", Range{}},
	} {
		got, ok := Subordinate([]byte(c.text), "alice", 1000, 1001)
		if got != c.want || ok != (c.want != Range{}) {
			t.Errorf("%s: got %v, %v, want %v", c.name, got, ok, c.want)
		}
	}
	if _, ok := Subordinate([]byte(":100000:65536\n"), "", 1000, 1000); ok {
		t.Error("a user without a name got the range of nobody")
	}
}

func TestExtents(t *testing.T) {
	r := Range{100000, 65536}
	want := []Extent{{0, 100000, 1}, {1000, 1000, 1}, {100001, 100001, 65535}}
	if d := cmp.Diff(want, r.Extents(1000)); d != "" {
		t.Error(d)
	}
	if got, want := string(r.File("alice")), "alice:100001:65535\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The helpers are told the process and the map, nothing of the environment, and
// what they say is the error.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	helper := func(name, script string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
		return p
	}
	t.Setenv("INNER_TEST_LEAK", "x")
	log := filepath.Join(dir, "log")
	m := Map{UIDs: Range{100000, 65536}.Extents(1000), GIDs: Range{200000, 65536}.Extents(1001)}
	m.NewUIDMap = helper("newuidmap", `echo "uid $* in $(pwd) leak:${INNER_TEST_LEAK-none}" >>`+log)
	m.NewGIDMap = helper("newgidmap", `echo "gid $*" >>`+log)
	if err := m.Write(42); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	want := "uid 42 0 100000 1 1000 1000 1 100001 100001 65535 in / leak:none\ngid 42 0 200000 1 1001 1001 1 200001 200001 65535\n"
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}

	m.NewGIDMap = helper("newgidmap", "echo 'newgidmap: gid range not allowed' >&2; echo usage >&2; exit 1")
	err = m.Write(42)
	if err == nil || !strings.HasSuffix(err.Error(), "/newgidmap cannot give the box its ids: newgidmap: gid range not allowed") {
		t.Errorf("got %v", err)
	}
	m.NewUIDMap = filepath.Join(dir, "absent")
	if err := m.Write(42); err == nil {
		t.Error("a helper that is not there wrote a map")
	}
}

func TestFree(t *testing.T) {
	for text, want := range map[string]int{
		"": 100000, "bob:100000:65536\ncarol:165536:65536\n": 231072, "bob:7:1\nnonsense\n": 100000,
		"carol:4294900000:60000\nbob:100000:65536\n": 165536, "bob:165535:9\n": 165544, "bob:165536:9\n": 100000,
	} {
		if got := Free([]byte(text)); got != (Range{want, Need}) {
			t.Errorf("%q: got %v, want %d", text, got, want)
		}
	}
}
