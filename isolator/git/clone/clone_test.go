package clone

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/enr/inner/isolator/git/index"
	"github.com/enr/inner/isolator/git/objects"
	"github.com/enr/inner/profile/gitconfig"
)

// fixture is a repository of the host, and a box that works on the same files with a clone.
type fixture struct {
	t      *testing.T
	home   string
	top    string // the work tree
	common string
	gitDir string
	clone  *Clone
	run    string
	gate   *objects.Gate
	set    []string // settings of branches that passed
}

func newFixture(t *testing.T, script string) *fixture {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, home: home, top: home + "/host", common: home + "/host/.git", gitDir: home + "/host/.git", run: "r1"}
	f.sh(home, nil, "git init -q -b main host; mkdir folder; cd host; echo one >a; echo two >b; git add .; git commit -qm first\n"+script)
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
	dir := filepath.Join(f.home, "folder/git", f.rel())
	return f.sh(f.top, []string{"GIT_DIR=" + dir, "GIT_COMMON_DIR=" + f.home + "/folder/git", "GIT_WORK_TREE=" + f.top, "G=" + f.home + "/folder/git"}, script)
}

func (f *fixture) rel() string {
	rel, _ := filepath.Rel(f.common, f.gitDir)
	return rel
}

func (f *fixture) options() Options {
	return Options{
		Git: "/usr/bin/git", Env: []string{"HOME=" + f.home, "GIT_COMMITTER_NAME=C", "GIT_COMMITTER_EMAIL=c@x"},
		GitDir: f.gitDir, Common: f.common, Top: f.top,
		Folder: f.home + "/folder", Objects: f.common + "/objects", Run: f.run, Index: f,
		Settings: []gitconfig.Entry{{Key: "core.bare", Value: "false"}, {Key: "remote.origin.url", Value: "/nowhere"}},
		Branch: func(key string, value *string) error {
			f.set = append(f.set, key+"="+*value)
			return nil
		},
	}
}

// open opens the clone, and the gate of its objects.
func (f *fixture) open() {
	f.t.Helper()
	c, err := Open(f.options())
	if err != nil {
		f.t.Fatal(err)
	}
	f.clone, f.gate = c, f.gateOf(c)
}

func (f *fixture) gateOf(c *Clone) *objects.Gate {
	f.t.Helper()
	gate, err := objects.New(objects.Options{Git: "/usr/bin/git", Dir: c.Common, Store: filepath.Join(c.Dir, "objects"), Own: f.t.TempDir(), AllowedLinks: f.links})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(gate.Close)
	return gate
}

func (f *fixture) links() (map[string]bool, error) {
	return map[string]bool{"sub": f.run == "allowed"}, nil
}

func (f *fixture) start() {
	f.t.Helper()
	f.open()
	if _, err := f.clone.Make(); err != nil {
		f.t.Fatal(err)
	}
}

// newRun is the next run of the box. It fails the test unless the run before was brought.
func (f *fixture) newRun(name string) (lines string) {
	f.t.Helper()
	f.run = name
	f.open()
	list, err := f.clone.Make()
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.Join(list, "\n")
}

// bring ends the run, and fails the test unless it said these words.
func (f *fixture) bring(words ...string) Report {
	f.t.Helper()
	report, err := f.clone.Bring(f.gate)
	if err != nil {
		f.t.Fatal(err)
	}
	said := strings.Join(report.Lines, "\n")
	for _, w := range words {
		if !strings.Contains(said, w) {
			f.t.Errorf("it did not say %q:\n%s", w, said)
		}
	}
	if len(words) == 0 && said != "" {
		f.t.Errorf("it said:\n%s", said)
	}
	if out, err := f.try(f.top, nil, "git fsck --strict --no-dangling 2>&1; ! ls .git/*.lock .git/*.inner-lock 2>/dev/null"); err != nil {
		f.t.Errorf("outside: %v\n%s", err, out)
	}
	return report
}

