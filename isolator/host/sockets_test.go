package host

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestRelativeSockets: a socket bound under a relative name is found below the
// working folder of its process, or in a folder near.
func TestRelativeSockets(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, name := range []string{"plain", "sub/deep", "@not-a-file"} {
		l, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	want := []string{filepath.Join(dir, "plain"), filepath.Join(dir, "sub/deep")}
	ours := func(near ...string) []string {
		list, err := listening("/proc/net/unix", near)
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(list, func(p string) bool { return filepath.Dir(p) != dir && filepath.Dir(p) != dir+"/sub" })
	}
	if got := ours(); !slices.Equal(got, want) {
		t.Errorf("by the working folder: %q", got)
	}
	t.Chdir("/")
	if got := ours(); len(got) > 0 {
		t.Errorf("its process has gone elsewhere: %q", got)
	}
	if got := ours(dir); !slices.Equal(got, want) {
		t.Errorf("in a folder near: %q", got)
	}
}

// TestSocketsUnknown: a table that cannot be read, or is another file, is an error.
func TestSocketsUnknown(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "unix")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{empty, filepath.Dir(empty), empty + "-missing"} {
		if list, err := listening(table, nil); err == nil {
			t.Errorf("%s: %v", table, list)
		}
	}
	if _, err := listening("/proc/net/unix", nil); err != nil {
		t.Error(err)
	}
}
