package hooks

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
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

func TestMark(t *testing.T) {
	for _, name := range []string{"plain", "a [b]* c"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		state := filepath.Join(dir, "state")
		set := func(token string) {
			t.Helper()
			if err := os.WriteFile(state+"~", []byte(token+"\nmore\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(state+"~", state); err != nil {
				t.Fatal(err)
			}
		}
		same := func(a, b string) bool {
			t.Helper()
			x, err := os.Stat(a)
			if err != nil {
				return false
			}
			y, err := os.Stat(b)
			return err == nil && os.SameFile(x, y)
		}
		mark := func(wantToken string) string {
			t.Helper()
			m, token, err := Mark(state)
			if err != nil || token != wantToken || !same(m, state) {
				t.Fatalf("Mark: %q, %q, %v", m, token, err)
			}
			return m
		}
		if _, _, err := Mark(state); err == nil {
			t.Error("a mark without a state")
		}
		set("one")
		one := mark("one")
		if again := mark("one"); again != one {
			t.Errorf("the mark of one token is %q and %q", one, again)
		}
		foreign := filepath.Join(dir, "state.mine")
		if err := os.WriteFile(foreign, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		// The state is written again with the same token: a shell that knows the
		// mark is not told of a change.
		set("one")
		if same(one, state) {
			t.Error("the old mark is the new state")
		}
		if again := mark("one"); again != one {
			t.Errorf("the mark moved to %q", again)
		}
		set("two")
		two := mark("two")
		if one == two {
			t.Error("two tokens have one mark")
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if want := []string{"state", filepath.Base(two), "state.mine"}; !slices.Equal(names, want) {
			t.Errorf("left in the folder: %q, want %q", names, want)
		}
	}
}

// Many shells mark while the state is replaced: a mark never stands for a
// state with another token.
func TestMarkAtOnce(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	stop := make(chan struct{})
	var writer sync.WaitGroup
	replace := func(token string) {
		tmp := state + "~"
		if os.WriteFile(tmp, []byte(token+"\n"), 0o600) == nil {
			os.Rename(tmp, state)
		}
	}
	replace("a")
	writer.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				replace(string(rune('a' + i%3)))
			}
		}
	})
	for range 500 {
		mark, token, err := Mark(state)
		if err != nil {
			continue // the state was replaced in between; the next prompt tries again
		}
		if got, err := firstLine(mark); err == nil && got != token {
			t.Errorf("the mark of %q holds %q", token, got)
		}
		if want := state + "." + digest(token); mark != want {
			t.Errorf("the mark of %q is %q", token, mark)
		}
	}
	close(stop)
	writer.Wait()
}
