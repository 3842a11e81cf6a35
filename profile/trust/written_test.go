package trust

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/enr/inner/profile"
	"github.com/google/go-cmp/cmp"
)

// What keeps a prefix from saying yes is named.
func TestNeedsQuestionSaysWhy(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "p.toml")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	s := Store{Dir: filepath.Join(dir, "trust")}
	if got, want := s.NeedsQuestion(fifo, Prefixes{Dirs: []string{dir}}), fmt.Sprintf("%q is not a regular file", fifo); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := s.FolderAsks(fifo), fmt.Sprintf("%q is not a folder", fifo); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestWritten(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "trust")}
	if s.Written("/a") {
		t.Error("known before anything was")
	}
	must(t, s.MarkWritten("/a", "/b/c"))
	must(t, s.MarkWritten("/a"))
	for path, want := range map[string]bool{"/a": true, "/a/": true, "/b/c": true, "/b": false, "/a/x": false} {
		if s.Written(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
	must(t, os.RemoveAll(s.Dir))
	must(t, os.WriteFile(s.Dir, nil, 0o600))
	if !s.Written("/z") {
		t.Error("what cannot be asked about does not count")
	}
}

// Grants are kept as data: what is compared survives, with any bytes in it, and the
// user's own is left out.
func TestGrantsAreKept(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "trust")}
	const root = "/a/proj"
	file := profile.File{Path: root + "/.inner/profiles/p.toml", Digest: strings.Repeat("0", 64)}
	p := &profile.Profile{Path: file.Path, Scope: profile.Local, Files: []profile.File{file}}
	grants := []profile.Grant{
		{Kind: "writes", Key: "mount rw", Text: "can change files in: ~/x", Words: "can change files in", Items: []profile.Item{{Text: "~/x", Path: "/h/\xff", At: "/m"}}},
		{Kind: "limit", Key: "limits", Text: "limited: files 9", Tightens: true, Items: []profile.Item{{Text: "files 9", ID: "files 9", Own: true}}},
		{Kind: "network", Key: "full", Text: "all"},
	}
	must(t, s.Allow(root, Approval{Profile: p, Grants: grants}))
	rec, err := s.Project(root)
	must(t, err)
	got := rec.Profile(p.Path)
	if diff := cmp.Diff([]profile.Grant{grants[0], grants[2]}, got.Grants); diff != "" {
		t.Error(diff)
	}
	if wider, narrower := profile.DiffGrants(got.Grants, grants); len(wider)+len(narrower) > 0 {
		t.Errorf("not the same: %v %v", wider, narrower)
	}
	// Of a record of version 1 the decision counts, and its grants do not.
	data, err := os.ReadFile(s.path(root))
	must(t, err)
	var raw map[string]any
	must(t, json.Unmarshal(data, &raw))
	raw["schema"] = 1
	data, err = json.Marshal(raw)
	must(t, err)
	must(t, os.WriteFile(s.path(root), data, 0o600))
	rec, err = s.Project(root)
	must(t, err)
	if r := rec.Profile(p.Path); r == nil || r.Decision != Allowed || len(r.Grants) != 0 {
		t.Errorf("a record of version 1: %+v", r)
	}
}
