package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// Without git outside nothing is staged, and everything of a repository that git would obey
// is read-only; what lies in the work tree keeps its guard.
func TestBoxGitNotInstalled(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, ".git")
	for _, name := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rc := profile.RunConfig{GitDir: "own", Home: "host", Workdir: top, WorkdirMode: profile.RW}
	hooks := host.GitGuard{Dir: filepath.Join(top, "hooks"), Pointer: true, Missing: []host.Placeholder{{Path: filepath.Join(top, "hooks")}}}
	facts := func() *host.Facts {
		return &host.Facts{Repositories: []string{top}, Git: []host.GitGuard{{Dir: dir, ReadOnly: []string{filepath.Join(dir, "config")}, Missing: []host.Placeholder{{Path: filepath.Join(dir, "hooks")}}}, hooks}}
	}
	a := &app{home: "/nowhere"}
	same := func(x, y host.GitGuard) bool {
		return x.Dir == y.Dir && x.Pointer == y.Pointer && len(x.Missing) == len(y.Missing)
	}
	f := facts()
	b := a.findBoxGits(rc, f, "")
	if len(b.repos) != 0 || len(b.lines) != 1 || !strings.Contains(b.lines[0], "git is not installed outside") {
		t.Errorf("%+v", b)
	}
	if !slices.EqualFunc(f.Git, []host.GitGuard{{Dir: dir, Pointer: true}, hooks}, same) {
		t.Errorf("guards without git: %+v", f.Git)
	}
	f = facts()
	b = a.findBoxGits(rc, f, "/usr/bin/git")
	if len(b.repos) != 1 || len(b.lines) != 0 {
		t.Errorf("%+v", b)
	}
	if !slices.EqualFunc(f.Git, []host.GitGuard{hooks}, same) {
		t.Errorf("guards of what is staged: %+v", f.Git)
	}
}
