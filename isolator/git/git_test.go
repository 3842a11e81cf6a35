package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fixture is a repository of the host and a box in front of it.
type fixture struct {
	t    *testing.T
	home string
	top  string // the work tree
	git  string

	objects string // where the box sees objects, "" for the usual place
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	s := emptyFixture(t)
	s.host(s.home, "git init -q -b main app && cd app && echo one >a && mkdir d && echo two >d/b && git add . && git commit -qm first")
	return s
}

func emptyFixture(t *testing.T) *fixture {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &fixture{t: t, home: home, top: filepath.Join(home, "app")}
	if s.git, err = exec.LookPath("git"); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *fixture) env() []string {
	return []string{
		"HOME=" + s.home, "PATH=" + os.Getenv("PATH"), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=C", "GIT_COMMITTER_EMAIL=c@x",
		"GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000",
		"GIT_CONFIG_COUNT=4", "GIT_CONFIG_KEY_2=gc.auto", "GIT_CONFIG_VALUE_2=0", "GIT_CONFIG_KEY_3=maintenance.auto", "GIT_CONFIG_VALUE_3=false", "GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always", "GIT_CONFIG_KEY_1=advice.detachedHead", "GIT_CONFIG_VALUE_1=false",
	}
}

// host runs a script outside.
func (s *fixture) host(dir, script string) string {
	s.t.Helper()
	cmd := exec.Command("bash", "-euc", script)
	cmd.Dir, cmd.Env = dir, s.env()
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("outside: %s: %v\n%s", script, err, out)
	}
	return string(out)
}

func (s *fixture) stage(dir string, name string) *Copy {
	s.t.Helper()
	r, err := Find(dir)
	if err != nil {
		s.t.Fatal(err)
	}
	if r.Reason != "" {
		s.t.Fatalf("%s: %s", dir, r.Reason)
	}
	at := filepath.Join(s.home, "runs", name)
	if err := os.MkdirAll(at, 0o700); err != nil {
		s.t.Fatal(err)
	}
	c, err := Stage(r, Options{Git: s.git, Run: name, Dir: at, Roots: []string{dir}, Objects: s.objects, Name: "inner", Email: "inner@localhost"})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	return c
}

// A folder that cannot hold a copy is an error.
func TestStageNowhere(t *testing.T) {
	s := newFixture(t)
	r, err := Find(s.top)
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(s.home, "link")
	if err := os.Symlink(s.home, link); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{filepath.Join(s.home, "nowhere"), link} {
		if c, err := Stage(r, Options{Git: s.git, Run: "x", Dir: at, Roots: []string{s.top}}); c != nil || err == nil {
			t.Errorf("%s: %v, %v", at, c, err)
		}
	}
}

// try runs a script in a box that has the copy, and the host's repository read-only below it.
func (s *fixture) try(c *Copy, dir, script string) (string, error) {
	args := []string{"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run", "--unshare-pid", "--die-with-parent", "--bind", dir, dir}
	for _, m := range c.Mounts {
		if m.Write {
			args = append(args, "--bind", m.Source, m.Dest)
		} else {
			args = append(args, "--ro-bind", m.Source, m.Dest)
		}
	}
	args = append(args, "--chdir", dir, "bash", "-euc", script)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bwrap", args...)
	cmd.Env = s.env()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *fixture) box(c *Copy, dir, script string) string {
	s.t.Helper()
	out, err := s.try(c, dir, script)
	if err != nil {
		s.t.Fatalf("inside: %s: %v\n%s", script, err, out)
	}
	return out
}

func (s *fixture) cross(c *Copy, final bool) Report {
	s.t.Helper()
	rep, err := c.Cross(context.Background(), Crossing{Final: final})
	if err != nil {
		s.t.Fatal(err)
	}
	return rep
}

// whole fails when git finds a fault in the host's repository, or a lock or a file of inner's was left.
func (s *fixture) whole(dir string) {
	s.t.Helper()
	out := s.host(dir, "git fsck --strict --no-dangling 2>&1; find \"$(git rev-parse --git-common-dir)\" -name '*.lock' -o -name 'inner-new*' -o -name 'tmp_*'")
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "notice:") && !strings.HasPrefix(line, "dangling") {
			s.t.Errorf("fsck: %s", line)
		}
	}
}

