package copytree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMove: what is moved goes into the folder that is open, wherever its name leads by then, on this file system and from
// another one.
func TestMove(t *testing.T) {
	for name, base := range map[string]string{"here": t.TempDir(), "elsewhere": shm(t)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			at, victim := filepath.Join(dir, "to"), filepath.Join(dir, "victim")
			for _, p := range []string{at, victim, filepath.Join(base, "tree/in")} {
				if err := os.MkdirAll(p, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for _, p := range []string{"tree/in/a", "file"} {
				if err := os.WriteFile(filepath.Join(base, p), []byte("x"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Link(filepath.Join(base, "tree/in/a"), filepath.Join(base, "tree/b")); err != nil {
				t.Fatal(err)
			}
			to, err := os.Open(at)
			if err != nil {
				t.Fatal(err)
			}
			defer to.Close()
			if err := errors.Join(os.Rename(at, at+".moved"), os.Symlink(victim, at)); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("file", filepath.Join(base, "link")); err != nil {
				t.Fatal(err)
			}
			for _, n := range []string{"tree", "file", "link"} {
				if err := Move(t.Context(), filepath.Join(base, n), to, n, nil); err != nil {
					t.Fatal(err)
				}
			}
			for _, p := range []string{"tree/in/a", "tree/b", "file", "link"} {
				if _, err := os.Stat(filepath.Join(at+".moved", p)); err != nil {
					t.Error(err)
				}
			}
			if list, err := os.ReadDir(victim); err != nil || len(list) > 0 {
				t.Errorf("in the folder that the name leads to: %v %v", list, err)
			}
			again := filepath.Join(base, "again")
			if err := os.WriteFile(again, []byte("y"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := Move(t.Context(), again, to, "file", nil); !errors.Is(err, fs.ErrExist) {
				t.Errorf("over a file: %v", err)
			}
			no := errors.New("no")
			if err := Move(t.Context(), again, to, "file", func() error { return no }); !errors.Is(err, no) {
				t.Errorf("over a file that changed: %v", err)
			}
			if err := Move(t.Context(), again, to, "file", func() error { return nil }); err != nil {
				t.Error(err)
			}
			if data, _ := os.ReadFile(filepath.Join(at+".moved", "file")); string(data) != "y" {
				t.Errorf("%q", data)
			}
			if list, err := os.ReadDir(at + ".moved"); err != nil || len(list) != 3 {
				t.Errorf("what is left over: %v %v", list, err)
			}
		})
	}
}

// shm is a folder on another file system than that of t.TempDir.
func shm(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "inner-move-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = Remove(dir) })
	var a, b unix.Stat_t
	if errors.Join(unix.Stat(dir, &a), unix.Stat(t.TempDir(), &b)) != nil || a.Dev == b.Dev {
		t.Skip("there is no other file system")
	}
	return dir
}
