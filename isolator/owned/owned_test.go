package owned

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A child that is being started has a copy of each descriptor, as here, until it runs its program.
func TestLeaveLetsGoOfCopies(t *testing.T) {
	f, err := New(filepath.Join(t.TempDir(), "base"), "one")
	if err != nil {
		t.Fatal(err)
	}
	child, err := unix.FcntlInt(f.lock.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(child)
	if !Alive(f.Path) {
		t.Error("a folder that is held counts as left")
	}
	f.Leave()
	if Alive(f.Path) {
		t.Error("a folder that was left counts as held")
	}
}
