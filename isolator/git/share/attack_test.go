package share

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a box may not do to what git outside trusts. Each is tried with plain tools in the box, and looked
// for outside; the control beside it is permitted.
func TestAttacks(t *testing.T) {
	b := newBox(t)
	git(t, b.project, "branch", "other")
	id := strings.TrimSpace(git(t, b.project, "rev-parse", "HEAD"))
	b.run("ID=" + id)
	for _, c := range []struct {
		name   string
		try    string // in the box; prints "in" when it was not refused
		before string // outside, by sh
		gone   string // a file below .git that must not be there
		bad    string // text that no file below .git but the objects may have
		may    bool   // it is permitted
	}{
		{name: "a ref by hand", try: "echo $ID >.git/refs/heads/new && echo in"},
		{name: "a ref by its lock", try: "echo $ID >.git/refs/heads/new.lock && mv .git/refs/heads/new.lock .git/refs/heads/new && echo in", may: true},
		{name: "a ref that is none", try: "echo EVIL >.git/refs/heads/no.lock && mv .git/refs/heads/no.lock .git/refs/heads/no && echo in", gone: "refs/heads/no"},
		{name: "a ref that leads out", try: "echo 'ref: ../../EVIL' >.git/HEAD.lock && mv .git/HEAD.lock .git/HEAD && echo in", bad: "EVIL"},
		{name: "HEAD in place", try: "echo 'ref: refs/heads/other' >.git/HEAD && echo in"},
		{name: "a name that git would not take", try: "mkdir -p .git/refs/heads/..x; true >'.git/refs/heads/a b.lock' && echo in"},
		{name: "replaced objects", try: "mkdir .git/refs/replace && echo in", gone: "refs/replace"},
		{name: "replaced objects, packed", try: "echo \"$ID refs/replace/$ID\" >.git/packed-refs.lock && mv .git/packed-refs.lock .git/packed-refs && echo in", gone: "refs/replace"},
		{name: "another common folder", try: "echo /tmp >.git/commondir && echo in", gone: "commondir"},
		{name: "a hook", try: "printf '#!/bin/sh\\n' >.git/hooks/pre-commit && echo in", gone: "hooks/pre-commit"},
		{name: "a link", try: "ln -s /etc/passwd .git/ORIG_HEAD && echo in", gone: "ORIG_HEAD"},
		{name: "a hard link", try: "ln a .git/SQUASH_MSG && echo in", gone: "SQUASH_MSG"},
		{name: "a FIFO", try: "mkfifo .git/FETCH_HEAD && echo in", gone: "FETCH_HEAD"},
		{name: "shallow", try: "echo $ID >.git/shallow && echo in", gone: "shallow"},
		{name: "a setting that runs", try: "git config core.fsmonitor EVIL && git config core.fsmonitor | grep -q EVIL && echo in", may: true, bad: "EVIL"},
		{name: "a setting of a branch that runs", try: "git config branch.main.remote 'ext::EVIL' && git config branch.main.merge EVIL && echo in", may: true, bad: "EVIL"},
		{name: "the description of a branch", try: "git config branch.main.description words && echo in", may: true},
		{name: "a rebase's list", try: "mkdir .git/rebase-merge && echo 'exec EVIL' >.git/rebase-merge/git-rebase-todo && echo in", may: true, bad: "EVIL", gone: "rebase-merge"},
		{name: "a file of no name", try: "echo EVIL >.git/sed1234 && echo in", may: true, bad: "EVIL", gone: "sed1234"},
		{name: "which becomes a message", try: "echo message >.git/sed1234 && mv .git/sed1234 .git/COMMIT_EDITMSG && echo in", may: true},
		{name: "which becomes HEAD", try: "echo EVIL >.git/sed1234 && mv .git/sed1234 .git/HEAD && echo in", bad: "EVIL"},
		{name: "the host's lock, written", before: ": >.git/config.lock; : >.git/index.lock", try: "echo EVIL >>.git/index.lock && echo in", bad: "EVIL"},
		{name: "the host's lock, removed", before: ": >.git/index.lock", try: "rm -f .git/index.lock && echo in"},
		{name: "the host's lock, renamed", before: ": >.git/refs/heads/other.lock", try: "mv .git/refs/heads/other.lock .git/refs/heads/third && echo in", gone: "refs/heads/third"},
		{name: "the host's lock, replaced", before: ": >.git/HEAD.lock", try: "echo EVIL >.git/x && mv .git/x .git/HEAD.lock && echo in", bad: "EVIL"},
		{name: "a folder for a lock", try: "mkdir .git/index.lock || mkdir .git/refs/heads/main.lock || mkdir .git/packed-refs.new || mkdir .git/HEAD.lock && echo in"},
		{name: "a folder for a message", try: "rm -f .git/SQUASH_MSG; mkdir .git/SQUASH_MSG || mkdir .git/worktrees/w/MERGE_MSG && echo in"},
		{name: "a folder for branches", try: "mkdir .git/refs/heads/sub .git/logs/refs/heads/sub && rmdir .git/refs/heads/sub .git/logs/refs/heads/sub && echo in", may: true},
		{name: "the refs, removed", try: "rm -f .git/HEAD; mv .git/refs .git/x; rmdir .git/refs/tags; ls .git/refs | grep -q tags || echo in"},
		{name: "the objects, removed", try: "rmdir .git/objects; mv .git/objects .git/o && echo in"},
		{name: "part of a line of a log", try: "printf EVIL >>.git/logs/HEAD && echo in", bad: "EVIL"},
		{name: "a log line that is none", try: "echo EVIL >>.git/logs/HEAD && echo in", bad: "EVIL"},
		{name: "a log that is cut", try: "truncate -s 9 .git/logs/HEAD && echo in"},
		{name: "a log that is emptied", try: "cp .git/logs/HEAD l; true >.git/logs/HEAD && cat l >>.git/logs/HEAD; rm l; echo in", may: true},
		{name: "a line of a log over another", try: "f=.git/logs/HEAD; a=$(head -n 1 $f); echo \"$ID $ID <> 1 +0000\" | dd of=$f conv=notrunc status=none && [ \"$a\" = \"$(head -n 1 $f)\" ] || echo in"},
		{name: "a worktree elsewhere", try: "mkdir -p .git/worktrees/w && echo /tmp/EVIL/.git >.git/worktrees/w/gitdir && echo in", bad: "EVIL"},
		{name: "a worktree's other common", try: "mkdir -p .git/worktrees/w && echo /tmp/EVIL >.git/worktrees/w/commondir && echo in", bad: "EVIL"},
		{name: "a worktree's settings", try: "mkdir -p .git/worktrees/w && echo '[core]EVIL' >.git/worktrees/w/config.worktree && echo in", bad: "EVIL"},
		{name: "an attribute outside", try: "mkdir -p .git/info; echo '* filter=EVIL' >.git/info/attributes && echo in", bad: "EVIL"},
		{name: "what the server writes", try: "echo EVIL >.git/.inner-1-1 && echo in", bad: "EVIL"},
		{name: "mode of a lock", try: "echo $ID >.git/refs/heads/wide.lock && chmod 666 .git/refs/heads/wide.lock && mv .git/refs/heads/wide.lock .git/refs/heads/wide && echo in", may: true},
	} {
		if c.before != "" {
			b.outside(c.before)
		}
		got := b.run("{ " + c.try + "; } 2>/dev/null || :")
		if in := strings.HasSuffix(got, "in\n"); in != c.may {
			t.Errorf("%s: %q", c.name, got)
		}
		if c.gone != "" {
			if _, err := os.Lstat(filepath.Join(b.project, ".git", c.gone)); err == nil {
				t.Errorf("%s: %s is there outside", c.name, c.gone)
			}
		}
		if c.bad != "" {
			if out := b.outside("grep -rl --exclude-dir=objects --exclude='*.lock' " + c.bad + " .git || :"); out != "" {
				t.Errorf("%s: outside in %s", c.name, out)
			}
		}
		if c.before != "" {
			b.outside("find .git -name '*.lock' -delete")
		}
	}
	if out := b.outside("git fsck --strict --no-dangling; git status --porcelain; git branch --format='%(refname:short)' | sort | tr '\\n' ' '; git config branch.main.description; find .git -perm /022 -type f"); out != "main new other wide words\n" {
		t.Errorf("outside: %q", out)
	}
}

