package hooks

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestObserve(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	at := func(name string, when time.Time) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
		return path
	}
	old, future := at("old", now.Add(-time.Hour)), at("future", now.Add(time.Hour))
	gone := filepath.Join(dir, "gone")
	under := filepath.Join(old, "under-a-file")
	watch, absent := Observe([]string{old, gone, future, old, gone, under}, now)
	if !slices.Equal(watch, []string{old}) || !slices.Equal(absent, []string{gone}) {
		t.Errorf("watch %q, absent %q", watch, absent)
	}
	if err := os.Chtimes(dir, now.Add(-time.Hour), now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	inWatched, deep, deeper := filepath.Join(dir, "gone"), filepath.Join(dir, "x", "y", "z"), filepath.Join(old+".d", "x", "y")
	watch, absent = Observe([]string{inWatched, deep, dir}, now)
	if !slices.Equal(watch, []string{dir}) || len(absent) > 0 {
		t.Errorf("in a watched folder: watch %q, absent %q", watch, absent)
	}
	watch, absent = Observe([]string{deep, deeper, filepath.Join(dir, "x")}, now)
	if want := []string{filepath.Join(dir, "x"), old + ".d"}; len(watch) > 0 || !slices.Equal(absent, want) {
		t.Errorf("missing folders: watch %q, absent %q, want %q", watch, absent, want)
	}
}
