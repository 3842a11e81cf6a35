package git

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// script runs a script in a folder, as a person outside, and returns what it prints.
func script(t *testing.T, dir, text string) string {
	t.Helper()
	cmd := exec.Command("bash", "-euc", text) // allowed: the person's own git
	cmd.Dir, cmd.Env = dir, append(os.Environ(),
		"HOME="+dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=C", "GIT_COMMITTER_EMAIL=c@x",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", text, err, out)
	}
	return strings.TrimSpace(string(out))
}

// home makes a home with a repository, app.
func home(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	script(t, dir, "git init -q -b main app; cd app; echo one >a; git add .; git commit -qm first")
	return dir
}

// TestFind is what a .git may be, and what is believed of it.
func TestFind(t *testing.T) {
	for _, c := range []struct{ name, script, reason string }{
		{"plain", "mkdir -p app/x/y; cd app/x/y; pwd", ""},
		{"worktree", "cd app; git worktree add -q ../w; cd ../w; pwd", ""},
		{"worktree-moved-in", "cd app; git worktree add -q ../w; mkdir ../v; cp ../w/.git ../v/; cd ../v; pwd", "which has that worktree at"},
		{"pointer-to-another", "mkdir v; echo gitdir: $PWD/app/.git >v/.git; cd v; pwd", "that of the folder it lies in"},
		{"pointer-to-a-submodule", "git init -q s; cd s; git submodule --quiet add ../app sub; mkdir ../v; echo gitdir: $PWD/.git/modules/sub >../v/.git; cd ../v; pwd", "its work tree is another folder"},
		{"pointer-commondir", "mkdir -p v/g; echo gitdir: g >v/.git; echo $PWD/app/.git >v/g/commondir; echo $PWD/v/.git >v/g/gitdir; cd v; pwd", "does not know this worktree"},
		{"submodule", "git init -q s; cd s; git submodule --quiet add ../app sub; cd sub; pwd", ""},
		{"separate", "git init -q --separate-git-dir far v; cd v; pwd", ""},
		{"bare", "git init -q --bare b; cd b; pwd", "bare"},
		{"link", "mv app/.git far; ln -s ../far app/.git; cd app; pwd", ""},
		{"link-to-another", "mkdir v; ln -s ../app/.git v/.git; cd v; pwd", "that of the folder it lies in"},
		{"refs-link", "mv app/.git/refs r; ln -s ../../r app/.git/refs; cd app; pwd", "refs is no folder"},
		{"logs-link", "mv app/.git/logs r; ln -s ../../r app/.git/logs; cd app; pwd", "logs is a link"},
		{"partial", "cd app; git config remote.o.promisor true; pwd", ""},
		{"reftable", "cd app; git config core.repositoryformatversion 1; git config extensions.refstorage reftable; pwd", "kept as \"reftable\""},
		{"sha256", "git init -q --object-format=sha256 v; cd v; pwd", "names of SHA-256"},
		{"extension", "cd app; git config core.repositoryformatversion 1; git config extensions.new x; pwd", "not known"},
		{"version", "cd app; git config core.repositoryformatversion 2; pwd", "format"},
		{"worktree-setting", "cd app; git config core.worktree ../..; pwd", "core.worktree"},
		{"config-fifo", "cd app; rm .git/config; mkfifo .git/config; pwd", "not a regular file"},
		{"shared", "git clone -q --shared app v; cd v; pwd", "borrows objects"},
		{"git-file-text", "mkdir v; echo hello >v/.git; cd v; pwd", "not git's"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Find(script(t, home(t), c.script))
			if err != nil || c.reason == "" && r.Reason != "" || !strings.Contains(r.Reason, c.reason) {
				t.Errorf("%v, reason %q, want %q", err, r.Reason, c.reason)
			}
		})
	}
	if r, err := FindAt(t.TempDir()); !errors.Is(err, ErrNone) {
		t.Errorf("%+v, %v", r, err)
	}
	t.Chdir(t.TempDir())
	if _, err := Find(""); !errors.Is(err, ErrNone) {
		t.Errorf("%v", err)
	}
}

// Git enters the places of submodules by itself, also those that only a part of a split index names.
func TestGitlinks(t *testing.T) {
	top := filepath.Join(home(t), "app")
	script(t, top, "for p in gone deep/there; do git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),$p; done; git init -q deep/there; git commit -qm subs; git update-index --split-index; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),late")
	r, err := Find(top)
	if err != nil {
		t.Fatal(err)
	}
	vacant, there, err := Gitlinks(r)
	if err != nil || !slices.Equal(vacant, []string{"gone", "late"}) || !slices.Equal(there, []string{"deep/there"}) {
		t.Errorf("%q, %q, %v", vacant, there, err)
	}
	script(t, top, "git update-index --no-split-index; truncate -s 100 .git/index")
	if _, _, err := Gitlinks(r); err == nil {
		t.Error("an index that is cut off has all")
	}
	script(t, top, "rm .git/index .git/sharedindex.*; git reset -q")
	if vacant, _, err := Gitlinks(r); err != nil || len(vacant) != 1 {
		t.Errorf("%q, %v", vacant, err)
	}
	script(t, top, "truncate -s 130M .git/sharedindex.x")
	if _, _, err := Gitlinks(r); err == nil {
		t.Error("an index of any size is read")
	}
}

// A commit has those before it, and no others.
func TestContains(t *testing.T) {
	top := filepath.Join(home(t), "app")
	ids := strings.Fields(script(t, top, "git commit -q --allow-empty -m second; git switch -q --orphan other; git commit -q --allow-empty -m third; git rev-parse main~ main other"))
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, ".git")
	if !Contains(program, dir, ids[1], ids[0]) || Contains(program, dir, ids[0], ids[1]) || Contains(program, dir, ids[2], ids[0]) || Contains(program, dir, ids[1], "") {
		t.Error("a commit has the one before it")
	}
}