// outside runs a line of sh in the project, outside.
func (b *box) outside(line string) string {
	b.t.Helper()
	out, err := b.command("sh", "-c", line).CombinedOutput()
	if err != nil {
		b.t.Fatalf("%s: %v: %s", line, err, out)
	}
	return string(out)
}

// What a server that was killed has left of lock files goes with the next one, and nobody else's.
func TestKilledServer(t *testing.T) {
	b := newBox(t)
	b.run("exec 9>.git/index.lock; exec 8>.git/refs/heads/x.lock; echo x >.git/packed-refs.new; echo x >.git/ORIG_HEAD.lock")
	b.outside("true >.git/.inner-999999999-1; true >.git/.inner-1-1")              // of one that is gone, and of one that is there
	b.outside(": >.git/HEAD.lock; rm .git/ORIG_HEAD.lock; : >.git/ORIG_HEAD.lock") // this one has its inode again, on some file systems
	b.kill()
	b.enter()
	if out := b.outside("find .git -name '*.lock' -o -name '*.new' -o -name '.inner-*' | sort"); out != ".git/.inner-1-1\n.git/HEAD.lock\n.git/ORIG_HEAD.lock\n" {
		t.Errorf("left: %q", out)
	}
}

// Two boxes of one project: neither takes the other's locks, and both see what the other did.
func TestTwoBoxes(t *testing.T) {
	b := newBox(t)
	second := &box{t: t, project: b.project, said: b.said}
	second.enter()
	b.run("exec 9>.git/index.lock")
	if got := second.run("{ echo x >.git/index.lock; } 2>/dev/null || echo kept; rm -f .git/index.lock 2>/dev/null || echo kept; echo two >b; git add b 2>/dev/null || echo locked"); got != "kept\nkept\nlocked\n" {
		t.Errorf("%q", got)
	}
	b.run("exec 9>&-; rm .git/index.lock")
	second.run("git add b && git commit -qm theirs")
	if got := b.run("git log -1 --format=%s && git status --porcelain"); got != "theirs\n" {
		t.Errorf("%q", got)
	}
}

