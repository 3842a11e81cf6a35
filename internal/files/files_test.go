package files

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Whatever lies at a path, a read of it ends, and is of a file.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(at("file"), []byte("1234"), 0o600), os.Symlink("file", at("link")), os.Symlink("loop", at("loop")),
		os.Mkdir(at("folder"), 0o700), syscall.Mkfifo(at("pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, c := range []struct {
		name  string
		links Links
		limit int64
		want  string
		err   error
	}{
		{"file", NoLinks, 4, "1234", nil},
		{"file", FollowLinks, 5, "1234", nil},
		{"link", FollowLinks, 4, "1234", nil},
		{"link", NoLinks, 4, "", ErrNotRegular},
		{"loop", NoLinks, 4, "", ErrNotRegular},
		{"loop", FollowLinks, 4, "", syscall.ELOOP},
		{"folder", NoLinks, 4, "", ErrNotRegular},
		{"pipe", FollowLinks, 4, "", ErrNotRegular},
		{"socket", NoLinks, 4, "", ErrNotRegular},
		{"none", NoLinks, 4, "", fs.ErrNotExist},
	} {
		done := time.AfterFunc(2*time.Minute, func() { panic("reading " + c.name + " waits") })
		got, err := Read(at(c.name), c.links, c.limit)
		done.Stop()
		if string(got) != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
	if _, err := Read(at("file"), NoLinks, 3); err == nil || !strings.Contains(err.Error(), "is larger than") {
		t.Errorf("too large: %v", err)
	}
	if got, err := Head(at("file"), NoLinks, 3); string(got) != "123" || err != nil {
		t.Errorf("the head: %q, %v", got, err)
	}
}

func TestWriteAndCreate(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := Create(path, []byte("one"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := Create(path, []byte("two"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made again: %v", err)
	}
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	if err := Create(link, []byte("two"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made through a dangling link: %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "one" {
		t.Errorf("it is %q now", got)
	}
	for _, p := range []string{path, link} { // the link is replaced, not followed
		if err := Write(p, []byte("three"), 0o600); err != nil {
			t.Error(err)
		}
		got, err := os.ReadFile(p)
		if fi, _ := os.Lstat(p); string(got) != "three" || err != nil || fi.Mode() != 0o600 {
			t.Errorf("%q, %v, %v", got, err, fi.Mode())
		}
	}
	if list, _ := os.ReadDir(dir); len(list) != 2 {
		t.Errorf("left behind: %v", list)
	}
}
