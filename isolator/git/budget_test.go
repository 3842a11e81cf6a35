package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// slowGit stands for the host's git, and does something of its own when it packs.
func (s *fixture) slowGit(packs string) {
	s.t.Helper()
	script := "#!/bin/bash\necho $1 >>" + s.home + "/calls\nif [ $1 = pack-objects ]; then in=$(cat); " + packs + "; exec " + s.git + " \"$@\" <<<\"$in\"; fi\nexec " + s.git + " \"$@\"\n"
	s.git = filepath.Join(s.home, "slow-git")
	if err := os.WriteFile(s.git, []byte(script), 0o700); err != nil {
		s.t.Fatal(err)
	}
}

// TestBudget is a branch of which the objects take for ever to look at: all others cross in the time of one exchange, it is
// refused and stays in the copy, and crosses when there is time.
func TestBudget(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.slowGit("case $in in *$(cat " + s.home + "/bomb)*) exec sleep 1000;; esac")
	c := s.stage(s.top, "r1")
	s.box(c, s.top, "for i in 1 2 3 4 5; do git commit -q --allow-empty -m $i; git branch b$i; done; git checkout -qb bomb HEAD~2; git commit -q --allow-empty -m bomb; git rev-parse bomb >../bomb || :; git checkout -q main")
	bomb := s.box(c, s.top, "git rev-parse bomb")
	if err := os.WriteFile(filepath.Join(s.home, "bomb"), []byte(bomb), 0o600); err != nil {
		t.Fatal(err)
	}
	rep, err := c.Cross(context.Background(), Crossing{Budget: time.Minute})
	if err != nil || !rep.Pending || len(rep.Refused) != 0 {
		t.Errorf("%v %+v", err, rep)
	}
	if got := s.host(s.top, "git log -1 --format=%s main; git branch --format='%(refname:short)'"); got != "5\nb1\nb2\nb3\nb4\nb5\nmain\n" {
		t.Error(got)
	}
	if err := os.Remove(filepath.Join(s.home, "calls")); err != nil {
		t.Fatal(err)
	}
	if rep, err = c.Cross(context.Background(), Crossing{}); err != nil || strings.Contains(s.host(s.home, "touch calls; cat calls"), "pack-objects") {
		t.Errorf("it is tried with each exchange: %v", err)
	}
	rep, err = c.Cross(context.Background(), Crossing{Final: true, Budget: 4 * time.Second})
	if err != nil || len(rep.Refused) != 1 || !strings.Contains(rep.Refused[0].Why, errLate.Error()) || !rep.Kept() || rep.Interrupted {
		t.Errorf("%v %+v", err, rep)
	}
	s.host(s.home, "echo none >bomb")
	c.Close()
	var left []Left
	for end := time.Now().Add(2 * time.Minute); len(left) == 0 && err == nil && time.Now().Before(end); {
		// A git that another test starts just now has the copy's lock until its exec.
		left, err = Recover(context.Background(), filepath.Join(s.home, "runs"), Crossing{Budget: time.Hour}, nil)
	}
	if err != nil || len(left) != 1 || !left[0].Gone {
		t.Errorf("%+v %v", left, err)
	}
	s.host(s.top, "git rev-parse bomb")
	s.whole(s.top)
}

// TestInterrupted is an exchange that is ended: nothing moves half, and the next goes on.
func TestInterrupted(t *testing.T) {
	s := newFixture(t)
	s.slowGit("[ -e " + s.home + "/go ] || exec sleep 1000")
	c := s.stage(s.top, "r1")
	s.box(c, s.top, "git commit -q --allow-empty -m second")
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(time.Second, cancel)
	rep, err := c.Cross(ctx, Crossing{Final: true})
	if err != nil || !rep.Interrupted || !rep.Pending {
		t.Errorf("%v %+v", err, rep)
	}
	s.host(s.home, "touch go")
	s.cross(c, true)
	if got := s.host(s.top, "git log -1 --format=%s"); got != "second\n" {
		t.Error(got)
	}
}

// TestKilledEachTime is a git for which the computer has not enough memory: it is not tried for ever. Each has a limit.
func TestKilledEachTime(t *testing.T) {
	s := newFixture(t)
	s.slowGit("sleep 0.3; ulimit -d >" + s.home + "/limit; kill -9 $$")
	c := s.stage(s.top, "r1")
	s.box(c, s.top, "git commit -q --allow-empty -m second")
	for try := range mostKilled {
		_, err := c.Cross(context.Background(), Crossing{Final: true})
		if err == nil || Passing(err) != (try < mostKilled-1) {
			t.Errorf("try %d: %v", try, err)
		}
	}
	if _, err := c.Cross(context.Background(), Crossing{}); !errors.Is(err, errKilled) {
		t.Errorf("it is tried again: %v", err)
	}
	if got := s.host(s.home, "cat limit"); got != "3145728\n" {
		t.Errorf("the memory of git is limited to %s KiB", got)
	}
}

// TestManyWorktrees counts the gits that worktrees of the box cost.
func TestManyWorktrees(t *testing.T) {
	s := newFixture(t)
	s.slowGit(":")
	c := s.stage(s.top, "r1")
	s.box(c, s.top, "for i in $(seq 20); do git worktree add -q w$i; git -C w$i commit -q --allow-empty -m w$i; done")
	s.cross(c, true)
	if got := s.host(s.top, "git worktree list | wc -l; git -C w7 status -s; git -C w20 log -1 --format=%s"); got != "21\nw20\n" {
		t.Error(got)
	}
	if n := strings.Count(s.host(s.home, "cat calls"), "\n"); n > 40 {
		t.Errorf("%d gits", n)
	}
	s.whole(s.top)
}

// TestTrackingQuoted are names that begin a comment where they are not in quotes.
func TestTrackingQuoted(t *testing.T) {
	s := newFixture(t)
	s.host(s.top, "git config 'remote.x;y.url' /nowhere")
	c := s.stage(s.top, "r1")
	s.box(c, s.top, "git branch 'a#b'; git branch t; git config branch.t.remote 'x;y'; git config branch.t.merge 'refs/heads/a#b'")
	s.cross(c, true)
	if got := s.host(s.top, "git config branch.t.remote; git config branch.t.merge"); got != "x;y\nrefs/heads/a#b\n" {
		t.Error(got)
	}
}
