package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, want := range []string{"one", "", "three"} {
		if err := os.WriteFile(path+".tmp", []byte("left by somebody who was killed"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := Replace(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		info, _ := os.Stat(path)
		if err != nil || string(got) != want || info.Mode() != 0o600 {
			t.Errorf("%q, %v, %v, want %q", got, info.Mode(), err, want)
		}
	}
	if err := Replace(filepath.Join(dir, "none", "file"), nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a folder: %v", err)
	}
	// The place of the file cannot be taken: nothing is left, and nothing was harmed.
	taken := filepath.Join(dir, "taken")
	if err := os.Mkdir(taken, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Replace(taken, []byte("x"), 0o600); err == nil {
		t.Error("a folder was replaced")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A link at either name is not followed.
func TestReplaceLinks(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	path := filepath.Join(dir, "file")
	for _, name := range []string{path, path + ".tmp"} {
		if err := os.WriteFile(victim, []byte("whole"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(victim, name); err != nil {
			t.Fatal(err)
		}
		if err := Replace(path, []byte("x"), 0o600); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if got, _ := os.ReadFile(victim); string(got) != "whole" {
			t.Errorf("%q: wrote through a link: %q", name, got)
		}
	}
	if err := os.Symlink(victim, filepath.Join(dir, ".lock")); err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(filepath.Join(dir, ".lock")); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("Lock through a link: %v", err)
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	var inside, count atomic.Int64
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			unlock, err := Lock(path)
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			if n := inside.Add(1); n != 1 {
				t.Errorf("%d at once", n)
			}
			count.Add(1)
			inside.Add(-1)
		})
	}
	all.Wait()
	if n := count.Load(); n != 50 {
		t.Errorf("%d of 50", n)
	}
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b")
	for range 2 {
		if err := Folder(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := Folder(path); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, filepath.Dir(path)} {
		if info, err := os.Lstat(p); err != nil || info.Mode() != 0o700|fs.ModeDir {
			t.Errorf("%q: %v, %v", p, info.Mode(), err)
		}
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := Folder(link); err == nil || err.Error() != fmt.Sprintf("%q is not a folder", link) {
		t.Errorf("a link: %v", err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(path, 54321, 54321); err != nil {
			t.Fatal(err)
		}
		if err := Folder(path); err == nil || err.Error() != fmt.Sprintf("%q belongs to user 54321, not to user 0", path) {
			t.Errorf("another's: %v", err)
		}
	}
}
