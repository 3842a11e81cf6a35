package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A path that is not absolute, as of a folder that could not be found, ends the walk.
func TestAroundRelative(t *testing.T) {
	for _, dir := range []string{"", ".", "no/such/folder"} {
		if _, tree := Around(dir); tree != nil {
			t.Errorf("%q: %+v", dir, tree)
		}
	}
}

// The kernel takes ".." after a link for the folder above what that leads to.
func TestTarget(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err := errors.Join(err, os.MkdirAll(top+"/p/in", 0o755), os.MkdirAll(top+"/far/x/in", 0o755), os.Symlink("../far/x/in", top+"/p/link")); err != nil {
		t.Fatal(err)
	}
	file := top + "/p/.git"
	for text, want := range map[string]string{
		"gitdir: ../r/.git/worktrees/w\n": top + "/r/.git/worktrees/w", "gitdir: /r/.git": "/r/.git", "gitdir: ./l": top + "/p/l",
		"gitdir: in/../link": top + "/far/x/in", "gitdir: link/..": top + "/far/x", "gitdir: " + top + "/p/link/../in": top + "/far/x/in",
		"gitdir: link/../none": "", "gitdir: ": "", "gitdir: ../x\x00/y": top + "/x", "gitdir: ../r" + strings.Repeat("\n", 9000): top + "/r", "x": "",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Target(file, top+"/p"); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
