package repos

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/stage"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place is a folder with a home in which git works.
type place struct {
	testing.TB
	dir string
}

func newPlace(t testing.TB) place {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.MkdirAll(dir+"/p", 0o755))
	return place{t, dir}
}

// sh runs a script on the host, in the project.
func (p place) sh(script string) string {
	p.Helper()
	cmd := exec.Command("/bin/sh", "-euc", script)
	cmd.Dir = p.dir + "/p"
	cmd.Env = []string{
		"HOME=" + p.dir, "PATH=/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM=1", "MARK=" + p.dir + "/mark", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@b", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// begin is a moment after everything that was done before.
func (p place) begin() time.Time {
	p.Helper()
	file := p.dir + "/clock"
	stamp := func() int64 {
		must(p, os.WriteFile(file, nil, 0o600))
		fi, err := os.Stat(file)
		must(p, err)
		return fi.ModTime().UnixNano()
	}
	first, deadline := stamp(), time.Now().Add(2*time.Minute)
	for {
		if now := stamp(); now != first {
			return time.Unix(0, now)
		}
		if time.Now().After(deadline) {
			p.Fatal("the clock of files stands still")
		}
	}
}

// what is everything that was switched off, without the project's path.
func (p place) what(list []Moved) string {
	var out []string
	for _, m := range list {
		for _, w := range m.What {
			out = append(out, strings.TrimPrefix(m.Of, p.dir+"/p/")+": "+strings.ReplaceAll(w, p.dir, ""))
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

const evil = "make() { git init -q $1; git -C $1 commit -q --allow-empty -m x; }; "

// Where the harmless settings cannot be written, the others are moved aside all the same: nothing
// of a file that is not whole is in their place.
func TestUnwritten(t *testing.T) {
	for name, c := range map[string]struct {
		during, config string
		unwritten      bool
	}{
		"written":     {"", "user.name=ann\n", false},
		"not written": {"", "", true},
		"closed":      {"chmod 500 x/.git", "user.name=ann\n", false},
	} {
		p := newPlace(t)
		since := p.begin()
		p.sh(evil + "make x; git -C x config core.fsmonitor 'touch $MARK'; git -C x config user.name ann; " + c.during)
		var most unix.Rlimit // of the bytes of a file: none are as good as a full disk
		must(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &most))
		if c.unwritten {
			signal.Ignore(unix.SIGXFSZ)
			must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Max: most.Max}))
		}
		found, err := Search{Watched: stage.Watched{Roots: []string{p.dir + "/p"}, Since: since}}.Hold()
		must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &most))
		if got := p.what(found.Moved); got != "x/.git: core.fsmonitor" || (err != nil) != c.unwritten {
			t.Fatalf("%s: %q, %v", name, got, err)
		}
		if list := found.Moved; len(list) != 1 || list[0].Kept != p.dir+"/p/x/.git/config"+Suffix {
			t.Errorf("%s: %+v", name, list)
		}
		if files.Exists(p.dir+"/p/x/.git/config") == c.unwritten {
			t.Errorf("%s: the settings are there, or not: %v", name, c.unwritten)
		}
		p.sh("git -C x status")
		if got := p.sh("git -C x config --local --list 2>&1 | grep ^user || :"); got != c.config {
			t.Errorf("%s: the settings are %q", name, got)
		}
		if files.Exists(p.dir + "/mark") {
			t.Errorf("%s: git ran what the box wrote", name)
		}
	}
}

