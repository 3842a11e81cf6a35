package git

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/enr/inner/profile/gitconfig"
)

// modesScript writes into most files of a git directory.
const modesScript = `git checkout -qb topic; echo x >>a; mkdir -p n; head -c 3000 /dev/zero >n/f; git add .; git commit -qm x; git tag -a -m t v1; git branch deep/er/branch
git switch -qc other main; echo z >>a; git stash -q; git worktree add -q wt; git config branch.other.remote .; git config branch.other.merge refs/heads/main
echo y >>a; git commit -qam y; git merge topic >/dev/null || :`

// TestModes compares the modes of what inner writes into a repository with those that git gives it.
func TestModes(t *testing.T) {
	for _, c := range []struct {
		mask   int
		shared string
	}{{0o022, ""}, {0o002, "umask"}, {0o002, "group"}, {0o077, "all"}, {0o027, "0640"}, {0o077, "0660"}} {
		sameModes(t, c.mask, c.shared)
	}
}

func sameModes(t *testing.T, mask int, shared string) {
	old := syscall.Umask(0o022)
	defer func() { syscall.Umask(old) }()
	s := newFixture(t)
	syscall.Umask(mask)
	if shared != "" {
		s.host(s.top, "git config core.sharedRepository "+shared)
	}
	s.host(s.top, "chmod 640 .git/config; git config branch.main.remote .; cp -a ../app ../twin")
	c := s.stage(s.top, "r1")
	s.box(c, s.top, "umask 055; "+modesScript)
	rep := s.cross(c, true)
	s.host(filepath.Join(s.home, "twin"), modesScript)
	list := "find .git \\( -name COMMIT_EDITMSG -o -name AUTO_MERGE -o -name inner -o -path '.git/objects/info*' \\) -prune -o -printf '%P %m\\n' | sort"
	want := map[string]string{}
	for line := range strings.Lines(s.host(filepath.Join(s.home, "twin"), list)) {
		name, mode, _ := strings.Cut(line, " ")
		want[name] = mode
	}
	compared := 0
	for line := range strings.Lines(s.host(s.top, list)) {
		name, mode, _ := strings.Cut(line, " ")
		if was := want[name]; was != "" {
			if compared++; was != mode {
				t.Errorf("umask %03o, sharedRepository %q: %s has %s, git gives it %s", mask, shared, name, strings.TrimSpace(mode), was)
			}
		}
	}
	if compared < 70 {
		t.Errorf("only %d files compared: %+v", compared, rep)
	}
	for _, name := range []string{"MERGE_HEAD", "logs/refs/stash", "worktrees/wt/HEAD", "worktrees/wt/index", "refs/heads/deep/er/branch", "logs/refs/heads/deep/er", "refs/tags/v1"} {
		if _, err := os.Stat(filepath.Join(s.top, ".git", name)); err != nil || want[name] == "" {
			t.Errorf("%s did not cross: %v %+v", name, err, rep)
		}
	}
}

// TestSharing reads the values that git knows.
func TestSharing(t *testing.T) {
	for value, want := range map[string]sharing{
		"umask": 0, "false": 0, "0": 0, "group": shareGroup, "TRUE": shareGroup, "1": shareGroup, "all": shareAll, "world": shareAll, "everybody": shareAll,
		"2": shareAll, "0660": -0o660, "0640": -0o640, "0777": -0o666, "600": -0o600, "0440": 0, "junk": 0,
	} {
		s := sharingOf([]gitconfig.Entry{{Key: "core.sharedrepository", Value: value}})
		again := sharingOf([]gitconfig.Entry{{Key: "core.sharedrepository", Value: s.setting()}})
		if s != want || again != s {
			t.Errorf("%q: %o, and %q is %o", value, s, s.setting(), again)
		}
	}
}
