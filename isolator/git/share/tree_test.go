package share

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// newTreeBox makes a repository with a linked worktree, and a box that works in that.
func newTreeBox(t *testing.T) *box {
	b := newRepository(t)
	tree := filepath.Join(t.TempDir(), "linked")
	git(t, b.project, "worktree", "add", "-q", "-b", "topic", tree)
	b.dir, b.tree, b.project = filepath.Join(b.project, ".git"), "linked", tree
	b.enter()
	return b
}

// A box works in a linked worktree as in the main one.
func TestLinkedWorktree(t *testing.T) {
	b := newTreeBox(t)
	b.outside("git config extensions.worktreeConfig true; git config --worktree core.abbrev 12")
	main := filepath.Dir(b.dir)
	b.steps([]step{
		{box: "git status --porcelain; git rev-parse --abbrev-ref HEAD", want: "topic\n"},
		{box: "echo two >b; git add b && git commit -qm second; git log --format=%s", want: "second\nfirst\n"},
		{outside: "git log --format=%s; git status --porcelain; git -C " + main + " log --format=%s topic -1", want: "second\nfirst\nsecond\n"},
		{outside: "git commit -q --allow-empty -m third; echo staged >c; git add c", want: ""},
		{box: "git log -1 --format=%s; git status --porcelain; git reflog | wc -l; git reset -q; rm c", want: "third\nA  c\n4\n"},
		{outside: "git status --porcelain; cd " + main + "; echo main >b; git add b; git commit -qm clash; git status --porcelain", want: ""},
		{box: "git log -1 --format=%s main; git rebase main >/dev/null 2>&1; git status --porcelain; git rev-parse --abbrev-ref HEAD", want: "clash\nAA b\nHEAD\n"},
		// what is half done is the box's own
		{outside: "git status | head -1; ls " + b.dir + "/worktrees/linked | grep rebase", want: "Not currently on any branch.\n"},
		{box: "ls .git/worktrees/linked $D/worktrees/linked 2>/dev/null | grep rebase", want: "rebase-merge\n"},
		{box: "echo both >b; git add b; GIT_EDITOR=true git rebase --continue >/dev/null 2>&1; git log --format=%s | head -2; git rev-parse --abbrev-ref HEAD", want: "third\nsecond\ntopic\n"},
		{outside: "git status --porcelain; git rev-parse --abbrev-ref HEAD; cat b", want: "topic\nboth\n"},
		{box: "echo x >>a; git stash -q; git stash list | wc -l", want: "1\n"},
		{outside: "git -C " + main + " stash list | wc -l; git stash pop -q; git status --porcelain; git checkout -q a", want: "1\n M a\n"},
		{box: "git switch -qc other && sed -i s/x/y/ $D/worktrees/linked/HEAD 2>/dev/null; sed -i s/second/2/ $D/worktrees/linked/COMMIT_EDITMSG && git status --porcelain", want: ""},
		{outside: "git rev-parse --abbrev-ref HEAD; git -C " + main + " worktree list | wc -l", want: "other\n2\n"},
		{box: "git bisect start -q HEAD HEAD~2 >/dev/null && git bisect good >/dev/null; git bisect reset 2>/dev/null; git config --worktree x.y z; git config x.y", want: "z\n"},
		{outside: "git config x.y; git fsck --strict --no-dangling; git status --porcelain; git config core.abbrev; find " + b.dir + "/worktrees/linked -name 'BISECT*'", want: "12\n"},
		// a worktree that the box makes is in the project; a rebase there is the box's own as well
		{box: "git worktree add -q sub -b sub 2>/dev/null; cd sub && echo 3 >b && git commit -qam three && git rebase -q main 2>/dev/null; git rebase -q --exec false HEAD~1 2>/dev/null; git status | grep -c rebas; cd ..", want: "3\n"},
		{outside: "git -C sub log -1 --format=%s; git -C sub status | grep -c rebas; cat sub/.git | wc -l", want: "three\n0\n1\n"},
		{box: "git -C sub rebase --abort; git worktree remove sub && git worktree list | wc -l", want: "2\n"},
		{outside: "ls " + b.dir + "/worktrees " + filepath.Join(b.home, "private/own/worktrees"), want: b.dir + "/worktrees:\nlinked\n\n" + filepath.Join(b.home, "private/own/worktrees") + ":\nlinked\n"},
	})
}

