package clone

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/enr/inner/isolator/git/gate"
	"github.com/enr/inner/isolator/git/server"
)

// fixture is a repository of the host, and a box that works on the same files with a clone.
type fixture struct {
	t    *testing.T
	home string
	top  string // the work tree
	tree string // its name, of a linked one
	run  string
}

func newFixture(t *testing.T, script string) *fixture {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, home: home, top: home + "/host", run: "r1"}
	f.sh(home, nil, "git init -q -b main host; mkdir -p folder/store/info; echo $PWD/host/.git/objects >folder/store/info/alternates; cd host; echo one >a; echo two >b; git add .; git commit -qm first\n"+script)
	return f
}

func (f *fixture) try(dir string, env []string, script string) (string, error) {
	cmd := exec.Command("bash", "-euc", script)
	cmd.Dir = dir
	cmd.Env = append([]string{
		"HOME=" + f.home, "PATH=" + os.Getenv("PATH"), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=C", "GIT_COMMITTER_EMAIL=c@x",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always",
	}, env...)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (f *fixture) sh(dir string, env []string, script string) string {
	f.t.Helper()
	out, err := f.try(dir, env, script)
	if err != nil {
		f.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return out
}

// out runs a script outside, in does so in the box: git there has the clone in the place of the repository.
func (f *fixture) out(script string) string { f.t.Helper(); return f.sh(f.top, nil, script) }

func (f *fixture) in(script string) string {
	f.t.Helper()
	g := f.home + "/folder/clone"
	return f.sh(f.top, []string{
		"GIT_DIR=" + filepath.Join(g, f.clone().Place()), "GIT_COMMON_DIR=" + g, "GIT_WORK_TREE=" + f.top, "GIT_OBJECT_DIRECTORY=" + f.home + "/folder/store", "G=" + g,
	}, script)
}

func (f *fixture) clone() *Clone {
	r := server.Repository{Repository: gate.Repository{
		Git: "/usr/bin/git", Dir: f.home + "/host/.git", Top: f.top, Tree: f.tree, Store: f.home + "/folder/store", Private: f.home + "/folder",
	}}
	return &Clone{Repository: r, Run: f.run}
}

func (f *fixture) start() { f.t.Helper(); f.newRun("r1") }

// newRun is the next run of the box.
func (f *fixture) newRun(name string) {
	f.t.Helper()
	f.run = name
	if err := f.clone().Make(f.t.Logf); err != nil {
		f.t.Fatal(err)
	}
}

// bring brings what each run left, and fails the test unless it said these words. It returns what moved and whether something waits.
func (f *fixture) bring(words ...string) (moved []server.Moved, waits bool) {
	f.t.Helper()
	said := ""
	for _, s := range States(f.home + "/folder") {
		c := f.clone()
		c.Run = s.Run
		more, err := c.Bring(s, func(format string, args ...any) { said += fmt.Sprintf(format+"\n", args...) })
		if err != nil {
			f.t.Fatal(err)
		}
		moved = append(moved, more...)
	}
	for _, w := range words {
		if !strings.Contains(said, w) {
			f.t.Errorf("it did not say %q:\n%s", w, said)
		}
	}
	if len(words) == 0 && said != "" {
		f.t.Errorf("it said:\n%s", said)
	}
	if out, err := f.try(f.home+"/host", nil, "git fsck --strict --no-dangling 2>&1; ! ls .git/*.lock .git/*.inner-lock 2>/dev/null"); err != nil {
		f.t.Errorf("outside: %v\n%s", err, out)
	}
	return moved, len(States(f.home+"/folder")) > 0
}

// is fails the test unless a command outside prints this.
func (f *fixture) is(script, want string) {
	f.t.Helper()
	if got := f.out(script); got != want {
		f.t.Errorf("%s: %q, not %q", script, got, want)
	}
}

// What comes runs no hook and no monitor of the host.
func TestCommit(t *testing.T) {
	f := newFixture(t, "for h in reference-transaction post-index-change; do printf '#!/bin/sh\\ntouch ../ran' >.git/hooks/$h; chmod +x .git/hooks/$h; done; rm -f ../ran")
	f.start()
	f.in("echo more >>a; git commit -qam box; git tag v1; git tag -am note v2; git branch topic; echo staged >>b; git add b; git config alias.x '!x'")
	moved, waits := f.bring()
	f.is("ls ../ran 2>/dev/null || echo none", "none")
	f.is("git log --format=%s; git status --short; git for-each-ref --format='%(refname)'", "box\nfirst\n M b\nrefs/heads/main\nrefs/heads/topic\nrefs/tags/v1\nrefs/tags/v2")
	f.is("git reflog -1 --format=%gs; git cat-file -t v2", "inner: run r1\ntag")
	if waits || len(moved) != 4 {
		t.Errorf("%+v %v", moved, waits)
	}
	f.is("git config alias.x || echo none", "none")
	f.newRun("r2")
	f.in("git commit -qam two; git branch -D topic; git tag -d v1")
	f.bring()
	f.is("ls ../ran", "../ran") // of the status above
	f.is("git log --format=%s -1; git status --short; git for-each-ref --format='%(refname)'", "two\nrefs/heads/main\nrefs/tags/v2")
}

// What moved on both sides comes aside, with the words that merge it.
func TestMovedOutside(t *testing.T) {
	f := newFixture(t, "git branch gone; git branch both")
	f.start()
	f.in("echo box >>a; git commit -qam box; git branch -D gone; git branch -f both HEAD")
	f.out("git stash -q; echo host >>b; git commit -qam host; git branch -f gone HEAD; git branch -f both HEAD; git stash pop -q")
	_, waits := f.bring("git merge refs/inner/r1/heads/main", "git merge refs/inner/r1/heads/both", "refs/heads/gone is gone in the sandbox")
	f.is("git log --format=%s main -1; git log --format=%s both -1; git rev-parse -q --verify gone >/dev/null; git checkout -q a; git merge -q --no-edit refs/inner/r1/heads/main; git status --short; tail -n1 a b", "host\nhost\n==> a <==\nbox\n\n==> b <==\nhost")
	if waits {
		t.Error("kept")
	}
}

// A commit of the person's does not take back what the box has committed, and what they have staged stays.
func TestStagedOutside(t *testing.T) {
	f := newFixture(t, "")
	f.start()
	f.in("echo box >>a; git commit -qam box")
	f.out("echo host >>b; git add b")
	f.bring()
	f.is("git log --format=%s -1; git status --short; git commit -qm mine; git show --format= --name-only; git status --short", "box\nM  b\nb")
	f.newRun("r2")
	f.in("echo box2 >>a; git commit -qam box2")
	f.out("cp a keep; echo host >a; git add a; mv keep a")
	f.bring("git merge refs/inner/r2/heads/main")
	f.is("git log --format=%s -1", "mine")
}

// The lock of the host's git is respected: nothing moves, and the ref comes aside.
func TestLocked(t *testing.T) {
	f := newFixture(t, "")
	f.start()
	f.in("echo box >>a; git commit -qam box")
	f.out("touch .git/index.lock")
	said := ""
	_, err := f.clone().Bring(States(f.home + "/folder")[0], func(format string, args ...any) { said += fmt.Sprintf(format+"\n", args...) })
	if err != nil || !strings.Contains(said, "git merge refs/inner/r1/heads/main") {
		t.Error(said, err)
	}
	f.is("ls .git/index.lock; git log --format=%s -1", ".git/index.lock\nfirst")
}

func TestOtherWorktree(t *testing.T) {
	f := newFixture(t, "git worktree add -q -b topic ../other")
	f.start()
	f.in("git branch -f topic $(git commit-tree -p HEAD -m moved HEAD^{tree}); git branch free")
	f.bring("refs/heads/topic is checked out", "git merge refs/inner/r1/heads/topic")
	f.is("git log -1 --format=%s topic; git log -1 --format=%s refs/inner/r1/heads/topic; git -C ../other status --short", "first\nmoved")
	f.newRun("r2")
	f.in("git checkout -q topic")
	f.bring("checked out")
	f.is("git symbolic-ref HEAD", "refs/heads/main")
}

// HEAD follows to another branch, to none, and back.
func TestHead(t *testing.T) {
	f := newFixture(t, "git branch topic")
	f.start()
	f.in("echo m >>a; git commit -qam main2; git checkout -q topic; echo t >>b; git commit -qam topic2")
	f.bring()
	f.is("git symbolic-ref HEAD; git log --format=%s -1 topic; git log --format=%s -1 main; git status --short", "refs/heads/topic\ntopic2\nmain2")
	f.newRun("r2")
	f.in("git checkout -q --detach; echo d >>b; git commit -qam detached")
	f.bring()
	f.is("git symbolic-ref -q HEAD || echo none; git log --format=%s -1; git log --format=%s -1 topic; git status --short", "none\ndetached\ntopic2")
	f.newRun("r3")
	f.in("git checkout -q -b fresh; git checkout -q --orphan empty; git rm -qrf .")
	f.bring()
	f.is("git symbolic-ref HEAD; git rev-parse -q --verify HEAD || git status --short; git rev-parse -q --verify fresh >/dev/null", "refs/heads/empty")
	f.out("git checkout -q main")
	f.newRun("r4")
	f.in("git checkout -q --detach main; git commit -q --allow-empty -m aside")
	f.out("git checkout -q -b elsewhere")
	f.bring("HEAD was moved outside", "git merge refs/inner/r4/HEAD")
	f.is("git symbolic-ref HEAD; git log -1 --format=%s refs/inner/r4/HEAD", "refs/heads/elsewhere\naside")
}

func TestUnborn(t *testing.T) {
	f := newFixture(t, "cd ..; rm -rf host; git init -q -b main host")
	f.start()
	f.in("echo a >a; git add a; git commit -qm first")
	f.bring()
	f.is("git log --format=%s; git status --short", "first")
}

func TestLinkedWorktree(t *testing.T) {
	f := newFixture(t, "git worktree add -q -b topic ../linked")
	f.top, f.tree = f.home+"/linked", "linked"
	f.start()
	f.in("test $(git symbolic-ref HEAD) = refs/heads/topic; echo box >>a; git commit -qam box; git update-ref refs/heads/main HEAD")
	f.bring("refs/heads/main is checked out")
	f.is("git log --format=%s -1; git status --short; git log -1 --format=%s main; cd ../host; git status --short", "box\nfirst")
	f.newRun("r2")
	f.in("echo a >>a; git commit -qam two; git rebase -q -x false HEAD~ || :; test -d $GIT_DIR/rebase-merge")
	f.bring("half done in the sandbox and does not go on")
	f.newRun("r3")
	f.in("test ! -e $GIT_DIR/rebase-merge")
}

func TestStash(t *testing.T) {
	f := newFixture(t, "echo x >>a; git stash -q")
	f.start()
	f.in("git stash list | grep -c . | grep -qx 1; echo y >>a; git stash -q -m mine; git rev-parse stash@{0} >../id; git stash drop -q stash@{1}; echo z >>b; git stash -q -m yours")
	id := f.out("cat ../id")
	f.bring("stash apply refs/inner/r1/stash/" + id)
	f.is("git stash list --format=%gs; git for-each-ref refs/inner | grep -c .; git stash apply -q refs/inner/r1/stash/"+id+"; tail -n1 a", "WIP on main: "+f.out("git rev-parse --short HEAD")+" first\n2\ny")
}

// A merge that is half done in the box is no merge outside, and one that is half done outside is not taken for another.
func TestMerge(t *testing.T) {
	f := newFixture(t, "git checkout -q -b topic; echo t >a; git commit -qam t; git checkout -q main; echo m >a; git commit -qam m")
	f.start()
	f.in("git commit -q --allow-empty -m more; git merge topic || :")
	f.bring("half done in the sandbox and does not go on")
	f.is("git log -1 --format=%s; git status --short; ls .git/MERGE_HEAD 2>/dev/null || echo none", "more\n M a\nnone")
	f.newRun("r2")
	f.in("git status --short | grep -qx ' M a'; test ! -e $G/MERGE_HEAD")

	f = newFixture(t, "git checkout -q -b topic; echo t >b; git commit -qam t; git checkout -q main; echo m >a; git commit -qam m; git merge -q --no-commit topic")
	f.start()
	f.in("git commit -qm merged")
	f.bring("half done outside", "git merge refs/inner/r1/heads/main")
	f.is("git log -1 --format=%s; test -e .git/MERGE_HEAD", "m")
}

// A rebase that is half done goes on in the next run.
func TestRebase(t *testing.T) {
	f := newFixture(t, "git checkout -q -b topic; echo t >a; git commit -qam t; git checkout -q main; echo m >a; git commit -qam m; git checkout -q topic")
	f.start()
	f.in("git rebase -q main || :")
	f.bring()
	if what, _ := server.HalfDone(f.home + "/folder"); what != "rebase" {
		t.Error(what)
	}
	f.is("git symbolic-ref -q HEAD || git log --format=%s -1; git status --short; ls .git/rebase-merge 2>/dev/null || echo none", "m\n M a\nnone")
	f.newRun("r2")
	f.in("echo both >a; git add a; GIT_EDITOR=: git rebase --continue")
	f.bring()
	f.is("git symbolic-ref HEAD; git log --format=%s; git status --short", "refs/heads/topic\nt\nm\nfirst")
	if what, _ := server.HalfDone(f.home + "/folder"); what != "" {
		t.Error(what)
	}
}

// What the gate refuses waits, and comes when it may.
func TestRefused(t *testing.T) {
	f := newFixture(t, "")
	f.start()
	f.in("git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub; git commit -qm link; git branch good HEAD~; git branch bad")
	if _, waits := f.bring("a new submodule is for outside", "refs/heads/bad of the sandbox waits"); !waits {
		t.Error("it is not kept")
	}
	f.is("git for-each-ref --format='%(refname)'; git status --short", "refs/heads/good\nrefs/heads/main")
	f.newRun("r2")
	f.in("git tag later")
	f.bring("refs/heads/bad of the sandbox waits")
	f.out("git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub")
	if _, waits := f.bring(); waits {
		t.Error("it is kept")
	}
	f.is("git log -1 --format=%s refs/heads/bad; git log -1 --format=%s refs/inner/r1/heads/main; git rev-parse -q --verify later >/dev/null; git branch", "link\nlink\n  bad\n  good\n* main")
}

// Nothing that a box makes of its refs hangs, leads out, or takes another ref along.
func TestHostile(t *testing.T) {
	f := newFixture(t, "git branch topic; git branch keep; echo $(git rev-parse HEAD) >../secret")
	f.start()
	f.in(`git branch good
	ln -s ../../../../secret $G/refs/heads/link; ln -s $PWD/../secret $G/refs/heads/abs; ln -s .. $G/refs/heads/dir; mkfifo $G/refs/heads/fifo
	ln -s loop $G/refs/heads/loop; echo 'ref: refs/heads/y' >$G/refs/heads/x; echo 'ref: refs/heads/x' >$G/refs/heads/y; echo 'ref: refs/heads/main' >$G/refs/heads/keep
	id=$(git rev-parse good); for n in 'a..b' 'x~1' '-dash' '@{' 'sp ace' $'new\nline'; do echo $id >"$G/refs/heads/$n"; done
	echo 0000000000000000000000000000000000000000 >$G/refs/heads/topic; truncate -s 1T $G/refs/heads/huge; echo $id >$G/refs/top; mkdir -p $G/refs/replace; echo $id >$G/refs/replace/$id
	echo 1234567890123456789012345678901234567890 >$G/refs/heads/none; mkdir -m 0 $G/locked`)
	_, waits := f.bring("refs/heads/link of", "refs/heads/fifo of", "refs/heads/topic of", "refs/heads/huge of", "refs/heads/none of", "refs/heads/a..b of", "refs/heads/sp ace of")
	left := "refs/heads/good\nrefs/heads/keep\nrefs/heads/main\nrefs/heads/topic\nrefs/top"
	f.is("git for-each-ref --format='%(refname)'", left)
	if !waits {
		t.Error("not kept")
	}
	for i, c := range []struct{ script, want string }{
		{"rm -r $G/refs; ln -s ../.. $G/refs", "nothing came"},
		{"rm -r $G/refs; mkfifo $G/refs", "nothing came"},
		{"git tag x; rm $G/packed-refs; mkfifo $G/packed-refs", "nothing came"},
		{"git tag x; printf '%s\\n' garbage >$G/packed-refs", "nothing came"},
		{"git tag x; rm $G/HEAD; ln -s /dev/zero $G/HEAD", "nothing came"},
		{"echo 'ref: refs/heads/-x' >$G/HEAD", "is not what git writes"},
		{"printf '%s refs/heads/a\\0b\\n' $(cat ../secret) >>$G/packed-refs", "is not what git writes"},
	} {
		f.newRun(fmt.Sprintf("h%d", i))
		f.in("rm -rf $G/refs/heads/link; git pack-refs --all; " + c.script)
		f.bring(c.want)
		f.is("git for-each-ref --format='%(refname)'; git symbolic-ref HEAD", left+"\nrefs/heads/main")
		for _, s := range States(f.home + "/folder") {
			if err := s.Drop(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A killed inner leaves a state from which the next call goes on.
func TestKilled(t *testing.T) {
	f := newFixture(t, "")
	f.start()
	f.in("echo box >>a; git commit -qam box; git branch one")
	f.sh(f.home, nil, "cp folder/clone-r1.json before")
	f.bring()
	f.is("git log --format=%s -1; git status --short", "box")
	// After the refs, before the state was removed.
	f.sh(f.home, nil, "cp before folder/clone-r1.json")
	f.bring()
	// After the index, before the refs.
	f.sh(f.home, nil, "cp before folder/clone-r1.json; cd host; git update-ref refs/heads/main HEAD~; git update-ref -d refs/heads/one")
	f.is("git status --short", "M  a")
	f.bring()
	f.is("git log --format=%s -1; git status --short; git log -1 --format=%s one", "box\nbox")
	// What nobody could bring is kept when there is another clone.
	f.newRun("k1")
	f.in("git tag kept; mv $G/HEAD $G/away")
	f.bring("nothing came")
	f.newRun("k2")
	f.in("git tag next")
	f.bring("nothing came")
	f.sh(f.home, nil, "mv folder/clone-k1/away folder/clone-k1/HEAD")
	f.bring()
	f.is("git tag", "kept\nnext")
	f.sh(f.home, nil, "test ! -e folder/clone-k1")
	// While a clone was made there is no state.
	f.newRun("r3")
	f.sh(f.home, nil, "rm -r folder/clone-r3.json folder/clone/refs")
	f.bring()
	f.newRun("r4")
}

// A fetch brings many refs at once, and what is refused among them holds none of the others back.
func TestMany(t *testing.T) {
	f := newFixture(t, "")
	f.start()
	f.in("id=$(git rev-parse HEAD); for i in $(seq 1000); do echo create refs/remotes/origin/$i $id; done | git update-ref --stdin; git pack-refs --all; mkdir -p $G/refs/remotes/origin; echo 1234567890123456789012345678901234567890 >$G/refs/remotes/origin/none")
	if moved, waits := f.bring("origin/none of the sandbox waits"); len(moved) != 1000 || !waits || len(States(f.home + "/folder")[0].Lines) != 1 {
		t.Error(len(moved), waits)
	}
}

// A store that leads out is none.
func TestStore(t *testing.T) {
	f := newFixture(t, "")
	f.start()
	f.in("echo more >>a; git commit -qam box; mv ../folder/store ../away; ln -s $PWD/.git/objects ../folder/store")
	if _, waits := f.bring("nothing came"); !waits {
		t.Error("not kept")
	}
	f.out("rm ../folder/store; mv ../away ../folder/store")
	f.bring()
	f.is("git log --format=%s", "box\nfirst")
}
