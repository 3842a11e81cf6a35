package copytree

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// What a box has left in a folder is untrusted: only a regular file of a bounded size
// that lies in it is read, and nothing is waited for.
func TestRead(t *testing.T) {
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
	defer folder.Close()
	for name, want := range map[string]string{
		"login": "token", "sub/login": "deep", "large": "", "link": "", "folder/secret": "", "../" + filepath.Base(dir) + "/login": "", "sub": "", "none": "",
	} {
		data, err := Read(int(folder.Fd()), name, 10)
		if string(data) != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	done := make(chan error, 1)
	go func() {
		_, err := Read(int(folder.Fd()), "pipe", 10)
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
}
