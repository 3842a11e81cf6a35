package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What a program in a box does to a repository so that the person's own git, outside,
// runs something or writes somewhere. Each line runs first without a box, where it must
// work (an attack that does nothing proves nothing), and then in one, while the person's
// git is used and afterwards.
//
// $PWN is a program that leaves a mark in the home, $VICTIM a file of the home, and
// $VICTIMS a folder of it. A line that git itself defeats outside says so with inert:
// there the twin is not asked for, and what the box must not do stays the same.
var gitAttacks = []struct{ name, line, inert string }{
	// Files that git writes, exchanged for links.
	{"COMMIT_EDITMSG is a link", `ln -sf $VICTIM .git/COMMIT_EDITMSG`, ""},
	{"the reflog of the stash is a link", `mkdir -p .git/logs/refs && ln -sf $VICTIM .git/logs/refs/stash`, ""},
	{"the reflog of HEAD is a link", `rm -f .git/logs/HEAD; ln -s $VICTIM .git/logs/HEAD`, ""},
	{"the reflog of a branch is a link", `rm -f .git/logs/refs/heads/main; ln -s $VICTIM .git/logs/refs/heads/main`, ""},
	{"FETCH_HEAD is a link", `ln -sf $VICTIM .git/FETCH_HEAD`, ""},
	{"ORIG_HEAD is a link", `ln -sf $VICTIM .git/ORIG_HEAD`, "written by rename"},
	{"the folder of reflogs is a link", `rm -rf .git/logs && ln -s $VICTIMS .git/logs`, ""},
	{"refs/heads is a link", `cp -a .git/refs/heads/. $VICTIMS/ 2>/dev/null; mv .git/refs/heads .git/was && ln -s $VICTIMS .git/refs/heads; cp .git/was/* $VICTIMS/ 2>/dev/null; true`, ""},
	{"refs/tags is a link", `rm -rf .git/refs/tags && ln -s $VICTIMS .git/refs/tags`, "nothing tags"},
	{"folders of objects are links", `git gc -q; for i in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do for j in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do rm -rf .git/objects/$i$j; ln -s $VICTIMS .git/objects/$i$j; done; done`, ""},
	{"the folder of packs is a link", `cp .git/objects/pack/* $VICTIMS/ 2>/dev/null; rm -rf .git/objects/pack && ln -s $VICTIMS .git/objects/pack`, ""},
	{"the index is a link", `rm -f .git/index; ln -s $VICTIM .git/index`, "git refuses the index"},
	{"packed-refs is a link", `ln -sf $VICTIM .git/packed-refs`, "git refuses what it reads"},
	{"the folder info is a link", `rm -rf .git/info && ln -s $VICTIMS .git/info`, ""},
	{"rr-cache is a link", `git config rerere.enabled true; rm -rf .git/rr-cache; ln -s $VICTIMS .git/rr-cache; git switch -qc x; echo 1 >a; git commit -qam 1; git switch -q -; echo 2 >a; git commit -qam 2`, ""},
	{"worktrees is a link", `rm -rf .git/worktrees; ln -s $VICTIMS .git/worktrees`, ""},
	{"modules is a link", `rm -rf .git/modules; ln -s $VICTIMS .git/modules`, "nothing is cloned"},
	{"HEAD is a link", `rm .git/HEAD; ln -s $VICTIM .git/HEAD`, "no repository then"},
	{"MERGE_MSG is a link", `ln -sf $VICTIM .git/MERGE_MSG`, "git only reads and removes it"},
	{"hard links to what git writes", `ln $VICTIM .git/logs/refs/stash 2>/dev/null; rm -f .git/COMMIT_EDITMSG; ln $VICTIM .git/COMMIT_EDITMSG`, ""},

	// Settings that name programs.
	{"core.fsmonitor", `git config core.fsmonitor $PWN`, ""},
	{"core.hooksPath", `mkdir -p h && ln -sf $PWN h/pre-commit && git config core.hooksPath h`, ""},
	{"diff.external", `git config diff.external $PWN && echo x >>a`, ""},
	{"a clean filter", `git config filter.x.clean $PWN && echo '* filter=x' >.gitattributes && touch a`, ""},
	{"a process filter", `git config filter.x.process $PWN && echo '* filter=x' >.git/info/attributes; touch a`, ""},
	{"a textconv", `git config diff.x.textconv $PWN && echo '* diff=x' >.gitattributes && echo x >>a`, ""},
	{"gpg.program", `git config gpg.program $PWN && git config commit.gpgsign true`, ""},
	{"core.sshCommand", `git config core.sshCommand $PWN && git config remote.origin.url ssh://localhost/x`, ""},
	{"remote.uploadpack", `git config remote.origin.uploadpack $PWN`, ""},
	{"remote.receivepack", `git config remote.origin.receivepack $PWN`, ""},
	{"an ext remote", `git config protocol.ext.allow always && git config remote.origin.url "ext::$PWN"`, ""},
	{"url.insteadOf", `git config protocol.ext.allow always && git config url."ext::$PWN ".insteadOf "$(git config remote.origin.url)"`, ""},
	{"core.alternateRefsCommand", `git config core.alternateRefsCommand $PWN; mkdir -p alt/pack; echo "$PWD/alt" >.git/objects/info/alternates`, "asked for by receive-pack alone"},
	{"core.editor", `git config core.editor $PWN`, "GIT_EDITOR wins"},
	{"an include in the project", `printf '[core]\n\tfsmonitor = %s\n' $PWN >c && git config include.path ../c`, ""},
	{"a conditional include", `printf '[core]\n\tfsmonitor = %s\n' $PWN >c && git config includeIf.onbranch:main.path ../c`, ""},
	{"config.worktree", `git config extensions.worktreeConfig true && printf '[core]\n\tfsmonitor = %s\n' $PWN >.git/config.worktree`, ""},
	{"core.worktree", `echo theirs >mine && git add mine && git commit -qm mine && git config core.worktree $VICTIMS`, ""},
	{"core.attributesFile", `git config core.attributesFile "$PWD/att" && git config filter.x.clean $PWN && echo '* filter=x' >att && touch a`, ""},
	{"the configuration is another file", `cp .git/config c && git config -f c core.fsmonitor $PWN && mv -f c .git/config`, ""},
	{"submodule update", `git config submodule.s.update "!$PWN" && git config submodule.s.url . && git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),s && git config -f .gitmodules submodule.s.path s && git config -f .gitmodules submodule.s.url .`, "nothing updates submodules"},
	{"a trailer command", `git config trailer.x.command $PWN; git config commit.template t; echo t >t`, "asked for by interpret-trailers"},
	{"uploadpack.packObjectsHook", `git config uploadpack.packObjectsHook $PWN`, "read from protected settings alone"},
	{"credential.helper", `git config credential.helper "!$PWN" && git config remote.origin.url http://127.0.0.1:9/x`, "the server does not ask"},

	// Hooks.
	{"pre-commit", `mkdir -p .git/hooks; ln -sf $PWN .git/hooks/pre-commit`, ""},
	{"post-commit", `mkdir -p .git/hooks; cp $PWN .git/hooks/post-commit`, ""},
	{"post-checkout", `mkdir -p .git/hooks; cp $PWN .git/hooks/post-checkout`, ""},
	{"reference-transaction", `mkdir -p .git/hooks; cp $PWN .git/hooks/reference-transaction`, ""},
	{"post-index-change", `mkdir -p .git/hooks; cp $PWN .git/hooks/post-index-change`, ""},
	{"pre-auto-gc", `mkdir -p .git/hooks; cp $PWN .git/hooks/pre-auto-gc; git config gc.autoPackLimit 1; for i in 1 2 3; do git commit -q --allow-empty -m $i; git repack -q; done`, ""},
	{"pre-push", `mkdir -p .git/hooks; cp $PWN .git/hooks/pre-push`, ""},
	{"the folder of hooks is another", `rm -rf .git/hooks 2>/dev/null || mv .git/hooks .git/h; mkdir -p hk; cp $PWN hk/pre-commit; ln -s ../hk .git/hooks`, ""},

	// Another repository in the place of this one.
	{"the repository is another", `mv .git was; cp -a was .git; git config core.fsmonitor $PWN`, ""},
	{"a pointer to another", `cp -a .git other && git -C other config core.fsmonitor $PWN && git -C other config core.bare false && mv .git was && echo "gitdir: $PWD/other" >.git`, ""},
	{"a pointer to a repository of the user's", `mv .git was; echo "gitdir: $HOME/trap.git" >.git; touch a`, ""},
	{"a link to another", `cp -a .git other && git --git-dir=other config core.fsmonitor $PWN && mv .git was && ln -s other .git`, ""},
	{"commondir", `mkdir -p com && cp -a .git/. com/ && git -C . config -f com/config core.fsmonitor $PWN && echo ../com >.git/commondir`, ""},
	{"a bare repository around HEAD", `cp .git/HEAD HEAD; cp -a .git/objects .git/refs .; printf '[core]\n\trepositoryformatversion=0\n\tbare=false\n\tworktree=.\n\tfsmonitor=%s\n' $PWN >config; mv .git was`, ""},
	{"a gitlink in the index", `git init -q sub && git -C sub commit -q --allow-empty -m x && git add sub 2>/dev/null; git -C sub config core.fsmonitor $PWN`, ""},
	{"a gitlink in a commit", `git init -q sub && git -C sub commit -q --allow-empty -m x && git add sub 2>/dev/null; git commit -qm sub; git -C sub config core.fsmonitor $PWN`, ""},
	{"a gitlink in the stash", `git init -q sub && git -C sub commit -q --allow-empty -m x && git add sub 2>/dev/null; git stash -q; git -C sub config core.fsmonitor $PWN 2>/dev/null; git stash apply -q --index 2>/dev/null; true`, ""},
	{"a gitlink older than the run", `git init -q sub && git -C sub commit -q --allow-empty -m x && git -C sub config core.fsmonitor $PWN && touch -d 2001-01-01 sub/.git/config sub/.git sub; git update-index --add --cacheinfo 160000,$(git -C sub rev-parse HEAD),sub`, ""},
	{"a repository where a submodule was not initialised", `git init -q empty && git -C empty commit -q --allow-empty -m x; git -C empty config core.fsmonitor $PWN`, ""},
	{"a branch of before the submodule was gone", `git init -q gone && git -C gone commit -q --allow-empty -m x; git -C gone config core.fsmonitor $PWN; git switch -q was`, ""},

	// States and objects.
	{"a rebase with exec lines", `git rebase -q -i HEAD~1 -x false >/dev/null 2>&1; d=.git/rebase-merge; [ -d $d ] && printf 'exec %s\n' $PWN >$d/git-rebase-todo; true`, ""},
	{"a sequencer with a strategy", `git revert --no-commit HEAD >/dev/null; mkdir -p .git/sequencer; printf '[options]\n\tstrategy = x\n' >.git/sequencer/opts; git reset -q --hard`, "no such strategy is found"},
	{"HEAD leads out of refs", `echo "ref: refs/heads/../../hooks/pre-commit" >.git/HEAD; mkdir -p .git/refs/heads`, "git refuses the name"},
	{"a replaced commit", `git replace -f HEAD HEAD~1`, "changes what is seen, runs nothing"},
	{"grafts", `mkdir -p .git/info; git rev-parse HEAD >.git/info/grafts`, "changes what is seen, runs nothing"},
	{"a tree with .git in it", `b=$(cp $PWN x && git hash-object -w x); h=$(printf "100755 pre-commit\0$(printf '%s' $b | sed 's/../\\\\x&/g')" >t.bin; git hash-object -t tree -w --literally t.bin 2>/dev/null); rm -f t.bin; git commit-tree -m x ${h:-HEAD^{tree}} >/dev/null 2>&1; true`, "git checks out no such tree"},
	{"a link that a later file goes through", `ln -s $VICTIMS dirlink && git add dirlink && git commit -qm link`, "git does not follow it"},
	{"a lock that stays", `touch .git/index.lock .git/HEAD.lock .git/packed-refs.lock .git/refs/heads/main.lock .git/config.lock`, "writes nothing"},
	{"FIFOs in place of files", `rm -f .git/MERGE_MSG .git/COMMIT_EDITMSG .git/FETCH_HEAD; mkfifo .git/COMMIT_EDITMSG .git/FETCH_HEAD .git/MERGE_MSG`, "writes nothing"},
}

