package host

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSocketsUnknown: a table that cannot be read, or is another file, is an error.
func TestSocketsUnknown(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "unix")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{empty, filepath.Dir(empty), empty + "-missing"} {
		if list, err := newLooker().listening(table); err == nil {
			t.Errorf("%s: %v", table, list)
		}
	}
	if _, err := newLooker().listening("/proc/net/unix"); err != nil {
		t.Error(err)
	}
}

// TestSocketsNamedWithLineEnds: a name in the kernel's table is whole.
func TestSocketsNamedWithLineEnds(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	name := filepath.Join(dir, "a\nb: c\n")
	l, err := net.Listen("unix", name)
	must(t, err)
	defer l.Close()
	got, err := newLooker().listening("/proc/net/unix")
	must(t, err)
	if !slices.Contains(got, name) {
		t.Errorf("%q is not among %q", name, got)
	}
}
