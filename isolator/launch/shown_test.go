package launch

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/enr/inner/isolator/plan"
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
	s := &spec{Shown: []plan.Shown{{Path: probed, Dev: uint64(st.Dev), Ino: st.Ino}}}
	if err := lookAround(s); err == nil || !strings.Contains(err.Error(), "was replaced") {
		t.Errorf("a folder with nothing mounted on it: %v", err)
	}
	mounted, err := identified([]plan.Shown{{Path: "/proc", Source: "/proc"}, {Path: "/dev"}})
	if err != nil || mounted[0].Ino == 0 {
		t.Fatalf("%v, %v", mounted, err)
	}
	if err := lookAround(&spec{Shown: mounted}); err != nil {
		t.Errorf("a mount: %v", err)
	}
	if err := syscall.Rename(other, probed); err != nil {
		t.Fatal(err)
	}
	if err := lookAround(s); err == nil || !strings.Contains(err.Error(), "was replaced") {
		t.Errorf("a replaced folder: %v", err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(probed, link); err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{link, filepath.Join(link, "below")} {
		if _, err := identified([]plan.Shown{{Path: source, Source: source}}); err == nil {
			t.Errorf("a link: %s passes as a source", source)
		}
	}
	if err := os.Remove(probed); err != nil {
		t.Fatal(err)
	}
	if err := lookAround(s); err == nil {
		t.Error("a folder that is gone passes")
	}
}
