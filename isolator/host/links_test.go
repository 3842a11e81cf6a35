package host

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSameFile: other names of a file are found wherever the box may write, each once;
// those of the system's programs are not looked for.
func TestSameFile(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	var want []string
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"work/a", "work/deep/b", "other/c"} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(secret, p); err != nil {
			t.Fatal(err)
		}
		want = append(want, p)
	}
	l := newLooker(NewFolders())
	roots := []string{filepath.Join(dir, "work/deep"), filepath.Join(dir, "work"), filepath.Join(dir, "other")}
	got := sameFile(map[string]Path{secret: l.look(secret)}, roots)[secret]
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("other names %q, want %q", got, want)
	}
	if p := "/usr/bin/env"; systemsOwn(p) != (os.Geteuid() != 0) || systemsOwn(secret) {
		t.Errorf("the system's own: %s %v, %s %v", p, systemsOwn(p), secret, systemsOwn(secret))
	}
}