const state = "git for-each-ref --format='%(objectname) %(refname)' | grep -v refs/inner; git status --porcelain; git symbolic-ref -q HEAD || git rev-parse HEAD; git stash list"

func TestCommitCrosses(t *testing.T) {
	s := newFixture(t)
	c := s.stage(s.top, "r1")
	s.box(c, s.top, "echo x >>a; git add a; git commit -qm second; git tag v1; git checkout -qb topic; echo y >n; git add n")
	rep := s.cross(c, false)
	if len(rep.Lines)+len(rep.Conflicts)+len(rep.Refused) > 0 {
		t.Errorf("%+v", rep)
	}
	in, out := s.box(c, s.top, state), s.host(s.top, state)
	if in != out {
		t.Errorf("inside:\n%s\noutside:\n%s", in, out)
	}
	s.whole(s.top)
}

// direct runs a script on a copy without a box: links are where the mounts would be.
func (s *fixture) direct(c *Copy, dir, script string) string {
	s.t.Helper()
	for _, m := range c.Mounts {
		if strings.HasPrefix(m.Dest, s.objects+"/") {
			if err := os.MkdirAll(filepath.Dir(m.Dest), 0o700); err != nil {
				s.t.Fatal(err)
			}
			_ = os.Remove(m.Dest)
			if err := os.Symlink(m.Source, m.Dest); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	return s.host(dir, "export GIT_DIR="+filepath.Join(c.path, boxFolder)+" GIT_WORK_TREE="+dir+"; "+script)
}

// TestHostMoves is the host and the box at work on the same things: nothing of either is lost.
func TestHostMoves(t *testing.T) {
	s := newFixture(t)
	s.host(s.top, "git branch side; git branch gone; echo h >h; git stash -qu")
	c := s.stage(s.top, "r1")
	s.box(c, s.top, "echo box >>a; git commit -qam box; git branch -f side; git branch -D gone; git stash drop -q; git tag both")
	stash := strings.TrimSpace(s.host(s.top, "git rev-parse stash"))
	s.host(s.top, "git branch -f side $(git commit-tree -m host HEAD^{tree}); git tag both $(git commit-tree -m host2 HEAD^{tree})")
	rep := s.cross(c, false)
	if len(rep.Moved) != 3 || len(rep.Conflicts) != 2 {
		t.Errorf("%+v", rep)
	}
	for _, ch := range rep.Conflicts {
		if got := strings.TrimSpace(s.host(s.top, "git log -1 --format=%s "+ch.Kept)); got != "box" {
			t.Errorf("%s has %q", ch.Kept, got)
		}
	}
	if got := s.host(s.top, "git log -1 --format=%s side"); got != "host\n" {
		t.Errorf("side is %q", got)
	}
	s.host(s.top, "git cat-file -e "+stash+"; git gc -q --prune=now; git cat-file -e "+stash)
	// The host moves the branch that the box is on.
	s.host(s.top, "git commit -q --allow-empty -m host3")
	s.box(c, s.top, "echo again >>a; git commit -qam box2")
	if rep := s.cross(c, true); len(rep.Conflicts) != 1 || len(rep.Lines) != 1 || !strings.Contains(rep.Lines[0], "stays in the box") {
		t.Errorf("%+v", rep)
	}
	if got := s.host(s.top, "git log -1 --format=%s; git log -1 --format=%s refs/inner/r1/heads/main; git diff --cached --name-only"); got != "host3\nbox2\n" {
		t.Errorf("%s", got)
	}
	s.whole(s.top)
}

// TestTwoBoxes is two boxes in one repository.
func TestTwoBoxes(t *testing.T) {
	s := newFixture(t)
	c, d := s.stage(s.top, "r1"), s.stage(s.top, "r2")
	s.box(c, s.top, "git branch one; git tag same; git commit -q --allow-empty -m c")
	s.box(d, s.top, "git branch two; git tag same $(git commit-tree -m d HEAD^{tree}); git commit -q --allow-empty -m d")
	s.cross(c, true)
	rep := s.cross(d, true)
	if len(rep.Moved) != 1 || len(rep.Conflicts) != 2 {
		t.Errorf("%+v", rep)
	}
	if got := s.host(s.top, "git for-each-ref --format='%(refname) %(subject)'"); got != `refs/heads/main c
refs/heads/one first
refs/heads/two first
refs/inner/r2/heads/main d
refs/inner/r2/tags/same d
refs/tags/same first
` {
		t.Error(got)
	}
	s.whole(s.top)
}

// TestHostGC is a host that throws away what the box still needs.
func TestHostGC(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.host(s.top, "git switch -qc side; echo s >s; git add s; git commit -qm side; git switch -q main; echo staged >a; git add a")
	c := s.stage(s.top, "r1")
	if held, err := c.Hold(); err != nil || !held {
		t.Fatal(held, err)
	}
	s.host(s.top, "git reset -q --hard; git branch -D side; git reflog expire --expire=now --all; git gc -q --prune=now")
	s.box(c, s.top, "git fsck --strict --no-dangling; git commit -qm staged; git reset -q --hard; git switch -q side; git commit -q --allow-empty -m more")
	rep := s.cross(c, true)
	s.whole(s.top)
	if got := s.host(s.top, "git log --all --format=%s | sort"); got != "first\nmore\nside\nstaged\n" {
		t.Errorf("%s%+v", got, rep)
	}
}

// TestSubmodules is a box that works in a submodule, and one that adds one.
func TestSubmodules(t *testing.T) {
	s := newFixture(t)
	s.host(s.home, "git init -q lib; cd lib; echo l >l; git add l; git commit -qm lib; cd ../app; git submodule --quiet add ../lib lib; git commit -qm lib")
	c := s.stage(s.top, "r1")
	s.box(c, s.top, "cd lib; echo x >>l; git commit -qam inlib; cd ..; git add lib; git commit -qm bump; git submodule --quiet add ../lib other; git commit -qm other")
	rep := s.cross(c, false)
	if len(rep.Held) != 1 || !strings.Contains(rep.Held[0].Why, "other") {
		t.Errorf("%+v", rep)
	}
	if got := s.host(s.top, "git -C lib log -1 --format=%s; git log -1 --format=%s; git ls-files"); got != "inlib\nlib\n.gitmodules\na\nd/b\nlib\n" {
		t.Error(got)
	}
	rep, err := c.Cross(context.Background(), Crossing{Final: true})
	if err != nil || len(rep.Held) != 0 {
		t.Errorf("%+v %v", rep, err)
	}
	if got := s.host(s.top, "git log -2 --format=%s; git ls-files"); got != "other\nbump\n.gitmodules\na\nd/b\nlib\nother\n" {
		t.Error(got)
	}
	s.whole(s.top)
}

// TestWorktrees is a box that makes a worktree below the project, and one that works in a linked one.
func TestWorktrees(t *testing.T) {
	s := newFixture(t)
	s.host(s.top, "git worktree add -q ../far -b far; git worktree add -q near -b near")
	c := s.stage(s.top, "r1")
	s.box(c, s.top, "git worktree list; git worktree prune; git log --all >/dev/null; cd near; echo n >n; git add n; git commit -qm near; cd ..; git worktree add -q new -b new; cd new; echo x >x; git add x; git commit -qm new; echo y >x; git add x")
	if out, err := s.try(c, s.top, "git switch -q far"); err == nil {
		t.Errorf("a branch that is checked out elsewhere: %s", out)
	}
	if out, err := s.try(c, s.top, "echo gitdir: /etc >near/.git"); err == nil {
		t.Errorf("the box made a worktree lead elsewhere: %s", out)
	}
	s.box(c, s.top, "git update-ref refs/heads/far $(git commit-tree -m evil HEAD^{tree})")
	rep := s.cross(c, true)
	if len(rep.Conflicts) != 1 || rep.Conflicts[0].Kept != "refs/inner/r1/heads/far" || len(rep.Lines) != 0 {
		t.Errorf("%+v", rep)
	}
	got := s.host(s.top, "for w in . near new ../far; do git -C $w log -1 --format=%s; git -C $w status --porcelain -uno; done; git worktree list | wc -l")
	if got != "first\nnear\nnew\nM  x\nfirst\n4\n" {
		t.Error(got)
	}
	s.whole(s.top)
}

// TestWorktreeElsewhere is a worktree that the box makes in a folder of its own: its branch crosses.
func TestWorktreeElsewhere(t *testing.T) {
	s := newFixture(t)
	c := s.stage(s.top, "r1")
	s.box(c, s.top, "git worktree add -q /run/own -b own; cd /run/own; git commit -q --allow-empty -m own")
	rep := s.cross(c, true)
	if len(rep.Lines) != 1 || rep.Lines[0] != "the worktree own that the box made stays with it: it is outside of what a box changes here, but commits on its branch cross" {
		t.Errorf("%+v", rep)
	}
	if got := s.host(s.top, "git log -1 --format=%s own; git worktree list | wc -l"); got != "own\n1\n" {
		t.Error(got)
	}
	s.whole(s.top)
}

// TestTracking is a branch that follows another, and settings that stay.
func TestTracking(t *testing.T) {
	s := newFixture(t)
	s.host(s.home, "git clone -q --bare app o.git; cd app; git branch up; git push -q ../o.git up; git remote add o ../o.git; git fetch -q o")
	c := s.stage(s.top, "r1")
	s.box(c, s.top, "git checkout -q --track -b mine o/up; git config user.name evil; git remote add evil 'ext::touch owned'; git config branch.up.remote evil; git config branch.up.merge refs/heads/up")
	rep := s.cross(c, true)
	if got := s.host(s.top, "git config --get-regexp '^branch'; git rev-parse --abbrev-ref @{u}; git config user.name || :"); got != "branch.mine.remote o\nbranch.mine.merge refs/heads/up\no/up\n" {
		t.Error(got)
	}
	if got := strings.Join(rep.Settings, " "); got != "user.name remote.evil.url remote.evil.fetch" {
		t.Error(got)
	}
	s.whole(s.top)
}

// TestKept is what the box deleted and moved back: it can be found outside.
func TestKept(t *testing.T) {
	s := newFixture(t)
	s.host(s.top, "git switch -qc topic; git commit -q --allow-empty -m topic; git switch -q main; git tag v1 topic; git branch merged; git branch -f back topic")
	old := strings.TrimSpace(s.host(s.top, "git rev-parse topic"))
	c := s.stage(s.top, "r1")
	s.box(c, s.top, "git branch -D topic merged; git tag -f v1 main; git branch -f back main")
	s.cross(c, true)
	if got := s.host(s.top, "git for-each-ref --format='%(refname) %(subject)'; git rev-parse back@{1}"); got != `refs/heads/back first
refs/heads/main first
refs/inner/r1/old/heads/topic topic
refs/inner/r1/old/tags/v1 topic
refs/tags/v1 first
`+old+"\n" {
		t.Error(got)
	}
}

// TestIndexOutside is an index that both changed: the host's stays. One that the host only looked at is the
// box's to change.
func TestIndexOutside(t *testing.T) {
	s := newFixture(t)
	c := s.stage(s.top, "r1")
	s.box(c, s.top, "echo x >>a; git add a")
	s.host(s.top, "touch d/b; git status >/dev/null")
	if rep := s.cross(c, false); len(rep.Lines) != 0 || s.host(s.top, "git diff --cached --name-only") != "a\n" {
		t.Errorf("%+v", rep)
	}
	s.box(c, s.top, "git add -A; echo n >n; git add n")
	s.host(s.top, "echo h >h; git add h")
	if rep := s.cross(c, false); len(rep.Lines) != 1 || s.host(s.top, "git diff --cached --name-only") != "a\nh\n" {
		t.Errorf("%+v", rep)
	}
	// What the box had staged is kept at the end.
	if rep := s.cross(c, true); len(rep.Lines) != 1 || !strings.Contains(rep.Lines[0], "what was staged in the box is refs/inner/r1/index") {
		t.Errorf("%+v", rep)
	}
	if got := s.host(s.top, "git diff --name-only refs/inner/r1/index^ refs/inner/r1/index; git show refs/inner/r1/index:n"); got != "a\nn\nn\n" {
		t.Error(got)
	}
	s.whole(s.top)
}

// TestFirstIndexOutside is the same in a repository without a commit.
func TestFirstIndexOutside(t *testing.T) {
	s := emptyFixture(t)
	s.host(s.home, "git init -q -b main app")
	c := s.stage(s.top, "r1")
	s.box(c, s.top, "echo n >n; git add n")
	s.host(s.top, "echo h >h; git add h")
	if rep := s.cross(c, true); !strings.Contains(strings.Join(rep.Lines, "\n"), "what was staged in the box is refs/inner/r1/index") {
		t.Errorf("%+v", rep)
	}
	if got := s.host(s.top, "git diff --cached --name-only; git show refs/inner/r1/index:n"); got != "h\nn\n" {
		t.Error(got)
	}
}

// TestChangedFileShows is a box that changes a file and says in its index that it did not.
func TestChangedFileShows(t *testing.T) {
	s := newFixture(t)
	s.host(s.top, "echo c >c; git add c; git commit -qm c")
	c := s.stage(s.top, "r1")
	s.box(c, s.top, "o=$(git rev-parse HEAD:a); echo evil >a; git add a; git update-index --cacheinfo 100644,$o,a; git update-index --assume-unchanged a; git add -f a || :; git update-index --skip-worktree d/b; echo evil >d/b; git rm -q --cached c")
	s.cross(c, true)
	if got := s.host(s.top, "git status --porcelain"); got != " M a\nD  c\n M d/b\n?? c\n" && got != "M  a\nD  c\n M d/b\n?? c\n" {
		t.Error(got)
	}
}

// TestMovedFolder is another repository in the place of the one that was found.
func TestMovedFolder(t *testing.T) {
	s := newFixture(t)
	c := s.stage(s.top, "r1")
	s.box(c, s.top, "git commit -q --allow-empty -m x")
	s.host(s.top, "mv .git old; cp -r old .git")
	if rep, err := c.Cross(context.Background(), Crossing{}); err == nil {
		t.Errorf("%+v", rep)
	}
	if got := s.host(s.top, "git log --oneline | wc -l"); got != "1\n" {
		t.Error(got)
	}
}

// TestLocks are locks that a killed inner left, and that of another git.
func TestLocks(t *testing.T) {
	s := newFixture(t)
	c := s.stage(s.top, "r1")
	s.box(c, s.top, "echo x >>a; git commit -qam x; git switch -qc topic")
	c.Close()
	s.host(s.top, "cd .git; echo x >inner-new-r1-HEAD; ln inner-new-r1-HEAD HEAD.lock; echo y >inner-new-r1-config; echo y >config.lock; touch index.lock; mkdir -p refs/inner/r1/old; touch refs/inner/r1/old/x.lock")
	recovered := func() Left {
		left, err := Recover(context.Background(), filepath.Join(s.home, "runs"), Crossing{}, nil)
		if err != nil || len(left) != 1 {
			t.Fatalf("%+v %v", left, err)
		}
		return left[0]
	}
	l := recovered()
	if got := s.host(s.top, "ls .git/*.lock .git/refs/inner/r1/old/* .git/inner-new* 2>/dev/null || :; git symbolic-ref HEAD; git log -1 --format=%s"); got != ".git/config.lock\n.git/index.lock\nrefs/heads/topic\nx\n" {
		t.Errorf("%s%+v", got, l)
	}
	if l.Gone || len(l.Report.Lines) != 0 || !errors.Is(l.Err, ErrLocked) {
		t.Errorf("%+v", l)
	}
	s.host(s.top, "echo y >>a; rm .git/index.lock .git/config.lock")
	if l := recovered(); !l.Gone || s.host(s.top, "git diff --cached --name-only") != "" {
		t.Errorf("%+v", l)
	}
}

// TestLockOfKilledGit is a git of inner's that was killed when it had done its work and had not yet removed the
// lock of the packed refs, which does not say whose it is. Nothing is left to do for which anybody would meet it.
func TestLockOfKilledGit(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.host(s.top, "git branch gone; git pack-refs --all")
	lock := filepath.Join(s.top, ".git", "packed-refs.lock")
	s.host(s.home, "cat >git-that-dies <<'E'\n#!/bin/bash\n"+s.git+" \"$@\"; code=$?\n[ $1 != update-ref ] || { >"+lock+"; kill -9 $$; }\nexit $code\nE\nchmod +x git-that-dies")
	real := s.git
	s.git = filepath.Join(s.home, "git-that-dies")
	c := s.stage(s.top, "r1")
	s.box(c, s.top, "git branch -D gone")
	if rep, err := c.Cross(context.Background(), Crossing{Final: true}); err == nil {
		t.Errorf("it was not killed: %+v", rep)
	}
	if _, err := os.Stat(lock); err == nil {
		t.Error("the lock is left while inner lives")
	}
	c.Close()
	s.host(s.top, "! git rev-parse -q --verify gone; touch "+lock+"; cp "+real+" ../git-that-dies")
	var left []Left
	for end := time.Now().Add(2 * time.Minute); len(left) == 0 && time.Now().Before(end); {
		// A git that another test starts just now has the copy's lock until its exec.
		var err error
		if left, err = Recover(context.Background(), filepath.Join(s.home, "runs"), Crossing{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(lock); err == nil || len(left) != 1 || !left[0].Gone {
		t.Errorf("the lock is left when inner was killed, too: %+v", left)
	}
	s.whole(s.top)
}

// TestMergeFileOutside is a file of a merge that the host has got meanwhile: as the box's, which is also what a
// killed crossing leaves, and as another one.
func TestMergeFileOutside(t *testing.T) {
	for _, tc := range []struct{ host, want string }{
		{"git reset -q HEAD", ""},
		{"git rev-parse HEAD~ >.git/ORIG_HEAD", "ORIG_HEAD was changed outside, too"},
	} {
		s := newFixture(t)
		s.host(s.top, "git commit -q --allow-empty -m second")
		c := s.stage(s.top, "r1")
		s.box(c, s.top, "git reset -q HEAD")
		s.host(s.top, tc.host)
		before := s.host(s.top, "cat .git/ORIG_HEAD")
		rep := s.cross(c, true)
		if got := strings.Join(rep.Lines, "\n"); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q", tc.host, got)
		}
		if got := s.host(s.top, "cat .git/ORIG_HEAD"); got != before {
			t.Errorf("%s: %s", tc.host, got)
		}
	}
}

// TestUnfinished is a rebase in the box: nothing of that work tree crosses, and the copy stays.
func TestUnfinished(t *testing.T) {
	s := newFixture(t)
	s.host(s.top, "git switch -qc side; echo s >a; git commit -qam s; git switch -q main; echo m >a; git commit -qam m")
	c := s.stage(s.top, "r1")
	s.box(c, s.top, "git tag before; git switch -q side; git rebase -q main || :")
	rep := s.cross(c, true)
	if rep.Pending || !rep.Kept() || len(rep.Unfinished) != 1 || !strings.Contains(rep.Unfinished[0], "a rebase is not finished") {
		t.Errorf("%+v", rep)
	}
	if got := s.host(s.top, "git symbolic-ref HEAD; git rev-parse -q --verify before >/dev/null; ls .git | grep rebase || :"); got != "refs/heads/main\n" {
		t.Error(got)
	}
	s.whole(s.top)
}

// TestResume continues in a new copy what another one has not finished, in a worktree and with files that are
// not git's in the way.
func TestResume(t *testing.T) {
	for _, tc := range []struct{ name, host, box, why string }{
		{name: "taken"},
		{name: "host committed", host: "git commit -q --allow-empty -m outside", why: "HEAD was moved outside since"},
		{name: "host moved the branch", host: "git update-ref refs/heads/topic main", why: "HEAD was moved outside since"},
		{name: "host staged", host: "echo x >x; git add x", why: "the index was changed outside since"},
		{name: "a link in its place", box: "rm .git/rebase-merge/onto; ln -s /etc/passwd .git/rebase-merge/onto", why: "its state is not what git writes"},
		{name: "another profile", why: "it is of the profile a"},
		{name: "other grants", why: "that run had other grants"},
		{name: "a fifo", box: "rm .git/ORIG_HEAD; mkfifo .git/rebase-merge/x", why: "its state is not what git writes"},
		{name: "HEAD is odd", box: "echo x >.git/HEAD", why: "its HEAD says nothing that git understands"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newFixture(t)
			s.host(s.top, "git switch -qc topic; echo t >a; git commit -qam t; git switch -q main; echo m >a; git commit -qam m; git switch -q topic")
			one := s.stage(s.top, "one")
			s.box(one, s.top, "git rebase -q main 2>/dev/null || true; "+tc.box)
			if rep := s.cross(one, true); len(rep.Unfinished) != 1 && tc.name != "HEAD is odd" || len(rep.Moved) > 0 {
				t.Fatalf("%+v", rep)
			}
			one.Close()
			if tc.host != "" {
				s.host(s.top, tc.host)
			}
			two := s.stage(s.top, "two")
			if tc.name == "another profile" || tc.name == "other grants" {
				one, err := Reopen(one.path, nil)
				if err != nil {
					t.Fatal(err)
				}
				if one.meta.Grants = "more"; tc.name == "another profile" {
					one.meta.Profile = "a"
				}
				if err := one.save(); err != nil {
					t.Fatal(err)
				}
				one.Close()
			}
			list, all, err := two.Resume(one.path)
			if err != nil || len(list) != 1 || !strings.HasPrefix(list[0].Why, tc.why) || (list[0].Why == "") != (tc.why == "") || all != (tc.why == "") {
				t.Fatalf("%+v %v %v", list, all, err)
			}
			if tc.why != "" {
				return
			}
			s.box(two, s.top, "echo both >a; git add a; GIT_EDITOR=true git rebase --continue")
			if rep := s.cross(two, true); rep.Kept() || len(rep.Moved) != 1 {
				t.Errorf("%+v", rep)
			}
			if got := s.host(s.top, "git log --format=%s; git status --porcelain"); got != "t\nm\nfirst\n" {
				t.Error(got)
			}
			s.whole(s.top)
		})
	}
}

// A path that is not absolute, as of a folder that could not be found, ends the walk.
func TestFindRelative(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, err := Find(""); !errors.Is(err, ErrNone) {
		t.Errorf("%v", err)
	}
}

// TestWorktreeRemoved is a worktree of the host's that the box removes: outside it goes as well, if nobody
// used it meanwhile. Files that are left stay.
func TestWorktreeRemoved(t *testing.T) {
	for _, tc := range []struct{ name, meanwhile, box, why, left string }{
		{name: "removed", box: "git worktree remove wt", left: "1"},
		{name: "detached", meanwhile: "git -C wt switch -q --detach; git -C wt commit -q --allow-empty -m lost", box: "git worktree remove --force wt", left: "1"},
		{name: "folder gone", box: "find wt -type f ! -name .git -delete; rmdir wt/d; git worktree remove --force wt"},
		{name: "committed outside", box: "git worktree remove wt", why: "changed outside"},
		{name: "locked outside", box: "git worktree remove wt", why: "it is locked"},
		{name: "files are there", box: "rm -r .git/worktrees/wt", left: "1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newFixture(t)
			s.host(s.top, "git worktree add -q -b wt wt; "+tc.meanwhile)
			c := s.stage(s.top, "r1")
			s.box(c, s.top, tc.box+" 2>/dev/null || :")
			switch tc.name {
			case "committed outside":
				s.host(s.top, "git --git-dir=.git/worktrees/wt symbolic-ref HEAD refs/heads/elsewhere")
			case "locked outside":
				s.host(s.top, "git worktree lock wt")
			}
			rep := s.cross(c, true)
			if tc.why != "" {
				if len(rep.Lines) != 1 || !strings.Contains(rep.Lines[0], tc.why) || s.host(s.top, "ls .git/worktrees") != "wt\n" {
					t.Errorf("%+v", rep)
				}
				return
			}
			left := s.host(s.top, "ls -d wt .git/worktrees 2>/dev/null || :; git worktree list | wc -l")
			if left != "1\n" && (tc.left == "" || left != "wt\n1\n" || len(rep.Lines) != 1 || !strings.Contains(rep.Lines[0], "still there") || s.host(s.top, "cat wt/a") == "") {
				t.Errorf("%+v %s", rep, s.host(s.top, "ls -A wt .git/worktrees; git worktree list"))
			}
			if tc.name == "detached" && s.host(s.top, "git log -1 --format=%s refs/inner/r1/old/worktrees/wt") != "lost\n" {
				t.Error("its commit has no name")
			}
			s.whole(s.top)
		})
	}
}

// TestLFS are files of Git LFS: what its name says crosses, nothing else does.
func TestLFS(t *testing.T) {
	s := newFixture(t)
	c := s.stage(s.top, "r1")
	s.box(c, s.top, `cd .git; put() { mkdir -p lfs/objects/${1:0:2}/${1:2:2}; cat >lfs/objects/${1:0:2}/${1:2:2}/$1; }
echo large | put $(echo large | sha256sum | cut -c1-64)
echo evil | put $(echo good | sha256sum | cut -c1-64)
echo x >lfs/objects/x; mkdir -p lfs/objects/ab/cd; ln -s /etc/passwd lfs/objects/ab/cd/abcd$(printf '%060d' 0); mkfifo lfs/objects/ab/cd/abcd$(printf '%060d' 1)`)
	rep := s.cross(c, true)
	if len(rep.Lines) != 1 || !strings.Contains(rep.Lines[0], "is not what its name says") {
		t.Errorf("%+v", rep)
	}
	if got := s.host(s.top, "find .git/lfs -type f | wc -l; find .git/lfs ! -type d -exec cat {} +"); got != "1\nlarge\n" {
		t.Error(got)
	}
	s.whole(s.top)
}

// TestSubmoduleAdded is a submodule that the box adds: its repository is outside as well, with settings of
// inner's, and the commit that has it crosses.
func TestSubmoduleAdded(t *testing.T) {
	s := newFixture(t)
	s.host(s.home, "git init -q -b main lib; cd lib; echo l >l; git add l; git commit -qm lib")
	c := s.stage(s.top, "r1")
	s.box(c, s.top, `git submodule --quiet add "$HOME/lib" deep/sub; git commit -qm super; cd deep/sub; echo x >>l; git commit -qam inside; git switch -qc work; git config core.fsmonitor "touch ~/owned"; git config remote.origin.uploadpack "touch ~/owned;"; printf '#!/bin/sh\ntouch ~/owned\n' >$(git rev-parse --git-dir)/hooks/post-checkout; chmod +x $(git rev-parse --git-dir)/hooks/*; cd ../..; git commit -qam 'super two'`)
	rep, err := c.Cross(context.Background(), Crossing{Final: true})
	if err != nil || rep.Kept() || len(rep.Lines)+len(rep.Held)+len(rep.Refused) > 0 {
		t.Fatalf("%+v %v", rep, err)
	}
	if got := s.host(s.top, "git status --porcelain; git log --format=%s; git submodule status | cut -d' ' -f2; cd deep/sub; git status --porcelain; git log --format=%s; git symbolic-ref HEAD; git fetch -q; git switch -q main; cat "+s.top+"/.git/modules/deep/sub/config | grep -c owned || :; ls "+s.home); got != "super two\nsuper\nfirst\ndeep/sub\ninside\nlib\nrefs/heads/work\n0\napp\nlib\nruns\n" {
		t.Error(got)
	}
	s.whole(s.top)
	s.whole(filepath.Join(s.top, "deep/sub"))
	// One whose pointer leads elsewhere, and one in another's repository, do not.
	s.host(s.top, "git add -A; git commit -qm clean || :")
	c = s.stage(s.top, "r2")
	s.box(c, s.top, `git submodule --quiet add "$HOME/lib" two; git commit -qm two; echo "gitdir: ../.git/modules/deep/sub" >two/.git; mkdir -p .git/modules/deep/sub/x; cp -r .git/modules/two/. .git/modules/deep/sub/x`)
	if rep, err = c.Cross(context.Background(), Crossing{Final: true}); err != nil || len(rep.Lines) == 0 || s.host(s.top, "ls .git/modules") != "deep\n" {
		t.Errorf("%+v %v", rep, err)
	}
}
