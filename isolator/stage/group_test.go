package stage

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestGroup has a folder stand for a control group: it goes with the run, with
// the sweep after a crash, and when it could not be made.
func TestGroup(t *testing.T) {
	b, home, groups := base(t), t.TempDir(), t.TempDir()
	at := func(name string) (string, func() error) {
		dir := filepath.Join(groups, "inner-"+name)
		return dir, func() error { return os.Mkdir(dir, 0o755) }
	}
	gone := func(dir string) {
		t.Helper()
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	}
	open := func() *Run {
		t.Helper()
		r, err := New(b, home)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	closed := open()
	dir, mkdir := at("closed")
	if err := closed.Group(dir, mkdir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dir); err != nil {
		t.Error(err)
	}
	if err := closed.Close(); err != nil {
		t.Error(err)
	}
	gone(dir)

	crashed, living := open(), open()
	defer living.Close()
	dir, mkdir = at("crashed")
	other, mkother := at("living")
	if err := errors.Join(crashed.Group(dir, mkdir), living.Group(other, mkother)); err != nil {
		t.Fatal(err)
	}
	kill(crashed)
	if _, err := Sweep(b, home, nil); err != nil {
		t.Error(err)
	}
	gone(dir)
	gone(crashed.Path)
	if _, err := os.Lstat(other); err != nil {
		t.Errorf("of a living run: %v", err)
	}

	failed := open()
	dir, mkdir = at("failed")
	err := failed.Group(dir, func() error { return errors.Join(mkdir(), errors.New("told nothing")) })
	if err == nil || err.Error() != "told nothing" {
		t.Errorf("%v", err)
	}
	gone(dir)
	// Another may be tried.
	if err := errors.Join(failed.Group(dir, mkdir), failed.Close()); err != nil {
		t.Error(err)
	}
	gone(dir)
}
