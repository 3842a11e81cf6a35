package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestClosed: a folder in which something that is to be hidden is searched, and that cannot be looked
// into, is hidden as a whole.
func TestClosed(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for path, mode := range map[string]os.FileMode{"open": 0o755, "shut": 0, "enter": 0o311, "read": 0o644, "a/b/deep": 0o300} {
		p := filepath.Join(dir, path)
		must(t, os.MkdirAll(p, 0o755))
		must(t, os.WriteFile(p+"/.env", nil, 0o600))
		must(t, os.Chmod(p, mode))
		t.Cleanup(func() { must(t, os.Chmod(p, 0o755)) })
	}
	for _, c := range []struct {
		name string
		hide []string
		want string
	}{
		{"a pattern", []string{dir + "/enter/*.key", dir + "/read/.env", dir + "/open/*.key", dir + "/shut/*.key"}, "enter read shut"},
		{"any depth", []string{dir + "/a/**/*.key", dir + "/shut/"}, "a/b/deep shut"},
	} {
		var got []string
		for _, p := range Probe(Begin(Facts{}), Request{Hide: c.hide}).Hide.Paths {
			rel, _ := filepath.Rel(dir, p)
			got = append(got, rel)
		}
		if want := strings.Fields(c.want); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", c.name, got, want)
		}
	}
}
