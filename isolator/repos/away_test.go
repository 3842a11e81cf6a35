package repos

import (
	"os"
	"path/filepath"
	"testing"
)

// While it looks another box may be running there, and put a link in the place of a folder: nothing is read,
// renamed, written or opened through one, wherever it leads.
func TestThroughNoLink(t *testing.T) {
	top, other := t.TempDir(), t.TempDir()
	for _, p := range []string{filepath.Join(top, ".git/config"), filepath.Join(other, "config")} {
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte("[remote \"x\"]\n\turl = https://me:secret@host\n"), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := openRoot(top)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	w := &sweep{roots: []*os.File{dir}}
	for name, to := range map[string]string{"in": ".git", "out": other} {
		link := filepath.Join(top, name)
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
		p := filepath.Join(link, "config")
		if data, err := w.read(p); err == nil {
			t.Errorf("%s: read %q", name, data)
		}
		if w.aside(p, Moved{}) {
			t.Errorf("%s: renamed: %v", name, w.Moved)
		}
		if w.replace(p, nil, Moved{}); len(w.Moved) > 0 || len(w.errs) != 2 {
			t.Errorf("%s: replaced", name)
		}
		w.errs = nil
		for _, p := range []string{p, link} {
			if err := w.open(p); err == nil {
				t.Errorf("%s: opened %s", name, p)
			}
		}
	}
	if data, err := w.read(filepath.Join(top, ".git/config")); err != nil || len(data) == 0 {
		t.Errorf("without a link: %q, %v", data, err)
	}
}
