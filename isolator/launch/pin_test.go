package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
)

// TestPinned: a link that is pinned cannot be removed, renamed or replaced in the box,
// and leads where it did; without the pin each of these works. One that was exchanged
// before keeps the program from starting.
func TestPinned(t *testing.T) {
	nsenter, why := host.FindHelper("nsenter", os.Getenv("PATH"))
	if nsenter == "" {
		t.Fatal(why)
	}
	const tries = `cat link/f; rm link; mv link x; ln -s /tmp n; mv -T n link; readlink link`
	for name, c := range map[string]struct {
		target  string
		pin     bool
		want    string
		code    int
		refused string
	}{
		"pinned":    {"real", true, "MINE\nreal\n", 0, ""},
		"not":       {"real", false, "MINE\n/tmp\n", 0, ""},
		"exchanged": {"other", true, "", CodeNoSandbox, "was exchanged"},
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "real", "f"), []byte("MINE\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		j := sh(tries)
		j.Args, j.Dir, j.Nsenter = []string{"--bind", dir, dir}, dir, nsenter
		if c.pin {
			j.Pins = []plan.Pin{{Path: filepath.Join(dir, "link"), Target: c.target}}
		}
		r, out, errs := j.run(t)
		if out != c.want || r.Code != c.code || !strings.Contains(r.Reason, c.refused) {
			t.Errorf("%s: %+v %q %q", name, r, out, errs)
		}
	}
}
