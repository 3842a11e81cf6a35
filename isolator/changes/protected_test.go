package changes

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What git or another tool would run or believe after an apply is to be named: all of a git
// directory, a bare one too; what settings of git name; what the table lists, at any depth; the folders on the way there.
func TestProtectedChanges(t *testing.T) {
	k, original, tree := session(t, map[string]string{"src/main.go": "x", "tools/clean.sh": "x", "hooks2/pre-commit": "x", "pkg/go.mod": "x"})
	git := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + filepath.Dir(original), "PATH=/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	// The original has a repository whose settings name more through an include. (A copy
	// made before it does not matter: what counts is what git outside will read.)
	git(original, "init", "-q", ".")
	git(original, "config", "include.path", "../shared.conf")
	git(original, "config", "filter.x.clean", "./tools/clean.sh %f")
	git(original, "config", "filter.x.smudge", "sh scripts/new.sh")
	git(original, "config", "filter.y.smudge", "sh way/linked.sh")
	must(t, os.Symlink("src", filepath.Join(original, "way")))
	write(t, filepath.Join(original, "shared.conf"), "[core]\n\thooksPath = hooks2\n")
	// What the box did in its copy.
	git(tree, "init", "-q", "--bare", "bare.git")
	git(tree, "init", "-q", "new")
	write(t, filepath.Join(tree, "bare.git/hooks/post-update"), "x")
	must(t, os.Symlink("../../x", filepath.Join(tree, "bare.git/refs/heads/l")), os.Symlink("../../x", filepath.Join(tree, "new/.git/COMMIT_EDITMSG")), os.Symlink("x", filepath.Join(tree, "new/.git/logs")))
	for _, p := range []string{
		"new/.git/refs/heads/main", "new/.git/objects/ab/cd", "new/.git/objects/info/alternates", "new/.git/odd", "new/.git/index.lock", "new/.git/MERGE_MSG", "new/.git/branches/o",
		"tools/clean.sh", "tools/other.sh", "scripts/new.sh", "hooks2/pre-commit", "hooks2/post-checkout", "shared.conf", "src/linked.sh",
		"pkg/.envrc", "pkg/.vscode/tasks.json", "pkg/.claude/settings.json", ".gitmodules", "new/.gitmodules", "pkg/.gitmodules", "lefthook.yml", "src/lefthook.yml",
		"node_modules/x/.vscode/settings.json", "Makefile", "CLAUDE.md", "src/main.go", "src/config",
	} {
		write(t, filepath.Join(tree, p), "new")
	}
	must(t, os.RemoveAll(filepath.Join(tree, "pkg/go.mod")), os.Symlink("pkg", filepath.Join(tree, ".idea")))
	g := NewGuard([]string{filepath.Dir(original)}, func(string) string { return os.DevNull })
	var got []string
	for _, c := range compare(t, k) {
		inGit := strings.Contains(c.Path+"/", ".git/")
		switch {
		case inGit && !g.Protects(c):
			t.Errorf("%s is written without a word", c.Path)
		case !inGit && g.Protects(c):
			got = append(got, c.Path)
		}
	}
	want := []string{
		".gitmodules", ".idea", "hooks2/post-checkout", "hooks2/pre-commit", "lefthook.yml", "new/.gitmodules",
		"pkg/.claude", "pkg/.claude/settings.json", "pkg/.envrc", "pkg/.vscode", "pkg/.vscode/tasks.json", "scripts/new.sh", "shared.conf", "src/linked.sh", "tools/clean.sh",
	}
	slices.Sort(got)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		for _, p := range want {
			if !slices.Contains(got, p) {
				t.Errorf("%s is applied without a word", p)
			}
		}
		for _, p := range got {
			if !slices.Contains(want, p) {
				t.Errorf("%s is to be named, and runs nothing", p)
			}
		}
	}
	// A folder on the way to what is named may not become a link.
	must(t, os.RemoveAll(filepath.Join(tree, "hooks2")), os.Symlink("src", filepath.Join(tree, "hooks2")))
	for _, c := range compare(t, k) {
		if c.Path == "hooks2" && !g.Protects(c) {
			t.Error("the folder of hooks becomes a link without a word")
		}
	}
}

// What links of the home lead to is to be named, too, there or not: start-up files, links in start-up folders, what
// settings of git name.
func TestProtectedThroughLinks(t *testing.T) {
	k, original, tree := session(t, map[string]string{"bashrc": "x", "config.fish": "x", "gh/post-commit": "x", "fsm": "x", "fine": "x"})
	home := filepath.Dir(original)
	for link, to := range map[string]string{".bashrc": "bashrc", ".zshrc": "zshrc", ".config/fish/config.fish": "config.fish", "gh": "gh", "fsm": "fsm"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(home, link)), 0o755), os.Symlink(filepath.Join(original, to), filepath.Join(home, link)))
	}
	write(t, filepath.Join(home, ".gitconfig"), "[core]\n\thooksPath = ~/gh\n\tfsmonitor = ~/fsm\n")
	for _, p := range []string{"bashrc", "zshrc", "config.fish", "gh/pre-commit", "fsm", "fine", "new"} {
		write(t, filepath.Join(tree, p), "new")
	}
	g := NewGuard([]string{home}, func(name string) string {
		return map[string]string{"HOME": home, "GIT_CONFIG_SYSTEM": os.DevNull}[name]
	})
	var free []string
	for _, c := range compare(t, k) {
		if !g.Protects(c) {
			free = append(free, c.Path)
		}
	}
	if !slices.Equal(free, []string{"fine", "new"}) {
		t.Errorf("applied without a word: %q", free)
	}
}
