package stage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/owned"
)

// kill lets go of what a run holds, as the kernel does of a killed process.
func kill(r *Run) {
	for _, f := range []*owned.Folder{r.staged, r.record, r.disk, r.kept} {
		f.Leave()
	}
}

func there(p string) bool { _, err := os.Lstat(p); return err == nil }

// TestDiskGoesUnlessKept: what is in Disk goes with the run, with the next
// sweep after a crash, and stays when it is kept.
func TestDiskGoesUnlessKept(t *testing.T) {
	b, home := base(t), t.TempDir()
	begin := func() (*Run, string) {
		t.Helper()
		r, err := New(b, home)
		if err != nil {
			t.Fatal(err)
		}
		dir, err := r.Disk()
		if err != nil {
			t.Fatal(err)
		}
		// What a box may leave.
		if err := os.MkdirAll(dir+"/tree/locked", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/tree/locked/x", nil, 0); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir+"/tree/locked", 0); err != nil {
			t.Fatal(err)
		}
		return r, dir
	}
	closed, closedDir := begin()
	crashed, crashedDir := begin()
	kept, keptDir := begin()
	back, backDir := begin()
	if fi, err := os.Stat(closedDir); err != nil || fi.Mode().Perm() != 0o700 || filepath.Dir(closedDir) != Copies(home) {
		t.Errorf("%s: %v %v", closedDir, fi.Mode(), err)
	}
	keptAt, err := kept.Keep()
	if err != nil {
		t.Fatal(err)
	}
	backAt, err := back.Keep()
	if err != nil {
		t.Fatal(err)
	}
	if !owned.Alive(keptAt) {
		t.Error("a kept folder of a live run is not alive")
	}
	if err := Discard(home, backAt); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Run{closed, kept, back} {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if owned.Alive(keptAt) {
		t.Error("a kept folder of a closed run is alive")
	}
	kill(crashed)
	live, liveDir := begin()
	if _, err := Sweep(b, home, nil); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]bool{closedDir: false, crashedDir: false, keptDir: false, backDir: false, backAt: false, keptAt: true, liveDir: true} {
		if there(path) != want {
			t.Errorf("%s there: %v", path, !want)
		}
	}
	if err := Discard(home, keptAt); err != nil || there(keptAt) || there(filepath.Join(Copies(home), filepath.Base(keptAt))) {
		t.Errorf("discarded: %v", err)
	}
	if err := live.Close(); err != nil {
		t.Error(err)
	}
}

// TestWorkspaces: one run per workspace, whatever the number of the process that
// left a lock; nothing through a link; nothing left.
func TestWorkspaces(t *testing.T) {
	b, root := base(t), t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	begin := func() *Run {
		t.Helper()
		r, err := New(b, home)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	want := func(what string, err error, part string) {
		t.Helper()
		if r := fault.AsRefusal(err); r == nil || r.Code != 125 || !strings.Contains(r.Msg, part) {
			t.Errorf("%s: %v, want %q", what, err, part)
		}
	}
	deep := []host.Placeholder{{Path: root + "/a/b/c"}, {Path: root + "/a/f", Content: []byte{}}, {Path: root}}
	mine := filepath.Join(root, fmt.Sprintf(".inner-%d.lock", os.Getpid()))
	// A crashed run's lock, under our own number.
	if err := os.WriteFile(mine, []byte("run old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	one := begin()
	if err := one.Workspaces(root, deep); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(root + "/a/f"); err != nil || !fi.Mode().IsRegular() || !there(root+"/a/b/c") {
		t.Errorf("not made: %v", err)
	}
	// Another process holds one: in this test another open file does.
	held := filepath.Join(root, ".inner-4242.lock")
	if err := os.Rename(mine, held); err != nil {
		t.Fatal(err)
	}
	two := begin()
	want("the same one", two.Workspaces(root, deep[:1]), fmt.Sprintf("%q is in use by process 4242 (run %s)", root+"/a/b/c", one.ID))
	if err := two.Workspaces(root, []host.Placeholder{{Path: root + "/a/b/other"}}); err != nil {
		t.Errorf("another one: %v", err)
	}
	if err := os.Rename(held, filepath.Join(root, ".inner-4243.lock")); err != nil {
		t.Fatal(err)
	}
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	if there(root+"/a/b/c") || !there(root+"/a/b/other") {
		t.Error("the first run's places are there, or the second's are not")
	}
	if err := two.Close(); err != nil {
		t.Error(err)
	}
	three := begin() // takes the renamed lock away: nobody holds it
	defer three.Close()
	outside := t.TempDir()
	if err := os.Symlink(outside, root+"/link"); err != nil {
		t.Fatal(err)
	}
	want("through a link", three.Workspaces(root, []host.Placeholder{{Path: root + "/link/x"}}), "is a link")
	if there(outside + "/x") {
		t.Error("made through a link")
	}
	if err := three.Close(); err != nil {
		t.Error(err)
	}
	if err := os.Remove(root + "/link"); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(root); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	four := begin()
	defer four.Close()
	want("missing", four.Workspaces(root+"/no", deep), "does not exist")
	if err := os.Chmod(root, 0o777); err != nil {
		t.Fatal(err)
	}
	want("open", four.Workspaces(root, deep), "written by others")
}