// is fails the test unless a command outside prints this.
func (f *fixture) is(script, want string) {
	f.t.Helper()
	if got := f.out(script); got != want {
		f.t.Errorf("%s: %q, not %q", script, got, want)
	}
}

// The index of the host. Nothing of a box comes into it.
func (f *fixture) Enter(string, []byte, []byte) ([]byte, func(), error) { panic("not called") }

func (f *fixture) Served(_ string, data []byte) ([]byte, error) {
	x, err := index.Parse(data)
	if err != nil {
		return nil, err
	}
	return x.Served(func(string) bool { return false })
}

// What comes runs no hook and no monitor of the host.
func TestCommit(t *testing.T) {
	f := newFixture(t, "for h in reference-transaction post-index-change; do printf '#!/bin/sh\\ntouch ../ran' >.git/hooks/$h; chmod +x .git/hooks/$h; done; rm -f ../ran")
	f.start()
	f.in("echo more >>a; git commit -qam box; git tag v1; git tag -am note v2; git branch topic; echo staged >>b; git add b; git config branch.main.remote origin; git config alias.x '!x'")
	r := f.bring()
	f.is("ls ../ran 2>/dev/null || echo none", "none")
	f.is("git log --format=%s; git status --short; git for-each-ref --format='%(refname)'", "box\nfirst\n M b\nrefs/heads/main\nrefs/heads/topic\nrefs/tags/v1\nrefs/tags/v2")
	f.is("git reflog -1 --format=%gs; git cat-file -t v2", "inner: run r1\ntag")
	if r.Kept || len(r.Moved) != 4 || len(f.set) != 1 {
		t.Errorf("%+v %v", r, f.set)
	}
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
	r := f.bring("git merge refs/inner/r1/heads/main", "git merge refs/inner/r1/heads/both", "refs/heads/gone is gone in the sandbox")
	f.is("git log --format=%s main -1; git log --format=%s both -1; git rev-parse -q --verify gone >/dev/null; git checkout -q a; git merge -q --no-edit refs/inner/r1/heads/main; git status --short; tail -n1 a b", "host\nhost\n==> a <==\nbox\n\n==> b <==\nhost")
	if r.Kept {
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
	report, err := f.clone.Bring(f.gate)
	if err != nil || !strings.Contains(strings.Join(report.Lines, "\n"), "refs/inner/r1/heads/main") {
		t.Error(report, err)
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
	f.top, f.gitDir = f.home+"/linked", f.common+"/worktrees/linked"
	f.start()
	f.in("test $(git symbolic-ref HEAD) = refs/heads/topic; echo box >>a; git commit -qam box; git update-ref refs/heads/main HEAD")
	f.bring("refs/heads/main is checked out")
	f.is("git log --format=%s -1; git status --short; git log -1 --format=%s main; cd ../host; git status --short", "box\nfirst")
}

func TestStash(t *testing.T) {
	f := newFixture(t, "echo x >>a; git stash -q")
	f.start()
	f.in("git stash list | grep -c . | grep -qx 1; echo y >>a; git stash -q -m mine; echo z >>b; git stash -q -m yours")
	f.bring()
	f.is("git stash list --format=%gs; git stash show -p stash@{1} | tail -n1", "On main: yours\nOn main: mine\nWIP on main: "+f.out("git rev-parse --short HEAD")+" first\n+y")
	f.bring()
	f.is("git stash list | grep -c .", "3")
}

// A merge that is half done goes on in the next run, and nobody commits it outside as something else.
func TestMerge(t *testing.T) {
	f := newFixture(t, "git checkout -q -b topic; echo t >a; git commit -qam t; git checkout -q main; echo m >a; git commit -qam m")
	f.start()
	f.in("git merge topic || :")
	if r := f.bring("MERGE_HEAD: it is half done in the sandbox, and goes on there in the next run"); !r.Kept {
		t.Error("the merge is not kept")
	}
	f.is("git status --short; ls .git/MERGE_HEAD 2>/dev/null || echo none", "M a\nnone")
	f.newRun("r2")
	f.in("git status --short | grep -qx 'UU a'; echo both >a; git commit -qam merged")
	f.bring()
	f.is("git log -1 --format='%s %p' | wc -w; git status --short", "3")

	f = newFixture(t, "git checkout -q -b topic; echo t >b; git commit -qam t; git checkout -q main; echo m >a; git commit -qam m; git merge -q --no-commit topic")
	f.start()
	f.in("git commit -qm merged")
	f.bring("half done outside", "git merge refs/inner/r1/heads/main")
	f.is("git log -1 --format=%s; test -e .git/MERGE_HEAD", "m")
}

// A rebase that is half done goes on in the next run, unless HEAD has moved outside.
func TestRebase(t *testing.T) {
	for _, moved := range []bool{false, true} {
		f := newFixture(t, "git checkout -q -b topic; echo t >a; git commit -qam t; git checkout -q main; echo m >a; git commit -qam m; git checkout -q topic")
		f.start()
		f.in("git rebase -q main || :")
		if r := f.bring("rebase-merge: it is half done in the sandbox, and goes on there in the next run"); !r.Kept {
			t.Error("the rebase is not kept")
		}
		f.is("git symbolic-ref -q HEAD || git log --format=%s -1; git status --short; ls .git/rebase-merge 2>/dev/null || echo none", "m\n M a\nnone")
		if moved {
			f.out("git checkout -qf main")
			if said := f.newRun("r2"); !strings.Contains(said, "rebase-merge of run r1 does not go on") {
				t.Error(said)
			}
			f.in("test ! -e $G/rebase-merge")
			continue
		}
		f.newRun("r2")
		f.in("echo both >a; git add a; GIT_EDITOR=: git rebase --continue")
		if r := f.bring(); r.Kept {
			t.Error("it is kept")
		}
		f.is("git symbolic-ref HEAD; git log --format=%s; git status --short", "refs/heads/topic\nt\nm\nfirst")
	}
}

// What the gate refuses stays with the box, and comes when it may.
func TestRefused(t *testing.T) {
	f := newFixture(t, "")
	f.start()
	f.in("git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub; git commit -qm link; git branch good HEAD~; git branch bad")
	r := f.bring(`brings the repository at "sub"`, "refs/heads/bad of the sandbox waits")
	if !r.Kept {
		t.Error("it is not kept")
	}
	f.is("git for-each-ref --format='%(refname)'; git status --short", "refs/heads/good\nrefs/heads/main")
	f.newRun("allowed")
	f.in("git log -1 --format=%s refs/inner/r1/heads/bad | grep -qx link")
	f.bring()
	f.is("git log -1 --format=%s refs/inner/r1/heads/bad; git log -1 --format=%s refs/inner/r1/heads/main", "link\nlink")
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
	r := f.bring(`"refs/heads/link"`, `"refs/heads/fifo"`, `"refs/heads/topic"`, `"refs/heads/huge"`, "refs/heads/none of the sandbox waits", "a..b")
	f.is("git for-each-ref --format='%(refname)'", "refs/heads/good\nrefs/heads/keep\nrefs/heads/main\nrefs/heads/topic\nrefs/top")
	if !r.Kept {
		t.Error("not kept")
	}
	f.newRun("r2")
	f.in("rm -r $G/refs; ln -s ../.. $G/refs")
	if _, err := f.clone.Bring(f.gate); err == nil {
		t.Error("refs lead out, and that is no error")
	}
	f.in("rm $G/refs; mkfifo $G/refs")
	f.bring(`"refs"`)
	f.in("rm $G/refs; mkdir $G/refs; rm $G/packed-refs; mkfifo $G/packed-refs; rm $G/HEAD; ln -s /dev/zero $G/HEAD")
	f.bring(`"packed-refs"`, `"HEAD"`)
	f.in("rm $G/HEAD; echo 'ref: refs/heads/-x' >$G/HEAD")
	f.bring(`"HEAD"`)
	f.in("rm $G/packed-refs; printf '%s refs/heads/a\\0b\\n' $(cat ../secret) >$G/packed-refs")
	f.bring(`"packed-refs"`)
	f.is("git for-each-ref --format='%(refname)'", "refs/heads/good\nrefs/heads/keep\nrefs/heads/main\nrefs/heads/topic\nrefs/top")
}

// A killed inner leaves a state from which the next call goes on.
func TestKilled(t *testing.T) {
	f := newFixture(t, "")
	f.start()
	f.in("echo box >>a; git commit -qam box; git branch one")
	f.open()
	if _, err := f.clone.Make(); err == nil || !strings.Contains(err.Error(), "run r1") {
		t.Errorf("a clone that nobody brought is overwritten: %v", err)
	}
	f.sh(f.home, nil, "cp folder/state.json before")
	f.bring()
	f.is("git log --format=%s -1; git status --short", "box")
	// After the refs, before the state was written.
	f.sh(f.home, nil, "cp before folder/state.json")
	f.open()
	f.bring()
	// While the next clone was made: nothing of it counts as the box's.
	f.sh(f.home, nil, "cp -r folder/git whole; rm -r folder/git/refs folder/git/packed-refs folder/git/HEAD folder/git/config")
	f.open()
	f.bring(`"HEAD"`, `"refs"`, `"packed-refs"`)
	f.is("git for-each-ref --format='%(refname)'", "refs/heads/main\nrefs/heads/one")
	f.sh(f.home, nil, "rm -r folder/git; mv whole folder/git")
	// After the index, before the refs.
	f.sh(f.home, nil, "cp before folder/state.json; cd host; git update-ref refs/heads/main HEAD~; git update-ref -d refs/heads/one")
	f.is("git status --short", "M  a")
	f.open()
	f.bring()
	f.is("git log --format=%s -1; git status --short; git log -1 --format=%s one", "box\nbox")
}

// A fetch brings many refs at once, and what is refused among them holds none of the others back.
func TestMany(t *testing.T) {
	f := newFixture(t, "")
	f.start()
	f.in("id=$(git rev-parse HEAD); for i in $(seq 1000); do echo create refs/remotes/origin/$i $id; done | git update-ref --stdin; git pack-refs --all; mkdir -p $G/refs/remotes/origin; echo 1234567890123456789012345678901234567890 >$G/refs/remotes/origin/none")
	if r := f.bring("origin/none of the sandbox waits"); len(r.Moved) != 1000 || len(r.Lines) != 1 {
		t.Error(len(r.Moved), r.Lines)
	}
}

// A store that leads out is none, and the next run has one.
func TestStore(t *testing.T) {
	f := newFixture(t, "")
	f.start()
	f.in("echo more >>a; git commit -qam box; mv $G/objects $G/away; ln -s $PWD/.git/objects $G/objects")
	f.open()
	if r := f.bring("refs/inner/r1/heads/main of the sandbox waits"); !r.Kept {
		t.Error("not kept")
	}
	f.newRun("r2")
	f.in("git commit -qam again; test ! -L $G/objects")
	f.bring("neither in the repository nor in the box's store")
	f.is("git log --format=%s", "again\nfirst")
}

func TestUnfit(t *testing.T) {
	for script, want := range map[string]string{
		"cd ..; rm -rf host; git init -q --object-format=sha256 host":       "sha256",
		"git clone -qs . ../borrowed; cd ..; rm -rf host; mv borrowed host": "borrows objects",
	} {
		f := newFixture(t, script)
		f.open()
		if _, err := f.clone.Make(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}
	}
}