// personsGit is what the person does with git meanwhile and afterwards.
const personsGit = `
cd "$HOME/app" || exit 0
g() { timeout 5 git "$@" >/dev/null 2>&1 </dev/null; }
g status; g diff HEAD; g log --all --oneline -5
g add a; g commit -m host --allow-empty
echo more >>a; g stash; g stash pop; g stash list; echo more >>a; g add a; g commit -m hosts
g fetch; g push origin HEAD:refs/heads/pushed
g switch -c "by-host$1"; g switch -; g checkout -- .
[ "$2" = after ] || exit 0
g gc --auto; g gc -q; g rebase --continue; g merge x; g merge --abort; g worktree add ../tree$1 HEAD; g worktree prune; g reset --hard; g submodule status; g status
`

// TestGitAttacks runs all of them with INNER_TEST_GIT, a fifth without.
func TestGitAttacks(t *testing.T) {
	need(t, "bwrap", "git", "timeout")
	const groups = 4
	for i := range groups {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			p := newPerson(t)
			p.env = append(p.env, twinEnv...)
			profile := gitAttackHome(p)
			template := filepath.Join(p.home, "..", "template")
			p.run("cp", "-a", p.home, template)
			for n, a := range gitAttacks {
				if n%groups != i || n/groups%5 != 0 && os.Getenv("INNER_TEST_GIT") == "" {
					continue
				}
				p.reset(template)
				before := p.homeState()
				// What git does at once another command of git may undo.
				used := func(n string) string {
					p.try("sh", "-c", personsGit, "sh", n, "during")
					d := lineDiff(before, p.homeState())
					p.try("sh", "-c", personsGit, "sh", n+"-", "after")
					return d + lineDiff(before, p.homeState())
				}
				out, code := p.try("sh", "-c", "cd $HOME/app && "+a.line)
				switch d := used("1"); {
				case d == "" && a.inert == "":
					t.Errorf("%s: does nothing without a box, so it proves nothing in one; it ended with %d: %s", a.name, code, out)
				case d != "" && a.inert != "":
					t.Errorf("%s: is said to be inert, and does without a box:\n%s", a.name, d)
				}
				p.reset(template)
				before = p.homeState()
				p.boxedAttack(profile, a.line)
				if d := lineDiff(before, p.homeState()) + used("2"); d != "" {
					t.Errorf("%s: worked from inside the box:\n%s", a.name, d)
				}
				if out, code := p.try("sh", "-c", "cd $HOME/app && git fsck --strict --no-dangling && git status && git log --oneline -1"); code != 0 {
					t.Errorf("%s: the repository is broken outside: %s", a.name, out)
				}
				if locks := p.run("find", filepath.Join(p.app, ".git"), "-name", "*.lock"); locks != "" {
					t.Errorf("%s: locks are left: %s", a.name, locks)
				}
			}
		})
	}
}

