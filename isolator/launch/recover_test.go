package launch

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// A program that makes the launcher open as many files as it may does not keep it from seeing
// that a place has lost its mount.
func TestLostWithoutDescriptors(t *testing.T) {
	place := t.TempDir()
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := &covered{hidden: []string{place, "/proc"}, table: -1, root: boxRoot(root)}
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
	lost, _, err := c.lost()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if err != nil || !slices.Equal(lost.hide, []string{place}) {
		t.Errorf("lost %q, %v", lost.hide, err)
	}
}
