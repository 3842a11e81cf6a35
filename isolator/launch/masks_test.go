package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
)

// TestMasks: what is masked from outside is empty under every name it has in the box, and
// can be neither written nor uncovered; without the mask it is read. What was exchanged
// since it was found, lies behind a link, or would be covered by something else than the
// empty file keeps the program from starting.
func TestMasks(t *testing.T) {
	nsenter, why := host.FindHelper("nsenter", os.Getenv("PATH"))
	if nsenter == "" {
		t.Fatal(why)
	}
	const tries = `cat a b /proc/1/root$PWD/b; rm -f b; mv b x; umount b; ln b y; (echo x >b); unshare -Ur true; cat b; grep -o 'CapBnd:.*' /proc/self/status`
	const none = "CapBnd:\t0000000000000000\n"
	for name, c := range map[string]struct {
		change  func(t *testing.T, dir string, j *job)
		want    string
		refused string
	}{
		"masked":     {want: none},
		"not masked": {change: func(_ *testing.T, _ string, j *job) { j.Masks, j.Argv = nil, []string{"/bin/sh", "-c", "cat a b"} }, want: "SECRET\n"},
		"exchanged":  {change: func(_ *testing.T, _ string, j *job) { j.Masks[0].Ino++ }, refused: "was exchanged"},
		"gone":       {change: func(t *testing.T, dir string, _ *job) { must(t, os.Remove(filepath.Join(dir, "b"))) }, refused: "cannot be seen in the box"},
		"a link": {change: func(t *testing.T, dir string, j *job) {
			must(t, os.Rename(filepath.Join(dir, "b"), filepath.Join(dir, "c")))
			must(t, os.Symlink("c", filepath.Join(dir, "b")))
		}, refused: "cannot be seen in the box"},
		"behind a link": {change: func(t *testing.T, dir string, j *job) {
			must(t, os.Symlink(dir, filepath.Join(dir, "way")))
			j.Masks[0].Path = filepath.Join(dir, "way", "b")
		}, refused: "cannot be seen in the box"},
		"another cover": {change: func(_ *testing.T, dir string, j *job) { j.Cover.Path = filepath.Join(dir, "b") }, refused: "was exchanged"},
		"a writable cover": {change: func(_ *testing.T, dir string, j *job) {
			j.Args = []string{"--bind", dir, dir, "--bind", j.Cover.Source, j.Cover.Path}
		}, refused: "was exchanged"},
	} {
		dir, empty := t.TempDir(), filepath.Join(t.TempDir(), "empty")
		must(t, os.WriteFile(empty, nil, 0o444))
		var st unix.Stat_t
		for _, name := range []string{"a", "b"} {
			must(t, os.WriteFile(filepath.Join(dir, name), []byte("SECRET\n"), 0o600))
			must(t, unix.Stat(filepath.Join(dir, name), &st))
		}
		j := sh(tries)
		j.Dir, j.Nsenter = dir, nsenter
		j.Args = []string{"--bind", dir, dir, "--ro-bind", empty, filepath.Join(dir, "a")}
		j.Cover = plan.Cover{Path: filepath.Join(dir, "a"), Source: empty}
		j.Masks = []plan.Mask{{Path: filepath.Join(dir, "b"), Dev: st.Dev, Ino: st.Ino}}
		if c.change != nil {
			c.change(t, dir, &j)
		}
		r, out, errs := j.run(t)
		if out != c.want || r.Started == (c.refused != "") || !strings.Contains(r.Reason, c.refused) || c.refused != "" && r.Code != CodeNoSandbox {
			t.Errorf("%s: %+v %q %q", name, r, out, errs)
		}
		if data, err := os.ReadFile(filepath.Join(dir, "b")); err == nil && string(data) != "SECRET\n" {
			t.Errorf("%s: outside it is %q now", name, data)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
