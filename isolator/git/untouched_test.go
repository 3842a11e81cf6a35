package git

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestUntouched is a run that never used git: its end reads no ref. Whatever changes in the box's git directory is noticed.
func TestUntouched(t *testing.T) {
	s := newFixture(t)
	s.host(s.top, "git branch b; git pack-refs --all")
	for i, change := range []string{
		"", "printf '#' >>config", "printf 'ref: refs/heads/main' | dd of=HEAD conv=notrunc status=none; touch -d @1 HEAD", "mv packed-refs p; mv p packed-refs",
		"mkdir refs/heads/x", "echo x >objects/info/alternates", "rm info/exclude", "ln -s x FETCH_HEAD", "chmod 755 hooks", "mkdir -p worktrees/w", "touch -d @1 index",
	} {
		c := s.stage(s.top, strings.Repeat("r", i+1))
		if !c.untouched() {
			t.Fatal("a copy that nobody used counts as used")
		}
		s.host(filepath.Join(c.path, boxFolder), change)
		if got := c.untouched(); got != (change == "") {
			t.Errorf("%q: untouched is %v", change, got)
		}
		if change == "" {
			if rep := s.cross(c, true); len(c.bases) > 0 || rep.Kept() || len(rep.Lines) > 0 {
				t.Errorf("nothing was to cross: %+v, bases %v", rep, c.bases)
			}
		}
	}
}

// TestRefsArePacked is what the box sees of the host's refs, which it gets in one file.
func TestRefsArePacked(t *testing.T) {
	t.Parallel()
	const all = "git for-each-ref --format='%(objectname) %(refname) %(*objectname) %(symref)'; git show-ref -d; git rev-parse HEAD; git bisect log 2>&1 | head -3; git stash list --format=%gd"
	for name, script := range map[string]string{
		"loose":             "git branch b; git branch x/y",
		"a tag with a text": "git tag -am text t; git branch b",
		"packed":            "git tag -am text t; git branch b; git pack-refs --all",
		"both":              "git tag -am text t; git branch b; git pack-refs --all; echo n >a; git commit -qam n; git branch -f b; git branch a; git branch z; git tag -afm new t",
		"not sorted":        "git branch b; git branch a; git pack-refs --all; { tac .git/packed-refs | grep -v '#'; } >p; mv p .git/packed-refs; git branch n",
		"the older header":  "git tag -am text t; git pack-refs --all; sed -i 's/fully-peeled //' .git/packed-refs; git branch n",
		"other kinds":       "git branch b; git symbolic-ref refs/remotes/o/HEAD refs/remotes/o/main; git update-ref refs/remotes/o/main HEAD; git update-ref refs/notes/commits HEAD; echo n >a; git stash -q; git bisect start; git bisect bad",
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			s.host(s.top, script)
			c := s.stage(s.top, "r1")
			if in, out := s.box(c, s.top, all), s.host(s.top, all); in != out {
				t.Fatalf("inside:\n%s\noutside:\n%s", in, out)
			}
			if !strings.Contains(script, "pack-refs") {
				files := s.host(c.path, "cd git; find refs -type f | grep -v -e HEAD -e bisect")
				if files != "refs/heads/main\n" {
					t.Errorf("refs that are files:\n%s", files)
				}
			}
			s.box(c, s.top, "git branch -D b 2>/dev/null || true; git branch -f n2; git update-ref -d refs/tags/t")
			s.cross(c, true)
			if in, out := s.box(c, s.top, state), s.host(s.top, state); in != out {
				t.Errorf("afterwards inside:\n%s\noutside:\n%s", in, out)
			}
			s.whole(s.top)
		})
	}
}
