package host

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestClosed: a folder in which something that is to be hidden is searched, and that cannot be looked
// into, is hidden as a whole: what is in it is to be hidden when somebody opens it.
func TestClosed(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for path, mode := range map[string]os.FileMode{"open": 0o755, "shut": 0, "enter": 0o311, "read": 0o644, "a/b/deep": 0o300} {
		p := filepath.Join(dir, path)
		must(t, os.MkdirAll(p+"/in", 0o755))
		must(t, os.WriteFile(p+"/.env", nil, 0o600))
		must(t, os.Chmod(p, mode))
		t.Cleanup(func() { must(t, os.Chmod(p, 0o755)) })
	}
	must(t, os.Symlink("shut/.env", dir+"/.env"))
	match := func(below, pattern string) func(Facts) []string {
		return func(f Facts) []string {
			f.Match(dir+below, pattern, "")
			for _, p := range f.Match(dir+below, ".env", "") {
				f.Look(p)
			}
			return slices.Sorted(maps.Keys(f.Closed))
		}
	}
	hide := func(patterns ...string) func(Facts) []string {
		return func(f Facts) []string { return Probe(f, Request{Hide: patterns}).Hide.Paths }
	}
	for _, c := range []struct {
		name string
		of   func(Facts) []string
		want string
	}{
		{"a pattern", hide(dir+"/enter/*.key", dir+"/read/.env", dir+"/open/*.key", dir+"/shut/*.key"), "enter read shut"},
		{"any depth", hide(dir+"/a/**/*.key", dir+"/shut/"), "a/b/deep shut"},
		{"the table", match("", "**/.env"), "enter read shut"},
		{"deeper", match("/a", "**/.env"), "a/b/deep"},
		{"a name", match("/read", "*.key"), "read"},
		{"a link", match("", "*.key"), "shut"},
		{"no folder", match("/open/.env", "**/.env"), ""},
		{"all is open", match("/open", "**/.env"), ""},
	} {
		var got []string
		for _, p := range c.of(Begin(Facts{})) {
			rel, _ := filepath.Rel(dir, p)
			got = append(got, rel)
		}
		if want := strings.Fields(c.want); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", c.name, got, want)
		}
	}
}
