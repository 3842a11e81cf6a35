package repos

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestInert(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, line string
		want       bool
	}{
		{"nothing", "", true},
		{"a plain repository", "git init -q sub; git -C sub -c user.name=a -c user.email=a@x commit -q --allow-empty -m x", true},
		{"a monitor", "git init -q sub; git -C sub config core.fsmonitor /x", false},
		{"a filter", "git init -q sub; git -C sub config filter.x.clean /x", false},
		{"another work tree", "git init -q sub; git -C sub config core.worktree /", false},
		{"an old monitor", "git init -q sub; git -C sub config core.fsmonitor /x; touch -d 2001-01-01 sub sub/.git sub/.git/config", false},
		{"a hook", "git init -q sub; mkdir -p sub/.git/hooks; printf '#!/bin/sh\n' >sub/.git/hooks/post-index-change; chmod +x sub/.git/hooks/post-index-change", false},
		{"hooks are a link", "git init -q sub; rm -rf sub/.git/hooks; ln -s /tmp sub/.git/hooks", false},
		{"settings are a link", "git init -q sub; mv sub/.git/config x; ln -s ../../x sub/.git/config", false},
		{"settings nobody can read", "git init -q sub; echo '[' >sub/.git/config", false},
		{"commondir", "git init -q sub; echo .. >sub/.git/commondir", false},
		{"config.worktree", "git init -q sub; : >sub/.git/config.worktree", false},
		{"an unfinished rebase", "git init -q sub; mkdir sub/.git/rebase-merge", false},
		{"a pointer to a repository", "git init -q other; mkdir sub; echo 'gitdir: ../other/.git' >sub/.git", false},
		{"a pointer to a known repository", "git init -q known; mkdir sub; echo 'gitdir: ../known/.git' >sub/.git", true},
		{"a pointer to nowhere", "mkdir sub; echo 'gitdir: ../.git/modules/sub' >sub/.git", false},
		{"a pointer to nothing yet in a known repository", "git init -q known; mkdir sub; echo 'gitdir: ../known/.git/modules/sub' >sub/.git", true},
		{"the same by way of a link", "git init -q known; mkdir -p sub x/y; ln -s ../x/y sub/l; echo 'gitdir: l/../../known/.git/modules/sub' >sub/.git", false},
		{"nothing beyond a link that leads nowhere", "ln -s elsewhere sub", false},
		{"a pointer through a link", "mkdir sub; ln -s /tmp l; echo 'gitdir: ../l/none' >sub/.git", false},
		{"a .git that is a link", "git init -q other; mkdir sub; ln -s ../other/.git sub/.git", false},
		{"a folder that is a link", "git init -q other; ln -s other sub", false},
		{"one in it with a monitor", "git init -q sub; git init -q sub/deep; git -C sub/deep -c user.name=a -c user.email=a@x commit -q --allow-empty -m x; git -C sub add deep 2>/dev/null; git -C sub/deep config core.fsmonitor /x", false},
		{"an index nobody can read", "git init -q sub; echo x >sub/.git/index", false},
	} {
		dir := filepath.Join(root, c.name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("bash", "-euc", c.line)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", c.name, err, out)
		}
		if got := Inert(filepath.Join(dir, "sub"), []string{filepath.Join(dir, "known/.git")}); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
