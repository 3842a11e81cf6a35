package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestClosed: a folder in which something is searched and that cannot be looked into is known, when
// the box could look into it.
func TestClosed(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	stage := func(path string, mode os.FileMode) {
		p := filepath.Join(dir, path)
		must(t, os.MkdirAll(p+"/in", 0o755))
		must(t, os.WriteFile(p+"/.env", nil, 0o600))
		must(t, os.Chmod(p, mode))
		t.Cleanup(func() { must(t, os.Chmod(p, 0o755)) })
	}
	for path, mode := range map[string]os.FileMode{
		"open": 0o755, "shut": 0, "enter": 0o311, "read": 0o644, "a/b/deep": 0o300, "node_modules": 0, "named": 0, "behind": 0, "nobody": 0,
	} {
		stage(path, mode)
	}
	must(t, os.Symlink("behind/in", filepath.Join(dir, "link")))
	for _, c := range []struct {
		name string
		r    Request
		want string
	}{
		{"a pattern", Request{Globs: []string{dir + "/enter/*.pem"}}, "enter"},
		{"a pattern in folders", Request{Globs: []string{dir + "/*/.env"}}, "behind enter named nobody node_modules read shut"},
		{"any depth", Request{Globs: []string{dir + "/a/**/.env"}}, "a/b/deep"},
		{"a path", Request{Paths: []string{dir + "/named/in/x"}}, "named"},
		{"a path, found", Request{Paths: []string{dir + "/enter/.env", dir + "/open/.env", dir + "/none/x"}}, ""},
		{"behind a link", Request{Paths: []string{dir + "/link/x"}}, "behind"},
		{"the system's", Request{Paths: []string{"/root/.netrc"}, Globs: []string{"/root/*.pem", "/lost+found/*", "/etc/ssl/private/*"}}, ""},
		{"what the box writes", Request{Writable: []string{dir}}, "a/b/deep behind enter named nobody node_modules read shut"},
		{"hide", Request{Hide: []string{dir + "/enter/*.key", dir + "/read/.env", "/root/*.key"}}, "enter read"},
		{"hide at any depth", Request{Hide: []string{dir + "/a/**/*.key", dir + "/shut/"}}, "a/b/deep"},
	} {
		var got []string
		for _, p := range Probe(c.r).Closed {
			rel, _ := filepath.Rel(dir, p)
			got = append(got, rel)
		}
		if want := strings.Fields(c.want); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", c.name, got, want)
		}
	}
}