// boxedAttack runs a line in a box while the person uses git.
func (p *person) boxedAttack(profile, line string) {
	p.t.Helper()
	done, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	path, err := lookPath("inner", p.getenv("PATH"))
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.CommandContext(done, path, "run", "-p", profile, "-w", p.app, "--", "-c", "touch ran\n"+line+"\nsleep 0.4")
	cmd.Env, cmd.Dir = p.env, p.home
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	for n := 0; cmd.ProcessState == nil && n < 2; n++ {
		p.try("sh", "-c", personsGit, "sh", fmt.Sprint("during", n), "during")
	}
	_ = cmd.Wait() // how the line ends is its own affair
	if _, err := os.Lstat(filepath.Join(p.app, "ran")); err != nil {
		p.t.Errorf("%s: the line did not run in the box: %v", line, err)
	}
	if done.Err() != nil {
		p.t.Errorf("%s: the run does not end", line)
	}
}

// gitAttackHome makes a home with a repository, what must not be touched, and the
// profile of the box.
func gitAttackHome(p *person) (profile string) {
	p.run("inner", "init")
	for _, s := range []string{"init.defaultBranch main", "gc.autoDetach false", "user.name P", "user.email p@example.org"} {
		k, v, _ := strings.Cut(s, " ")
		p.run("git", "config", "--global", k, v)
	}
	p.write("victim", "mine\n")
	p.write("victims/mine", "mine\n")
	pwn := p.write("app/pwn", "#!/bin/sh\necho run as $0 >>\""+p.home+"/pwned\"\nexit 1\n")
	if err := os.Chmod(pwn, 0o755); err != nil {
		p.t.Fatal(err)
	}
	p.run("sh", "-c", `set -e; cd "$HOME/app"
git init -q && echo one >a && git add a && git commit -qm one && echo two >>a && git commit -qam two
git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),gone && git commit -qm sub && git tag then && git branch was && git rm -q --cached gone && git commit -qm gone
mkdir empty && git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),empty && git commit -qm empty && git push -q origin main && git fetch -q
git init -q --bare "$HOME/remote.git" && git remote add origin "$HOME/remote.git" && git push -q origin main && git fetch -q
git clone -q --bare . "$HOME/trap.git" && git -C "$HOME/trap.git" config core.bare false
printf '#!/bin/sh\necho trapped >>"%s/pwned"\n' "$HOME" >"$HOME/trap.git/hooks/pre-commit" && chmod +x "$HOME/trap.git/hooks/pre-commit"`)
	p.env = append(p.env, "PWN="+pwn, "VICTIM="+filepath.Join(p.home, "victim"), "VICTIMS="+filepath.Join(p.home, "victims"))
	return p.write("box.toml", `schema_version = "1"
name = "box"
[sandbox]
network = false
home = "host"
[entrypoint]
cmd = "sh"
[env]
inherit = ["PATH", "HOME", "LANG", "PWN", "VICTIM", "VICTIMS", "GIT_*"]
`)
}

// reset puts back what an attack could have changed.
func (p *person) reset(template string) {
	p.t.Helper()
	list, err := os.ReadDir(p.home)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, e := range list {
		if e.Name() != ".inner" {
			removeAll(filepath.Join(p.home, e.Name()))
		}
	}
	if list, err = os.ReadDir(template); err != nil {
		p.t.Fatal(err)
	}
	for _, e := range list {
		if e.Name() != ".inner" {
			p.run("cp", "-a", filepath.Join(template, e.Name()), p.home)
		}
	}
}

// homeState lists what is in the home outside of the project and what the person's own
// git commands write, with its content.
func (p *person) homeState() string {
	p.t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(p.home, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(p.home, path)
		switch {
		case err != nil:
			return err
		case rel == "app", rel == ".inner", rel == "remote.git", strings.HasPrefix(rel, "tree"), rel == ".cache":
			return fs.SkipDir
		case !d.Type().IsRegular():
			fmt.Fprintf(&b, "%s %v\n", rel, d.Type())
			return nil
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %q\n", rel, data)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return b.String()
}
