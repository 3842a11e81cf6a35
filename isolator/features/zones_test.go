package features

import (
	"os"
	"path/filepath"
	"testing"
)

// Folders are made below a home, private, and through no link.
func TestMakeBelow(t *testing.T) {
	home, elsewhere := t.TempDir(), t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		ok   bool
	}{{"a/b", true}, {"a/b", true}, {"link/x", false}, {"file/x", false}, {"", false}} {
		if err := makeBelow([]string{"/nowhere", home}, filepath.Join(home, c.path)); (err == nil) != c.ok {
			t.Errorf("%q: %v", c.path, err)
		}
	}
	if err := makeBelow([]string{home}, elsewhere+"/x"); err == nil {
		t.Error("made elsewhere")
	}
	if list, _ := os.ReadDir(elsewhere); len(list) > 0 {
		t.Error("made through a link")
	}
	for _, p := range []string{"a", "a/b"} {
		if fi, err := os.Stat(filepath.Join(home, p)); err != nil || fi.Mode().Perm() != 0o700 {
			t.Error(p, fi.Mode(), err)
		}
	}
}