// A lock that the host's git makes when a person has removed the box's is the host's, though it may get the inode of that.
func TestLockRemovedOutside(t *testing.T) {
	b := newBox(t)
	b.run("true >.git/index.lock")
	b.outside("rm .git/index.lock; : >.git/index.lock")
	if got := b.run("{ echo x >.git/index.lock; } 2>/dev/null || echo kept; rm -f .git/index.lock 2>/dev/null || echo kept"); got != "kept\nkept\n" {
		t.Errorf("%q", got)
	}
	b.outside("rm .git/index.lock")
	if got := b.run("echo x >.git/index.lock && rm .git/index.lock && echo in"); got != "in\n" {
		t.Errorf("%q", got)
	}
}

// What is noted of locks goes when none is there.
func TestNotedLocks(t *testing.T) {
	b := newBox(t)
	notes := filepath.Join(b.home, "private/locks")
	b.run("true >.git/index.lock; true >.git/HEAD.lock; rm -f .git/HEAD.lock")
	if data, err := os.ReadFile(notes); err != nil || !strings.Contains(string(data), " index.lock\n") {
		t.Errorf("%q, %v", data, err)
	}
	b.run("rm .git/index.lock")
	if data, err := os.ReadFile(notes); err != nil || len(data) > 0 {
		t.Errorf("%q, %v", data, err)
	}
}

// A box can make any number of worktrees; their indexes are not all held.
func TestViews(t *testing.T) {
	b := newRepository(t)
	b.dir = filepath.Join(b.project, ".git")
	s, _ := b.open(b.dir, b.project, "", t.TempDir())
	for i := range 3 * maxViews {
		name := fmt.Sprintf("worktrees/%d/index", i)
		b.outside(fmt.Sprintf("mkdir -p .git/worktrees/%d; cp .git/index .git/%s", i, name))
		if _, err := s.view(name); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.views.byName); n > maxViews {
		t.Errorf("%d are held", n)
	}
}
