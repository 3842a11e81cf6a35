package git

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestLinkOfTheHost is a submodule that the host's history has and its index has not any more: the box makes something in
// its place and goes back to that commit.
func TestLinkOfTheHost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, script, stays string }{
		{"branch", "git update-ref refs/heads/main then", "HEAD"},
		{"another-branch", "git update-ref refs/heads/other then", "other"},
		{"switch", "git switch -q was", "HEAD"},
		{"detach", "git checkout -q then", "HEAD"},
		{"stash", "git update-ref --create-reflog -m x refs/stash $(git stash create; git rev-parse then)", "refs/stash"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFixture(t)
			s.host(s.top, "git branch other; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub; git commit -qm sub; git tag then; git branch was; git rm -q --cached sub; git commit -qm gone")
			before := s.host(s.top, "git rev-parse HEAD other; git symbolic-ref HEAD; git for-each-ref refs/stash")
			x := s.stage(s.top, "r1")
			s.box(x, s.top, "git init -q sub; git -C sub commit -q --allow-empty -m x; git -C sub config core.fsmonitor 'touch ~/owned'; "+c.script)
			for _, final := range []bool{false, true} {
				s.cross(x, final)
				if after := s.host(s.top, "git rev-parse HEAD other; git symbolic-ref HEAD; git for-each-ref refs/stash"); after != before {
					t.Errorf("it crossed: %s before: %s", after, before)
				}
			}
		})
	}
}

// TestCheckedOutMeanwhile is a branch that a person goes to while the box moves it: the files outside would not fit it.
func TestCheckedOutMeanwhile(t *testing.T) {
	s := newFixture(t)
	s.host(s.top, "echo x >>a; git commit -qam second; git branch dev")
	c := s.stage(s.top, "r1")
	s.host(s.top, "git switch -q dev")
	s.box(c, s.top, "git update-ref refs/heads/dev main~1; git commit -q --allow-empty -m in-the-box")
	rep := s.cross(c, true)
	if len(rep.Conflicts) != 1 || rep.Conflicts[0].Ref != "refs/heads/dev" {
		t.Errorf("%+v", rep)
	}
	if out := s.host(s.top, "git status --porcelain; git rev-parse dev | grep -x $(git rev-parse main~1); git log -1 --format=%s main"); !strings.HasSuffix(out, "in-the-box\n") || strings.Contains(out, "M ") {
		t.Error(out)
	}
}

// TestInParts counts how often what fails is tried.
func TestInParts(t *testing.T) {
	t.Parallel()
	list := make([]int, 100_000)
	for i := range list {
		list[i] = i
	}
	for _, c := range []struct{ bad, tries, failed int }{
		{0, 1, 0}, {1, 40, 1}, {4, 140, 4}, {100_000, mostParts * 2, 100_000},
	} {
		tries, failed := 0, 0
		err := inParts(context.Background(), list, func(part []int) error {
			tries++
			for _, n := range part {
				if n%(100_000/max(c.bad, 1)) == 0 && c.bad > 0 {
					return errors.New("bad")
				}
			}
			return nil
		}, func(part []int, _ error) { failed += len(part) })
		if err != nil || failed != c.failed || tries > c.tries {
			t.Errorf("%d bad: %d failed after %d tries, %v", c.bad, failed, tries, err)
		}
	}
	stop := errors.Join(ErrLocked)
	if err := inParts(context.Background(), list, func([]int) error { return stop }, func([]int, error) { t.Error("failed") }); !errors.Is(err, ErrLocked) {
		t.Error(err)
	}
}

// TestRefsInTheWay are refs that cannot all be there: none of the others stays behind, and no value is lost.
func TestRefsInTheWay(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.host(s.top, "for i in $(seq 150); do echo create refs/tags/t$i HEAD; done | git update-ref --stdin")
	c := s.stage(s.top, "r1")
	s.box(c, s.top, `h=$(git commit-tree -m x HEAD^{tree}); m=$(git rev-parse HEAD); git tag -d $(git tag) >/dev/null; git pack-refs --all
{ for i in $(seq 1000 1300); do echo $h refs/heads/b$i; done; echo $m refs/heads/main; for i in $(seq 1000 1040); do echo $h refs/heads/x$i; echo $h refs/heads/x$i/y; done; echo $h refs/stash/x; } >>.git/packed-refs`)
	rep := s.cross(c, true)
	if n := strings.Count(s.host(s.top, "git for-each-ref 'refs/heads/b*'"), "\n"); n != 301 {
		t.Errorf("%d branches", n)
	}
	if out := s.host(s.top, "git for-each-ref refs/inner | grep -c refused; git for-each-ref refs/stash refs/tags"); out != "42\n" {
		t.Errorf("%s %+v", out, rep)
	}
	s.host(s.top, "echo x >>a; git stash -q")
	s.whole(s.top)
}

// TestVacant is a submodule that was not initialised: git outside enters whatever is in its place.
func TestVacant(t *testing.T) {
	for _, there := range []string{"mkdir sub", "true", "echo text >sub"} {
		s := newFixture(t)
		s.host(s.top, "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub; git commit -qm sub; "+there)
		c := s.stage(s.top, "r1")
		out, _ := s.try(c, s.top, "rm -rf sub || :; git init -q sub && git -C sub commit -q --allow-empty -m x && git -C sub config core.fsmonitor 'touch ~/owned' && echo made >sub/f || :")
		if out := s.host(s.top, "git status --porcelain; ls -A sub || :; ls ~"); strings.Contains(out, "owned") || strings.Contains(out, ".git") {
			t.Errorf("%s: while the box runs: %s", there, out)
		}
		c.Settle()
		rep := s.cross(c, true)
		out += s.host(s.top, "git status --porcelain; ls -A sub || :; ls ~")
		if strings.Contains(out, "owned\n") || strings.Contains(out, ".git\n") {
			t.Errorf("%s: afterwards: %s", there, out)
		}
		if made := strings.Contains(out, "f\n"); made == (there == "echo text >sub") || made != rep.Pending {
			t.Errorf("%s: %s %+v", there, out, rep)
		}
	}
}

// TestManyLogs is a repository with more logs than a box gets: the entries of the stash are among those it has, and stay
// as they are outside.
func TestManyLogs(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	// In which order folders are listed depends on the file system: this name often comes before the stash.
	s.host(s.top, "for i in 1 2; do echo $i >>a; git stash -q; done; for d in n14; do mkdir -p .git/logs/refs/$d; (cd .git/logs/refs/$d; seq 20001 | xargs touch); done")
	want := s.host(s.top, "git stash list --format=%H")
	c := s.stage(s.top, "r1")
	if len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "not all logs") {
		t.Errorf("%q", c.Notes)
	}
	if got := s.box(c, s.top, "echo n >n; git add n; git commit -qm n; git stash list --format=%H"); got != want {
		t.Errorf("the box has the stashes %q, and not %q", got, want)
	}
	s.cross(c, true)
	if got := s.host(s.top, "git log -1 --format=%s; git stash list --format=%H; git for-each-ref refs/inner"); got != "n\n"+want {
		t.Errorf("%s", got)
	}
}