// What was half done in a worktree that is gone is not half done in the next one of that name.
func TestWorktreeGone(t *testing.T) {
	b := newTreeBox(t)
	b.run("mkdir $D/worktrees/linked/rebase-merge; git worktree add -q sub 2>/dev/null; mkdir $D/worktrees/sub/rebase-merge")
	b.kill()
	b.outside("rm -r sub; git worktree prune")
	b.enter()
	b.outside("git worktree add -q -f sub sub")
	if got := b.run("ls -d $D/worktrees/*/rebase-merge | sed s,.*trees/,,"); got != "linked/rebase-merge\n" {
		t.Errorf("%q", got)
	}
}

// One that the person makes beside the project while the box runs looks missing there, and is not the box's to remove.
func TestWorktreeOfLater(t *testing.T) {
	b := newBox(t)
	b.steps([]step{
		{box: "git worktree list | wc -l", want: "1\n"},
		{outside: "git worktree add -q --detach ../late && cd ../late && echo c >c && git add c", want: ""},
		{box: "cd .git/worktrees; rm -rf late 2>/dev/null; for f in gitdir commondir HEAD; do echo x >late/$f; done 2>/dev/null; mv late other 2>/dev/null; cd ../..", want: ""},
		{outside: "git -C ../late status --porcelain; rm -r ../late; git worktree prune; git worktree add -q --detach ./late", want: "A  c\n"},
		{box: "git worktree remove late; git worktree list | wc -l", want: "1\n"},
	})
}

// The main work tree is one that the box does not see: what is checked out there is not its to move.
func TestLinkedWorktreeAttacks(t *testing.T) {
	b := newTreeBox(t)
	for _, try := range []string{
		"echo 'ref: refs/heads/topic' >$D/HEAD.lock; mv $D/HEAD.lock $D/HEAD",
		"git --git-dir=$D symbolic-ref HEAD refs/heads/topic",
		"cp $D/worktrees/linked/index $D/index.lock; mv $D/index.lock $D/index",
		"git rev-parse HEAD >$D/MERGE_HEAD",
		"rm $D/worktrees/linked/gitdir; echo /tmp/EVIL/.git >$D/worktrees/linked/gitdir",
		"echo /tmp/EVIL >$D/worktrees/linked/commondir",
		"echo EVIL >$D/worktrees/linked/HEAD.lock; mv $D/worktrees/linked/HEAD.lock $D/worktrees/linked/HEAD",
		"mkdir -p $D/worktrees/linked/refs/replace",
		"mkdir -p \"$D/worktrees/linked/refs/bisect/a b\"",
		"mkdir -p $D/worktrees/linked/refs/bisect; echo EVIL >$D/worktrees/linked/refs/bisect/bad.lock; mv $D/worktrees/linked/refs/bisect/bad.lock $D/worktrees/linked/refs/bisect/bad",
		"mv $D/worktrees/linked $D/worktrees/other",
	} {
		if got := b.run("{ " + try + "; } 2>/dev/null && echo in || :"); got != "" {
			t.Errorf("%s: %q", try, got)
		}
	}
	b.run("mkdir $D/worktrees/linked/rebase-merge $D/worktrees/linked/info; for f in config.worktree rebase-merge/git-rebase-todo info/attributes sequencer hello; do echo EVIL >$D/worktrees/linked/$f; done")
	if out := b.outside("grep -rl --exclude='*.lock' EVIL " + b.dir + " || :; cat " + b.dir + "/HEAD; ls " + b.dir + "/worktrees"); !strings.HasSuffix(out, "ref: refs/heads/main\nlinked\n") || strings.Count(out, "\n") != 2 {
		t.Errorf("outside: %q", out)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "MERGE_HEAD")); err == nil {
		t.Error("the main work tree has a merge")
	}
}

