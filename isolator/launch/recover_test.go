package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// A program that makes the launcher open as many files as it may does not keep it from seeing
// that a place has lost its mount.
func TestLostWithoutDescriptors(t *testing.T) {
	place := t.TempDir()
	c := &covered{hidden: []string{place, "/proc"}, table: -1, root: -1, moves: moves{fd: -1}}
	if err := c.follow(unix.Getpid()); err != nil {
		t.Fatal(err)
	}
	defer c.close()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	c.moves.watch(c.root, c.places())
	lost, absent, err := c.lost()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if c.moves.whole {
		t.Error("folders are watched without a descriptor")
	}
	if err != nil || !slices.Equal(lost, []string{place}) || len(absent) > 0 {
		t.Errorf("lost %q, absent %q, %v", lost, absent, err)
	}
}

// What is renamed, made or removed at a place, or on the way to it, is seen, also after the folders
// have become others. What else happens in them is not.
func TestMoves(t *testing.T) {
	top := t.TempDir()
	at := func(name string) string { return filepath.Join(top, name) }
	must(t, os.Mkdir(at("d"), 0o700))
	must(t, os.WriteFile(at("d/place"), nil, 0o600))
	c := &covered{hidden: []string{at("d/place")}, table: -1, root: -1, moves: moves{fd: -1}}
	must(t, c.follow(unix.Getpid()))
	defer c.close()
	move := func(from, to string) func() { return func() { must(t, os.Rename(at(from), at(to))) } }
	for _, step := range []struct {
		name string
		do   func()
		want bool
		made bool // counts as made by the box
	}{
		{"nothing", func() {}, false, false},
		{"another name", func() { must(t, os.WriteFile(at("d/place2"), nil, 0o600)) }, false, false},
		{"renamed over", move("d/place2", "d/place"), true, false},
		{"many others", func() {
			for i := range 3000 {
				must(t, os.WriteFile(at(fmt.Sprint("d/", i)), nil, 0o600))
			}
		}, false, false},
		{"moved away", move("d/place", "d/place~"), true, true},
		{"moved back", move("d/place~", "d/place"), true, false},
		{"read", func() { _, _ = os.ReadFile(at("d/place")) }, false, false},
		{"removed", func() { must(t, os.Remove(at("d/place"))) }, true, true},
		{"made", func() { must(t, os.WriteFile(at("d/place"), nil, 0o600)) }, true, true},
		{"the folder moved away", move("d", "e"), true, true},
		{"in the old one", move("e/place", "e/place~"), false, false},
		{"a new folder", func() { must(t, os.Mkdir(at("d"), 0o700)) }, true, true},
		{"in the new one", func() { must(t, os.WriteFile(at("d/place"), nil, 0o600)) }, true, true},
		{"removed again", func() { must(t, os.Remove(at("d/place"))) }, true, true},
		{"a folder renamed to it", func() { must(t, os.Mkdir(at("f"), 0o700)); move("f", "d/place")() }, true, true},
	} {
		c.moves.made = nil
		if c.moves.watch(c.root, c.places()); !c.moves.whole {
			t.Fatalf("%s: not every folder is watched", step.name)
		}
		step.do()
		if got, made := c.moves.read(), c.moves.made[at("d/place")]; got != step.want || made != step.made || len(c.moves.made) > 1 {
			t.Errorf("%s: %v, made %v", step.name, got, c.moves.made)
		}
	}
}
