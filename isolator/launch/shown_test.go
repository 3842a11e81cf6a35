package launch

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/enr/inner/isolator"
)

// TestExchangedMount: what is mounted must be what was probed.
func TestExchangedMount(t *testing.T) {
	dir := t.TempDir()
	probed, other := filepath.Join(dir, "probed"), filepath.Join(dir, "other")
	for _, d := range []string{probed, other} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	fi, err := os.Lstat(probed)
	if err != nil {
		t.Fatal(err)
	}
	st := fi.Sys().(*syscall.Stat_t)
	s := &spec{Shown: []isolator.Shown{{Path: probed, Dev: uint64(st.Dev), Ino: st.Ino}}}
	if err := lookAround(s); err != nil {
		t.Errorf("the probed folder: %v", err)
	}
	if err := syscall.Rename(other, probed); err != nil {
		t.Fatal(err)
	}
	if err := lookAround(s); err == nil || !strings.Contains(err.Error(), "was exchanged") {
		t.Errorf("an exchanged folder: %v", err)
	}
	if err := os.Remove(probed); err != nil {
		t.Fatal(err)
	}
	if err := lookAround(s); err == nil {
		t.Error("a folder that is gone passes")
	}
}
