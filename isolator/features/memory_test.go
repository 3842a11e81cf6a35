package features

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/enr/inner/isolator/plan"
)

// What a box has left in a folder is untrusted: only a regular file of a bounded size
// that lies in it is read, and nothing is waited for.
func TestFilledRead(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	for name, text := range map[string]string{filepath.Join(dir, "login"): "token", filepath.Join(dir, "sub", "login"): "deep", filepath.Join(dir, "large"): "12345678901", outside: "secret"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		os.Symlink(outside, filepath.Join(dir, "link")),
		os.Symlink(filepath.Dir(outside), filepath.Join(dir, "folder")),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	folder, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var f memory
	f.take(plan.Fill{Source: "/run/clone"}, folder)
	defer f.close()
	for _, c := range []struct{ source, name, want string }{
		{"/run/clone", "login", "token"},
		{"/run/clone", "sub/login", "deep"},
		{"/run/clone", "large", ""},
		{"/run/clone", "link", ""},
		{"/run/clone", "folder/secret", ""},
		{"/run/clone", "../" + filepath.Base(dir) + "/login", ""},
		{"/run/clone", "sub", ""},
		{"/run/clone", "none", ""},
		{"/run/other", "login", ""},
	} {
		data, err := f.read(c.source, c.name, 10)
		if string(data) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s %s: %q, %v", c.source, c.name, data, err)
		}
	}
	done := make(chan error, 1)
	go func() {
		_, err := f.read("/run/clone", "pipe", 10)
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil {
			t.Error("a pipe was read")
		}
	case <-time.After(2 * time.Minute):
		t.Error("a pipe is waited for")
	}
	var none memory
	if _, err := none.read("/run/clone", "login", 10); err != fs.ErrNotExist {
		t.Errorf("of a box that never was: %v", err)
	}
}
