package repos

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/isolator/stage"
)

// moved is what was moved aside, without the project's path.
func (p place) moved(list []Moved) string {
	var out []string
	for _, m := range list {
		if m.Of != "" {
			continue
		}
		out = append(out, strings.TrimPrefix(m.Path, p.dir+"/"))
		if !files.Exists(m.Kept) || files.Exists(m.Path) {
			p.Errorf("%s was not moved to %s", m.Path, m.Kept)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// What tools outside obey and was not there before is moved aside; what was there stays.
func TestObeyed(t *testing.T) {
	for name, c := range map[string]struct{ before, during, want string }{
		"files":              {"", "echo x >.envrc; mkdir -p a/b; echo x >a/b/.envrc.local; echo x >a/mise.prod.toml; echo x >.mcp.json; echo x >.gitmodules; echo x >lefthook.yml", "p/.envrc p/.gitmodules p/.mcp.json p/a/b/.envrc.local p/a/mise.prod.toml p/lefthook.yml"},
		"folders":            {"", "mkdir -p pkg/.vscode pkg/.claude a/b/c/d/e/f/.husky .zed; echo x >pkg/.vscode/tasks.json", "p/.zed p/a/b/c/d/e/f/.husky p/pkg/.claude p/pkg/.vscode"},
		"links":              {"mkdir x", "ln -s x .vscode; ln -s nowhere .envrc", "p/.envrc p/.vscode"},
		"renamed":            {"mkdir -p x conf; echo x >x/tasks.json; echo x >conf/mise.toml; echo x >e", "mv x .vscode; mv conf .config; mv e .envrc", "p/.config/mise.toml p/.envrc p/.vscode"},
		"hard link":          {"echo x >e", "ln e .envrc", "p/.envrc"},
		"was there":          {"mkdir -p pkg/.vscode; echo x >pkg/.vscode/t; echo x >.envrc; echo x >pkg/.envrc.x", "echo y >other", ""},
		"in one that was":    {"mkdir -p pkg/.vscode/a; echo x >pkg/.vscode/t", "echo x >>pkg/.vscode/t", "p/pkg/.vscode/t"},
		"not at a top":       {"", "mkdir a; echo x >a/lefthook.yml; echo x >a/.gitmodules", ""},
		"at a top":           {"git init -q a", "echo x >a/lefthook.yml", "p/a/lefthook.yml"},
		"packages":           {"", "mkdir -p node_modules/x/.vscode v/site-packages/y; echo x >v/site-packages/y/.envrc", ""},
		"told only":          {"", "echo x >Makefile; echo x >package.json; echo x >CLAUDE.md", ""},
		"its own submodules": {"", "git init -q d; cd d; printf '[submodule \"s\"]\\n\\tpath = s\\n\\turl = ../up\\n' >.gitmodules", ""},
		"bad submodules":     {"", "git init -q d; cd d; printf '[submodule \"s\"]\\n\\tpath = s\\n\\turl = ext::sh -c x\\n' >.gitmodules", "p/d/.gitmodules"},
		"git inside":         {"", "mkdir .claude; " + evil + "make .claude; git -C .claude config core.pager x", "p/.claude"},
		"in its work tree":   {"mkdir -p .claude/worktrees", "mkdir -p .claude/worktrees/x/.vscode; echo x >.claude/worktrees/x/.envrc", "p/.claude/worktrees/x/.envrc p/.claude/worktrees/x/.vscode"},
		"suffix":             {"", "echo x >.envrc.inner-held; echo x >.envrc.inner-held.2", ""},
		"long names":         {"", "for n in a b; do for e in .code-workspace .sublime-project; do echo x >$n$(printf %0230d 1)$e; done; done; mkdir k; cd k; echo x >$(printf é%.0s $(seq 120)).code-workspace", longNames()},
		"suffix in a name":   {"", "echo x >a.inner-held.code-workspace; echo x >mise.inner-held.toml; echo x >.envrc.inner-held.x", "p/.envrc.inner-held.x p/a.inner-held.code-workspace p/mise.inner-held.toml"},
		"suffix of a folder": {"", "mkdir -p x.inner-held/sub/.vscode .vscode.inner-held; echo x >x.inner-held/.envrc; echo x >.vscode.inner-held/.envrc", "p/.vscode.inner-held/.envrc p/x.inner-held/.envrc p/x.inner-held/sub/.vscode"},
		"suffix in one":      {"mkdir -p .husky/x.inner-held; echo x >o", "mv o .husky/x.inner-held/; echo x >.husky/x.inner-held/n", "p/.husky/x.inner-held/n p/.husky/x.inner-held/o"},
		"case":               {"", "echo x >.ENVRC", "p/.ENVRC"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.sh(c.before)
			since := p.begin()
			p.sh(c.during)
			s := Search{Watched: stage.Watched{Roots: []string{p.dir + "/p"}, Obeyed: []string{p.dir + "/p"}, Since: since}, Homes: []string{p.dir}}
			found, err := s.Hold()
			if got := p.moved(found.Moved); got != c.want || err != nil {
				t.Errorf("%q, want %q, %v", got, c.want, err)
			}
			if name == "git inside" && !strings.Contains(p.what(found.Moved), ".claude.inner-held/.git: core.pager") {
				t.Errorf("the repository in it: %v", found.Moved)
			}
			s.Since = p.begin()
			if again, err := s.Hold(); len(again.Moved) > 0 || err != nil {
				t.Errorf("a second time: %v, %v", again.Moved, err)
			}
		})
	}
}

// longNames are those that are too long with the end that a name gets.
func longNames() string {
	zeros := strings.Repeat("0", 229) + "1"
	return "p/a" + zeros + ".code-workspace p/a" + zeros + ".sublime-project p/b" + zeros + ".code-workspace p/b" + zeros + ".sublime-project p/k/" + strings.Repeat("é", 120) + ".code-workspace"
}

// What stays: what was protected, what inner made, what was named on purpose, and with
// nothing asked for everything.
func TestStays(t *testing.T) {
	p := newPlace(t)
	since := p.begin()
	p.sh("for d in a b c d; do mkdir $d; echo x >$d/.envrc; done")
	found, err := Search{Watched: stage.Watched{Roots: []string{p.dir + "/p"}, Obeyed: []string{p.dir + "/p"}, Since: since, Before: []string{p.dir + "/p/a/.envrc", p.dir + "/p/b/.envrc", p.dir + "/p/c"}}}.Hold()
	if got := p.moved(found.Moved); got != "p/d/.envrc" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	p.sh("echo x >.mcp.json; git init -q r; git -C r config core.pager x")
	found, err = Search{Watched: stage.Watched{Roots: []string{p.dir + "/p"}, Since: since}, NoGit: true}.Hold()
	if len(found.Moved) > 0 || err != nil {
		t.Errorf("%+v, %v", found, err)
	}
	found, err = Search{Watched: stage.Watched{Roots: []string{p.dir + "/p"}, Since: since, Before: []string{p.dir + "/p/r/.git/config"}}}.Hold()
	if len(found.Moved) > 0 || err != nil {
		t.Errorf("named on purpose: %+v, %v", found, err)
	}
}

// Start-up files of a home that the box could write, and what settings of git name.
func TestPlacesOfOthers(t *testing.T) {
	p := newPlace(t)
	p.sh("echo x >../.bashrc; mkdir tools; echo x >tools/old")
	since := p.begin()
	p.sh("echo x >../.zshenv; mkdir -p ../.config/fish ../.cargo/registry/x/.vscode; echo x >tools/new; echo x >../.mise.toml; mkdir ../other; echo x >../other/.envrc")
	found, err := Search{Watched: stage.Watched{Roots: []string{p.dir}, Obeyed: []string{p.dir}, Since: since, Named: []string{p.dir + "/p/tools/old", p.dir + "/p/tools/new", p.dir + "/p/tools/none", "/usr/bin/env"}}, Homes: []string{p.dir}}.Hold()
	// What lies in the home itself, and is no start-up file, belongs to programs.
	if got := p.moved(found.Moved); got != ".config/fish .zshenv other/.envrc p/tools/new" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// What lies in a root, and was covered in the box, belongs to others, unless it is a root itself.
func TestCovered(t *testing.T) {
	p := newPlace(t)
	p.sh("mkdir -p own/work/a")
	since := p.begin()
	p.sh(evil + `echo x >.envrc; echo x >own/.envrc; echo x >own/work/a/.envrc; make own/r; git -C own/r config core.fsmonitor evil; echo "gitdir: $PWD/own/r/.git" >.git`)
	top, own := p.dir+"/p", p.dir+"/p/own"
	s := Search{Watched: stage.Watched{Roots: []string{top, own + "/work"}, Obeyed: []string{top}, Since: since, Named: []string{own + "/.envrc"}}, Covered: []string{own}}
	found, err := s.Hold()
	if got := p.moved(found.Moved); got != "p/.envrc p/own/work/a/.envrc" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, want := p.what(found.Moved), ".git: a pointer to /p/own/r/.git"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s.Covered = nil
	found, err = s.Hold()
	if got := p.moved(found.Moved); got != "p/own/.envrc" || err != nil {
		t.Errorf("not covered: %q, %v", got, err)
	}
	if got, want := p.what(found.Moved), "own/r/.git: core.fsmonitor"; got != want {
		t.Errorf("not covered: %q, want %q", got, want)
	}
}

// Where a program can set the time of a change, everything counts as recent; where it
// cannot, dating back does not help it.
func TestTimeless(t *testing.T) {
	p := newPlace(t)
	p.sh("mkdir a; echo x >a/.envrc")
	since := p.begin()
	p.sh("echo x >.envrc; touch -d 2001-01-01 .envrc")
	root := []string{p.dir + "/p"}
	if !keepsTime(root[0]) {
		t.Error("a program cannot set the time of a change here")
	}
	found, err := Search{Watched: stage.Watched{Roots: root, Obeyed: root, Since: since}}.Hold()
	if got := p.moved(found.Moved); got != "p/.envrc" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	w := &sweep{Search: Search{Watched: stage.Watched{Roots: root, Obeyed: root, Since: since}}, seen: map[string]bool{}, timed: map[uint64]bool{}}
	fi, err := os.Lstat(root[0])
	must(t, err)
	w.timed[stat(fi).Dev] = false
	found, err = w.hold()
	if got := p.moved(found.Moved); got != "p/a/.envrc" || err != nil {
		t.Errorf("without times: %q, %v", got, err)
	}
	if keepsTime(p.dir+"/none") || keepsTime("/proc/1") {
		t.Error("which file systems keep the time")
	}
}

// A repository deeper than the look goes is held, or the folder is named (it lies in one
// that did not change: only .git did).
func TestUnseen(t *testing.T) {
	p := newPlace(t)
	p.sh("i=0; while [ $i -lt 500 ]; do mkdir $i; i=$((i+1)); done; mkdir -p z/a/b/c/d/e/f; git init -q z/a/b/c/d/e/f/deep")
	since := p.begin()
	p.sh("git -C z/a/b/c/d/e/f/deep config core.pager x")
	s := Search{Watched: stage.Watched{Roots: []string{p.dir + "/p"}, Since: since}}
	found, err := s.Hold()
	if len(found.Moved) == 0 && !slices.ContainsFunc(found.Unseen, func(dir string) bool { return strings.HasPrefix(p.dir+"/p/z/a/b/c/d/e/f/deep", dir+"/") }) || err != nil {
		t.Errorf("neither held nor named: %+v, %v", found, err)
	}
	s.Limit = time.Minute
	if found, err := s.Hold(); p.what(found.Moved) != "z/a/b/c/d/e/f/deep/.git: core.pager" || len(found.Unseen) > 0 || err != nil {
		t.Errorf("with time: %+v, %v", found, err)
	}
}

// A folder whose path is too long for what may lie in it is named, be it one that the kernel would still take.
func TestTooDeep(t *testing.T) {
	p := newPlace(t)
	since := p.begin()
	dir, name := p.dir+"/p", strings.Repeat("d", 200)
	fd, err := unix.Open(dir, unix.O_PATH, 0)
	must(t, err)
	for range 22 {
		must(t, unix.Mkdirat(fd, name, 0o755))
		next, err := unix.Openat(fd, name, unix.O_PATH, 0)
		must(t, err)
		unix.Close(fd)
		fd = next
		if dir += "/" + name; len(dir) < unix.PathMax-1 && len(dir)+len("/.envrc") > unix.PathMax-256 {
			must(t, unix.Symlinkat("x", fd, ".envrc"))
		}
	}
	unix.Close(fd)
	found, err := Search{Watched: stage.Watched{Roots: []string{p.dir + "/p"}, Obeyed: []string{p.dir + "/p"}, Since: since}, Limit: time.Minute}.Hold()
	if len(found.Unseen) != 1 || len(found.Unseen[0]) > deepest+201 || len(found.Moved) > 0 || err != nil {
		t.Errorf("%+v, %v", found, err)
	}
}

// A folder that the user may not read is named if something happened to it since the run began.
func TestUnread(t *testing.T) {
	const closed = "/root"
	if unix.Access(closed, unix.R_OK) == nil {
		t.Skip(closed + " can be read")
	}
	for since, want := range map[time.Time]int{{}: 1, time.Now().Add(time.Hour): 0} {
		w := &sweep{Search: Search{Watched: stage.Watched{Since: since}}, timed: map[uint64]bool{}}
		fi, err := os.Lstat(closed)
		must(t, err)
		w.timed[stat(fi).Dev] = true
		if _, err := w.readDir(closed); err == nil || len(w.Unseen) != want {
			t.Errorf("%q, %v", w.Unseen, err)
		}
		if _, err := w.readDir("/gone"); err == nil || len(w.Unseen) != want {
			t.Errorf("one that is gone: %q, %v", w.Unseen, err)
		}
	}
}

// The twin: git on the host runs what these would start.
func TestModulesRun(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("git is not installed")
	}
	p := newPlace(t)
	p.sh("git init -q .; mkdir tools; printf '#!/bin/sh\\ntouch $MARK\\ncat\\n' >tools/new; chmod +x tools/new; git config filter.x.clean tools/new; echo '* filter=x' >.gitattributes; echo x >f; git add f; test -e $MARK")
}

// A work tree that the run made has what git outside tracks: that stays, and what differs or was added is moved aside.
func TestCheckedOut(t *testing.T) {
	for name, c := range map[string]struct{ during, want string }{
		"the same":  {"", ""},
		"fewer":     {"rm .vscode/a/t", ""},
		"another":   {"echo y >.envrc; echo y >.vscode/a/t", "p/x/.envrc p/x/.vscode/a/t"},
		"a mode":    {"chmod +x .envrc", "p/x/.envrc"},
		"more":      {"echo y >.vscode/u", "p/x/.vscode/u"},
		"all added": {"mkdir .husky; echo y >.husky/u", "p/x/.husky"},
		"a copy":    {"echo own >.vscode/own", ""},
		"a FIFO":    {"mkfifo .vscode/own", "p/x/.vscode/own"},
		"no copy":   {"echo two >.vscode/own", "p/x/.vscode/own"},
		"a link":    {"ln -sf ../.envrc .envrc; ln -s t .vscode/a/l", "p/x/.envrc p/x/.vscode/a/l"},
		"elsewhere": {"mkdir y; cp .envrc y", "p/x/y/.envrc"},
		"no tree":   {"rm .git", "p/x/.envrc p/x/.vscode"},
		"another's": {"mkdir ../z; cp .git .envrc ../z", "p/z/.envrc"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.sh("git init -q .; mkdir -p .vscode/a; echo x >.vscode/a/t; echo x >.envrc; echo own >../own; git add .; git commit -qm x")
			since := p.begin()
			p.sh("git worktree add -q x; cd x; " + c.during)
			root := p.dir + "/p"
			s := Search{Watched: stage.Watched{Roots: []string{root}, Obeyed: []string{root}, Since: since, Guarded: []string{root + "/.git"}, Before: []string{root + "/.vscode", root + "/.envrc"}}, Homes: []string{p.dir}, Copies: map[string]string{root + "/.vscode/own": p.dir + "/own"}, Tracked: func(r *git.Repo, place string) git.Tracked { return git.TrackedAt("/usr/bin/git", r, place) }}
			found, err := s.Hold()
			if got := p.moved(found.Moved); got != c.want || err != nil {
				t.Errorf("%q, want %q, %v", got, c.want, err)
			}
			if files.Exists(root + "/x/.vscode/own") {
				t.Error("a settings file of the box's is left")
			}
		})
	}
}