// Submodules are repositories that are served on top of the one that they lie in.
func TestModules(t *testing.T) {
	b := newRepository(t)
	sub := newRepository(t).project
	git(t, b.project, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub, "sub")
	git(t, b.project, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub, "other")
	git(t, b.project, "commit", "-qm", "submodules")
	b.modules = []string{"modules/sub"}
	b.enter()
	b.steps([]step{
		{box: "git status --porcelain; git -C sub log --format=%s; git -C sub rev-parse --git-dir | sed s,^$PWD,.,", want: "first\n./.git/modules/sub\n"},
		{box: "cd sub; echo two >b; git add b && git commit -qm second; cd ..; git status --porcelain", want: " M sub\n"},
		{outside: "git status --porcelain; git -C sub log --format=%s; git -C sub status --porcelain", want: " M sub\nsecond\nfirst\n"},
		{outside: "git -C sub commit -q --allow-empty -m third; touch .git/modules/x", want: ""},
		{box: "git -C sub log -1 --format=%s; git -C sub switch -qc new; git -C sub config x.y z; ls .git/modules", want: "third\nother\nsub\nx\n"},
		{outside: "git -C sub rev-parse --abbrev-ref HEAD; git -C sub config x.y; git -C sub fsck --strict --no-dangling", want: "new\n"},
		// one that is not served is not written
		{box: "git -C other log --format=%s; git -C other commit -q --allow-empty -m no 2>/dev/null; git -C other config x.y z 2>/dev/null; mkdir .git/modules/y 2>/dev/null || echo no", want: "first\nno\n"},
		{box: "mv .git/modules/sub .git/x 2>/dev/null || echo no; rmdir .git/modules/sub 2>/dev/null || echo no", want: "no\nno\n"},
		{outside: "git -C other log --format=%s; git -C other config x.y; ls .git/modules", want: "first\nother\nsub\nx\n"},
	})
	// all are watched together, and all is taken back when the kernel has lost what changed
	found, _ := filepath.Glob("/proc/self/fd/*")
	found = slices.DeleteFunc(found, func(fd string) bool {
		what, _ := os.Readlink(fd)
		return what != "anon_inode:inotify"
	})
	if len(found) != 1 {
		t.Errorf("%d are used to watch", len(found))
	}
	kernel.mu.Lock()
	kernel.event(-1, unix.IN_Q_OVERFLOW, "")
	kernel.mu.Unlock()
	b.steps([]step{{box: "git -C sub rev-parse --abbrev-ref HEAD; git rev-parse --abbrev-ref HEAD", want: "new\nmain\n"}})
}

// A submodule of a linked worktree as well.
func TestModulesOfLinkedWorktree(t *testing.T) {
	b := newRepository(t)
	sub := newRepository(t).project
	git(t, b.project, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub, "sub")
	git(t, b.project, "commit", "-qm", "submodule")
	tree := filepath.Join(t.TempDir(), "linked")
	git(t, b.project, "worktree", "add", "-q", tree)
	git(t, tree, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
	b.dir, b.tree, b.project = filepath.Join(b.project, ".git"), "linked", tree
	b.modules = []string{"worktrees/linked/modules/sub"}
	b.enter()
	b.steps([]step{
		{box: "git -C sub commit -q --allow-empty -m second; git status --porcelain; ls $D/worktrees/linked/modules", want: " M sub\nsub\n"},
		{outside: "git -C sub log --format=%s; git status --porcelain", want: "second\nfirst\n M sub\n"},
		{box: "{ echo >$D/worktrees/linked/modules/x; } 2>/dev/null || echo no; git --git-dir=$D/modules/sub commit --allow-empty -qm no 2>/dev/null || echo no", want: "no\nno\n"},
	})
}
