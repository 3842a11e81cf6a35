package clone

import (
	"os"
	"path/filepath"
	"testing"
)

// testdata holds a repository and what inner ec257c2 left of it, with @HOME@ for its home: it was killed while
// the box had a branch that had not crossed and a rebase that had stopped.
func TestLeft(t *testing.T) {
	data, err := filepath.Abs("testdata/ec257c2.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, "cd ..; rm -rf host; tar --no-same-owner -xzf "+data+"; mv p host; sed -i \"s,@HOME@/p,$PWD/host,g\" 0/state/copy.json")
	left := func() *Clone {
		list, err := OfLastVersion(f.home+"/0", func(gitDir, common, top string) Options {
			if gitDir != f.gitDir || common != f.common || top != f.top {
				t.Errorf("%s %s %s", gitDir, common, top)
			}
			return f.options()
		})
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		return list[0]
	}
	f.clone = left()
	f.gate = f.gateOf(f.clone)
	if r := f.bring("it is half done in the sandbox"); !r.Kept || len(r.Moved) != 2 {
		t.Errorf("%+v", r)
	}
	f.is("git log -1 --format=%s late; git symbolic-ref -q HEAD || git log -1 --format=%s; git status --short", "late\nm\n M a")
	f.clone = left()
	if r := f.bring("it is half done in the sandbox"); len(r.Moved) != 0 {
		t.Errorf("%+v", r)
	}
	if lines := f.clone.Unfinished(f.home + "/folder/going"); lines != nil {
		t.Error(lines)
	}
	f.newRun("r2")
	f.in("git add a; GIT_EDITOR=: git rebase --continue")
	f.clone, f.gate = nil, nil
	f.open()
	f.bring()
	f.is("git symbolic-ref HEAD; git log --format=%s; git status --short", "refs/heads/topic\nt\nm\nfirst")
	if _, err := os.Stat(f.home + "/folder/git/rebase-merge"); err == nil {
		t.Error("the rebase is there still")
	}
}
