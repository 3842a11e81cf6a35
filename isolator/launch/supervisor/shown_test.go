package supervisor

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/enr/inner/isolator/launch/wire"
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
	was := func(path string) wire.Shown {
		t.Helper()
		var st syscall.Stat_t
		if err := syscall.Lstat(path, &st); err != nil {
			t.Fatal(err)
		}
		return wire.Shown{Path: path, Source: path, Dev: uint64(st.Dev), Ino: st.Ino}
	}
	s := &spec{Shown: []wire.Shown{was(probed)}}
	if err := lookAround(s); err == nil || !strings.Contains(err.Error(), "was replaced") {
		t.Errorf("a folder with nothing mounted on it: %v", err)
	}
	if err := lookAround(&spec{Shown: []wire.Shown{was("/proc"), {Path: "/dev"}}}); err != nil {
		t.Errorf("a mount: %v", err)
	}
	if err := syscall.Rename(other, probed); err != nil {
		t.Fatal(err)
	}
	if err := lookAround(s); err == nil || !strings.Contains(err.Error(), "was replaced") {
		t.Errorf("a replaced folder: %v", err)
	}
	if err := os.Remove(probed); err != nil {
		t.Fatal(err)
	}
	if err := lookAround(s); err == nil {
		t.Error("a folder that is gone passes")
	}
}