// TestRecorded: what of git's was not there before is the box's, however old it is, and what
// was there is not.
func TestRecorded(t *testing.T) {
	const old = "git init -q .; git init -q there; git -C there config core.fsmonitor 'touch $MARK'; "
	for name, c := range map[string]struct {
		before, during, want string
		known, unlisted      []string
	}{
		"a repository moved to where git finds it": {old + "mkdir parts; mv there/.git parts/x", "mv parts/x there/.git", "there/.git: core.fsmonitor", nil, nil},
		"below a folder that is moved":             {old, "mv there elsewhere", "elsewhere/.git: core.fsmonitor", []string{"there/.git"}, nil},
		"hooks in one":                             {"git init -q .; git init -q --bare x; printf '#!/bin/sh\\n' >x/hooks/pre-commit; chmod +x x/hooks/pre-commit", "mkdir y; mv x y/.git; git -C y config core.bare false", "y/.git: hooks/pre-commit", nil, nil},
		"what was there":                           {old, "echo x >there/x", "", []string{"there/.git"}, nil},
		"where nobody looked":                      {old, "echo x >there/x", "", nil, []string{"there"}},
		"a pointer to another's":                   {old, "mkdir p; echo 'gitdir: ../there/.git' >p/.git", "p/.git: a pointer to /p/there/.git", []string{"there/.git"}, nil},
		"an older pointer":                         {old + "mkdir p; echo 'gitdir: ../there/.git' >p/.git", "touch p/.git", "", []string{"there/.git", "p/.git"}, nil},
		"a worktree of the person's":               {old + "git commit -q --allow-empty -m x", "git worktree add -q w", "", []string{"there/.git"}, nil},
		"a pointer to a worktree of another":       {old + "git commit -q --allow-empty -m x; git worktree add -q w", "mkdir v; cp w/.git v", "v/.git: a pointer to /p/.git/worktrees/w", []string{"there/.git", "w/.git"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.sh(c.before)
			s := Search{Watched: stage.Watched{Roots: []string{p.dir + "/p"}, Guarded: []string{p.dir + "/p/.git"}, Since: p.begin().Add(time.Hour)}} // no time is recent
			for _, k := range c.known {
				s.Guarded = append(s.Guarded, p.dir+"/p/"+k)
			}
			for _, u := range c.unlisted {
				s.Unlisted = append(s.Unlisted, p.dir+"/p/"+u)
			}
			p.sh(c.during)
			found, err := s.Hold()
			if err != nil {
				t.Error(err)
			}
			if got := p.what(found.Moved); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestHold(t *testing.T) {
	for name, c := range map[string]struct{ before, during, want string }{
		"nothing":       {"git init -q .", "echo x > x; git add x; git commit -qm x", ""},
		"a clone":       {"git init -q ../up; git -C ../up commit -q --allow-empty -m x", "git clone -q ../up dep; git -C dep config user.name b; git -C dep checkout -qb topic; git -C dep branch -u origin/HEAD; git -C dep submodule -q add $PWD/../up sub; git -C dep worktree add -q ../tree", ""},
		"a new project": {"", "git init -q .; git commit -q --allow-empty -m x; git config core.autocrlf input", ""},
		"untracked":     {"git init -q .", evil + "make evil; git -C evil config core.fsmonitor 'touch $MARK'", "evil/.git: core.fsmonitor"},
		"gitlink":       {"git init -q .", evil + "make a/b/c/d/e/f/g; git -C a/b/c/d/e/f/g config core.fsmonitor 'touch $MARK'; git add a 2>/dev/null", "a/b/c/d/e/f/g/.git: core.fsmonitor"},
		"filter": {
			"git init -q .", evil + "make evil; cd evil; echo x >x; git add x; git commit -qm x; echo '* filter=f' >.gitattributes; git config filter.f.clean 'touch $MARK; cat'; echo y >x; cd ..; git add evil 2>/dev/null",
			"evil/.git: filter.f.clean",
		},
		"hooks":                  {"git init -q .", evil + "make evil; printf '#!/bin/sh\ntouch $MARK\n' > evil/.git/hooks/post-checkout; chmod +x evil/.git/hooks/post-checkout; echo no > evil/.git/hooks/notes", "evil/.git: hooks/post-checkout"},
		"hooks, a link":          {"git init -q .", evil + "make evil; mkdir h; rm -r evil/.git/hooks; ln -s ../../h evil/.git/hooks", "evil/.git: hooks"},
		"include":                {"git init -q .", evil + "make evil; git -C evil config include.path ../x; git config -f evil/x core.fsmonitor 'touch $MARK'; git add evil 2>/dev/null", "evil/.git: include.path"},
		"config, a link":         {"git init -q .", evil + "make evil; cd evil; git config core.fsmonitor 'touch $MARK'; mv .git/config c; ln -s ../c .git/config", "evil/.git: config"},
		"worktree config":        {"git init -q .", evil + "make evil; git -C evil config extensions.worktreeConfig true; git -C evil config --worktree core.fsmonitor 'touch $MARK'; git add evil 2>/dev/null", "evil/.git: core.fsmonitor"},
		"a bare one":             {"git init -q .", "git init -q --bare evil; git -C evil config core.fsmonitor 'touch $MARK'", "evil: core.fsmonitor"},
		"a pointer":              {"git init -q .", evil + "make a; mv a/.git x; echo 'gitdir: ../x' >a/.git; git -C a config core.fsmonitor 'touch $MARK'; git add a 2>/dev/null", "a/.git: a pointer to /p/x, x: core.fsmonitor"},
		"an older pointer":       {"git init -q .; mkdir a; echo 'gitdir: ../x' >a/.git", evil + "make y; mv y/.git x; git -C a config core.fsmonitor 'touch $MARK'; git add a 2>/dev/null", "x: core.fsmonitor"},
		"a pointer to what runs": {"git init -q .; mkdir ../own; git init -q ../own; git -C ../own config core.hooksPath .h", "mkdir a; echo \"gitdir: $PWD/../own/.git\" >a/.git", "a/.git: a pointer to /own/.git"},
		"commondir":              {"git init -q .; git init -q ../own; git -C ../own config core.hooksPath .h", "mkdir -p a/.git/refs; echo ../../../own/.git >a/.git/commondir; cp .git/HEAD a/.git", "a/.git: commondir"},
		"a link":                 {"git init -q .", evil + "make a; mv a/.git x; ln -s ../x a/.git; git -C a config core.fsmonitor 'touch $MARK'; git add a 2>/dev/null", "a/.git: a pointer to /p/x, x: core.fsmonitor"},
		"a submodule":            {"git init -q .", evil + "make evil; cd evil; git init -q ../../up; git -C ../../up commit -q --allow-empty -m x; git submodule --quiet add $PWD/../../up s; git -C s config core.fsmonitor 'touch $MARK'; cd ..; git add evil 2>/dev/null", "evil/.git/modules/s: core.fsmonitor"},
		"its own worktree":       {"git init -q .", evil + "make evil; git -C evil config core.worktree $HOME", "evil/.git: core.worktree"},
		"without reading":        {"git init -q .", evil + "make evil; git -C evil config core.fsmonitor 'touch $MARK'; git add evil 2>/dev/null; chmod 0111 evil evil/.git", "evil/.git: core.fsmonitor"},
		"a fault":                {"git init -q .", evil + "make evil; echo '[x' >> evil/.git/config", "evil/.git: config (not in git's format)"},
		"an index behind a link": {"git init -q .", evil + "make evil; git -C evil config core.fsmonitor 'touch $MARK'; git add evil 2>/dev/null; mv .git/index .git/i; ln -s i .git/index", "evil/.git: core.fsmonitor"},
		"a pointer, cut off":     {"git init -q .", evil + "make a; mkdir hid; mv a/.git hid/x; printf 'gitdir: ../hid/x\\0more' >a/.git; git -C a config core.fsmonitor 'touch $MARK'", "a/.git: a pointer to /p/hid/x, hid/x: core.fsmonitor"},
		"a long pointer":         {"git init -q .", evil + "make a; mkdir hid; mv a/.git hid/x; (printf 'gitdir: ../hid/x'; yes '' | head -n 70000) >a/.git; git -C a config core.fsmonitor 'touch $MARK'", "a/.git: a pointer to /p/hid/x, hid/x: core.fsmonitor"},
		"a pointer over a link":  {"git init -q .", evil + "make a; mkdir -p hid/o/i; mv a/.git hid/o/x; ln -s ../hid/o/i a/l; echo 'gitdir: l/../x' >a/.git; git -C a config core.fsmonitor 'touch $MARK'", "a/.git: a pointer to /p/hid/o/x, hid/o/x: core.fsmonitor"},
		"a pointer to nothing":   {"git init -q .", "mkdir a; echo 'gitdir: ../../later' >a/.git", "a/.git: a pointer to nothing"},
		"a link to nothing":      {"git init -q .", "mkdir a; ln -s ../../later a/.git", "a/.git: a pointer to nothing"},
		"a pointer to a folder":  {"git init -q .", "mkdir a later; echo 'gitdir: ../later' >a/.git", "a/.git: a pointer to /p/later"},
		"a submodule not there":  {"git init -q .", "mkdir a; echo 'gitdir: ../.git/modules/a' >a/.git", ""},
		"commondir to nothing":   {"git init -q .", "mkdir -p a/.git; echo ../../../later >a/.git/commondir; cp .git/HEAD a/.git", "a/.git: commondir"},
		"commondir, cut off":     {"git init -q .", evil + "make a; mkdir hid; mv a/.git hid/x; mkdir -p a/.git/refs a/.git/objects; cp hid/x/HEAD a/.git; printf '../../hid/x\\0more' >a/.git/commondir; git -C a config core.fsmonitor 'touch $MARK'", "a/.git: commondir, hid/x: core.fsmonitor"},
		"in its own work tree":   {"git init -q .", evil + "make o/evil; git -C o/evil config core.fsmonitor 'touch $MARK'; make a; git -C a config core.worktree ../../o; git -C a add evil 2>/dev/null; git add a 2>/dev/null", "o/evil/.git: core.fsmonitor"},
		"a strategy":             {"git init -q .", evil + "make evil; mkdir evil/.git/rebase-merge; echo /../evil >evil/.git/rebase-merge/strategy", "evil/.git: rebase-merge"},
		"a strategy of picks":    {"git init -q .", evil + "make evil; mkdir evil/.git/sequencer; git config -f evil/.git/sequencer/opts options.strategy /../evil", "evil/.git: sequencer"},
		"settings of others":     {"git init -q .", evil + "make evil; mkdir evil/.git/arc; echo x >evil/.git/arc/config; echo x >evil/.git/lazygit.yml", "evil/.git: arc/config, evil/.git: lazygit.yml"},
		"was there":              {"git init -q .; git init -q own; git -C own config core.fsmonitor 'touch $MARK'", "touch own/x; git -C own add x", ""},
		"a new fault":            {"git init -q .; git init -q a/b/c/d/e/f", "git -C a/b/c/d/e/f config core.pager x", "a/b/c/d/e/f/.git: core.pager"},
		"a rebase":               {"git init -q .", evil + "make evil; mkdir evil/.git/rebase-merge; printf 'pick 1 a\nexec touch $MARK\nx touch $MARK\n# end\n' > evil/.git/rebase-merge/git-rebase-todo", "evil/.git: rebase-merge"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.sh(c.before)
			guarded := []string{}
			if files.Exists(p.dir + "/p/.git") {
				guarded = append(guarded, p.dir+"/p/.git")
			}
			since := p.begin()
			p.sh(c.during)
			_ = os.Remove(p.dir + "/mark")
			s := Search{Watched: stage.Watched{Roots: []string{p.dir + "/p"}, Guarded: guarded, Unlisted: []string{p.dir + "/p"}, Since: since}}
			found, err := s.Hold()
			held := found.Moved
			if err != nil || len(found.Unseen) > 0 {
				t.Errorf("%v, not seen: %q", err, found.Unseen)
			}
			if got := p.what(held); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			p.sh("git status >/dev/null 2>&1 || :; for d in $(find . -name .git -prune); do (cd ${d%/.git} && git status >/dev/null 2>&1 || :); done; for d in evil; do test ! -d $d || git -C $d checkout -q HEAD 2>/dev/null || :; done")
			if files.Exists(p.dir+"/mark") != (name == "was there") {
				t.Error("what git on the host ran")
			}
			for _, m := range held {
				if !files.Exists(m.Kept) {
					t.Errorf("%s is not there", m.Kept)
				}
			}
			if again, err := s.Hold(); len(again.Moved) > 0 || err != nil {
				t.Errorf("a second time: %v, %v", again, err)
			}
		})
	}
}

// TestClosed: what a box locks with chmod is looked through, because a person will open it again.
func TestClosed(t *testing.T) {
	const fsmonitor = "a/evil/.git: core.fsmonitor"
	for name, c := range map[string]struct{ during, want string }{
		"the root":                     {"chmod 0 p", fsmonitor},
		"a folder below":               {"chmod 0 p/a", fsmonitor},
		"a folder that can be listed":  {"chmod 0400 p/a", fsmonitor},
		"a folder that can be entered": {"chmod 0100 p/a", fsmonitor},
		"a work tree":                  {"chmod 0 p/a/evil", fsmonitor},
		"a git directory":              {"chmod 0 p/a/evil/.git", fsmonitor},
		"one that can be listed":       {"chmod 0400 p/a/evil/.git", fsmonitor},
		"all of them":                  {"chmod 0 p/a/evil/.git p/a/evil p/a p", fsmonitor},
		"hooks":                        {"echo >p/a/evil/.git/hooks/x; chmod 0755 p/a/evil/.git/hooks/x; chmod 0400 p/a/evil/.git/hooks", fsmonitor + ", a/evil/.git: hooks/x"},
		"a rebase":                     {"cd p/a/evil/.git; mkdir rebase-merge; echo exec x >rebase-merge/git-rebase-todo; chmod 0 rebase-merge", fsmonitor + ", a/evil/.git: rebase-merge"},
		"a submodule":                  {"cd p/a/evil/.git; mkdir modules; git init -q --bare modules/m; git -C modules/m config core.editor x; chmod 0 modules", "a/evil/.git/modules/m: core.editor, " + fsmonitor},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+rwx", p.dir).Run() })
			p.sh("git init -q .; mkdir mine; chmod 0 mine")
			since := p.begin()
			p.sh(evil + "make a/evil; git -C a/evil config core.fsmonitor 'touch $MARK'; cd ..; " + c.during)
			found, err := Search{Watched: stage.Watched{Roots: []string{p.dir + "/p"}, Guarded: []string{p.dir + "/p/.git"}, Since: since}}.Hold()
			if got := p.what(found.Moved); got != c.want || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
			if fi, err := os.Lstat(p.dir + "/p/mine"); err != nil || fi.Mode().Perm() != 0 {
				t.Errorf("what a person had closed is %v, %v", fi.Mode(), err)
			}
		})
	}
}

// TestClosedGuarded: a box that closes a folder on the way to a repository of the person's, which it
// could not write, does not make it one of its own.
func TestClosedGuarded(t *testing.T) {
	p := newPlace(t)
	t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+rwx", p.dir).Run() })
	p.sh("git init -q sub; echo >sub/.git/hooks/pre-commit; chmod 0755 sub/.git/hooks/pre-commit; git -C sub config core.editor mine")
	guarded := []string{p.dir + "/p/sub/.git"}
	stood := Stood(guarded)
	since := p.begin()
	p.sh("chmod 0 sub")
	found, err := Search{Watched: stage.Watched{Roots: []string{p.dir + "/p"}, Guarded: guarded, Stood: stood, Since: since}}.Hold()
	if len(found.Moved) > 0 || err != nil {
		t.Errorf("%v, %v", found.Moved, err)
	}
	if !files.Exists(p.dir + "/p/sub/.git/hooks/pre-commit") {
		t.Error("the hook was switched off")
	}
}

// The twin: without Hold git on the host runs it.
func TestRuns(t *testing.T) {
	p := newPlace(t)
	p.sh("git init -q .; " + evil + "make evil; git -C evil config core.fsmonitor 'touch $MARK'; git add evil 2>/dev/null; rm -f $MARK; git status >/dev/null")
	if !files.Exists(p.dir + "/mark") {
		t.Error("git does not run core.fsmonitor of a repository in the index")
	}
}

// The twin: a strategy that is a path runs.
func TestStrategyRuns(t *testing.T) {
	p := newPlace(t)
	planted := `git init -q .; git commit -q --allow-empty -m x; m=.git/rebase-merge; mkdir $m git-merge-; printf '#!/bin/sh\ntouch $MARK; exit 1\n' >evil; chmod +x evil; ` +
		`git symbolic-ref HEAD >$m/head-name; git rev-parse HEAD | tee $m/onto >$m/orig-head; echo 1 >$m/msgnum; echo 1 >$m/end; : >$m/interactive; : >$m/done; echo /../evil >$m/strategy; ` +
		`echo "pick $(git commit-tree HEAD^{tree} -p $(git commit-tree HEAD^{tree} -m q) -m side) x" >$m/git-rebase-todo`
	since := p.begin()
	p.sh(planted)
	p.sh("cp -R .git ../git; ! git rebase --continue 2>/dev/null || :; test -e $MARK; rm -rf $MARK .git; mv ../git .git")
	if _, err := (Search{Watched: stage.Watched{Roots: []string{p.dir + "/p"}, Since: since}}).Hold(); err != nil {
		t.Error(err)
	}
	p.sh("git rebase --continue 2>/dev/null || :; test ! -e $MARK")
}

// What is kept is what it was, and what runs nothing still holds.
func TestKept(t *testing.T) {
	p := newPlace(t)
	since := p.begin()
	p.sh("git init -q dep; cd dep; git remote add origin https://example.com/x.git; git config core.hooksPath .husky; git config user.name 'A \"B\" # c'; cp .git/config ../was")
	found, err := Search{Watched: stage.Watched{Roots: []string{p.dir + "/p"}, Since: since}}.Hold()
	held := found.Moved
	if err != nil || p.what(held) != "dep/.git: core.hookspath" {
		t.Fatalf("%v, %v", held, err)
	}
	p.sh("cmp was dep/.git/config" + Suffix + `; cd dep; test "$(git config user.name)" = 'A "B" # c'; git remote get-url origin; ! git config core.hooksPath; git status`)
	// Put back as it says, it stays.
	p.sh("mv dep/.git/config" + Suffix + " dep/.git/config")
	since = p.begin()
	if found, err := (Search{Watched: stage.Watched{Roots: []string{p.dir + "/p"}, Guarded: []string{p.dir + "/p/dep/.git"}, Since: since}}).Hold(); len(found.Moved) > 0 || err != nil {
		t.Errorf("%v, %v", found, err)
	}
}

// Many folders end a search that has no time, and it says so.
func TestPartly(t *testing.T) {
	p := newPlace(t)
	for i := range always + 10 {
		must(t, os.Mkdir(fmt.Sprintf("%s/p/%d", p.dir, i), 0o755))
	}
	if found, err := (Search{Watched: stage.Watched{Roots: []string{p.dir + "/p"}}}).Hold(); len(found.Unseen) != 11 || err != nil {
		t.Errorf("not seen: %q, %v", found.Unseen, err)
	}
	if found, err := (Search{Watched: stage.Watched{Roots: []string{p.dir + "/p"}}, Limit: time.Minute}).Hold(); len(found.Unseen) > 0 || err != nil {
		t.Errorf("with time: %q, %v", found.Unseen, err)
	}
	// Of many, those that changed come first.
	since := p.begin()
	p.sh(evil + "make z/z/evil; git -C z/z/evil config core.fsmonitor x")
	if found, err := (Search{Watched: stage.Watched{Roots: []string{p.dir + "/p"}, Since: since}}).Hold(); p.what(found.Moved) != "z/z/evil/.git: core.fsmonitor" || err != nil {
		t.Errorf("%+v, %v", found, err)
	}
}

// Folders for the hooks of every repository that the user's own settings name.
func TestNamedHooks(t *testing.T) {
	p := newPlace(t)
	p.sh("git init -q old; mkdir old/.githooks; printf '#!/bin/sh\n' >old/.githooks/pre-commit; chmod +x old/.githooks/*")
	since := p.begin()
	p.sh(evil + "make evil; mkdir evil/.githooks; printf '#!/bin/sh\ntouch $MARK\n' >evil/.githooks/post-checkout; echo no >evil/.githooks/notes; chmod +x evil/.githooks/post-checkout")
	found, err := Search{Watched: stage.Watched{Roots: []string{p.dir + "/p"}, Since: since}, Hooks: []string{".githooks", "/usr/bin", "~/h", "."}}.Hold()
	if got := p.what(found.Moved); got != "evil/.git: .githooks/post-checkout" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	p.sh("git -C evil -c core.hooksPath=.githooks checkout -qb new; test ! -e $MARK; test -x old/.githooks/pre-commit")
}
