package launch

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/enr/inner/isolator/plan"
)

// TestReplacedByLink: a source that a link has come before, or into the place of, is none.
func TestReplacedByLink(t *testing.T) {
	mounted, err := identified([]plan.Shown{{Path: "/proc", Source: "/proc"}, {Path: "/dev"}})
	if err != nil || mounted[0].Ino == 0 {
		t.Fatalf("%v, %v", mounted, err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/proc", link); err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{link, filepath.Join(link, "self")} {
		if _, err := identified([]plan.Shown{{Path: source, Source: source}}); err == nil {
			t.Errorf("a link: %s passes as a source", source)
		}
	}
}
