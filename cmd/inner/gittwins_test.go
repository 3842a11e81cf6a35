package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The referee of git in a box is git: each command is run once outside and once
// in a box, on the same repository at the same place, and what the host's git then
// says of that repository must be the same.

// twinSetup makes the repository of all layouts at $1, with branches, tags, a stash,
// notes and two more branches that conflict with main.
const twinSetup = `
set -e
git init -q -b main "$1" && cd "$1"
printf 'one\ntwo\nthree\n' >a; mkdir -p dir; echo deep >dir/b; echo c >c; printf 'ignored\n' >.gitignore
git add . && git commit -qm first
echo four >>a && git commit -qam second
git tag v1 && git tag -a -m annotated v2
git branch topic HEAD~1 && git branch merged
git switch -q topic && echo topic >t && git add t && git commit -qm 'topic work' && echo more >>t && git commit -qam 'topic more'
git switch -q -c clash main && sed -i 's/^two/TWO/' a && git commit -qam clash
git switch -q main && sed -i 's/^two/2/' a && git commit -qam third
git notes add -m note HEAD~1
echo stashed >>c && git stash -q
git init -q --bare "$HOME/remote.git" && git push -q "$HOME/remote.git" main topic clash
git remote add origin "$HOME/remote.git" && git fetch -q
`

// A layout is where the repository lies that commands run in.
type layout struct {
	name    string
	setup   string   // after twinSetup, in the home
	project string   // the working folder of the box, below the home
	dir     string   // where commands run, below the home
	repos   []string // whose state is compared
	home    string   // sandbox.home
}

func layouts() []layout {
	main := `twin "$HOME/app"`
	return []layout{
		{name: "plain", setup: main, project: "app", dir: "app", repos: []string{"app"}, home: "isolated"},
		{
			name: "worktree", setup: `twin "$HOME/main" && git -C "$HOME/main" worktree add -q -b work "$HOME/app" && git -C "$HOME/main" switch -q --detach && git -C "$HOME/app" switch -q main`,
			project: "app", dir: "app", repos: []string{"app", "main"}, home: "isolated",
		},
		{
			name: "worktree-host-home", setup: `twin "$HOME/main" && git -C "$HOME/main" worktree add -q -b work "$HOME/app" && git -C "$HOME/main" switch -q --detach && git -C "$HOME/app" switch -q main`,
			project: "app", dir: "app", repos: []string{"app", "main"}, home: "host",
		},
		{
			name: "submodule", setup: `twin "$HOME/lib" && git init -q -b main "$HOME/app" && cd "$HOME/app" && git -c protocol.file.allow=always submodule --quiet add "$HOME/lib" lib && git commit -qm super &&
				cd lib && for b in topic clash merged; do git branch -q --track $b origin/$b; done && git switch -q -C main && echo stashed >>c && git stash -q && git notes add -m note HEAD~1 && git fetch -q origin refs/tags/v1:refs/tags/v1`,
			project: "app", dir: "app/lib", repos: []string{"app/lib", "app"}, home: "isolated",
		},
		{name: "below", setup: `mkdir -p "$HOME/app/sub" && twin "$HOME/app/sub/repo"`, project: "app", dir: "app/sub/repo", repos: []string{"app/sub/repo"}, home: "isolated"},
	}
}

// twinCommands are shell lines; those with a layout are for it alone. What differs on
// purpose are lines, as a pattern, that only the state after the box has.
// refused ends otherwise in a box, with these words, and changes nothing.
var twinCommands = []struct{ name, line, only, differs, refused string }{
	{name: "add and commit", line: `echo x >x && git add x && git commit -qm x`},
	{name: "commit -a", line: `echo x >>a && git commit -qam x`},
	{name: "amend", line: `git commit -q --amend -m amended`},
	{name: "empty commit", line: `git commit -q --allow-empty -m empty`},
	{name: "ten commits", line: `for i in 1 2 3 4 5 6 7 8 9 10; do echo $i >>a && git commit -qam $i; done`},
	{name: "rm", line: `git rm -q c && git commit -qm rm`},
	{name: "mv", line: `git mv c d && git commit -qm mv`},
	{name: "staged only", line: `echo x >x && git add x`},
	{name: "intent to add", line: `echo x >x && git add -N x`},
	{name: "chmod", line: `chmod +x c && git commit -qam mode`},
	{name: "symbolic link", line: `ln -s a l && git add l && git commit -qm link`},
	{name: "stash", line: `echo x >>c && git stash -q`},
	{name: "stash untracked", line: `echo x >new && git stash push -qu`},
	{name: "stash pop", line: `git stash pop -q`},
	{name: "stash two, drop one", line: `echo x >>a && git stash -q && git stash drop -q stash@{1}`},
	{name: "stash drop of the host's", line: `git stash drop -q`},
	{name: "stash clear", line: `git stash clear`},
	{name: "branch", line: `git branch new`},
	{name: "branch in a folder", line: `git branch feature/deep/er`},
	{name: "branch -d", line: `git branch -qd merged`},
	{name: "branch -D", line: `git branch -qD clash`},
	{name: "branch -m", line: `git branch -m merged renamed`},
	{name: "branch -m current", line: `git branch -m renamed`},
	{name: "branch -c", line: `git branch -c merged copied`},
	{name: "branch -f", line: `git branch -f merged HEAD~2`},
	{name: "switch -c", line: `git switch -qc new && echo x >>a && git commit -qam x`},
	{name: "switch and back", line: `git switch -q topic && git switch -q -`},
	{name: "switch topic", line: `git switch -q topic`},
	{name: "orphan", line: `git switch -q --orphan fresh && echo x >x && git add x && git commit -qm root`},
	{name: "detach", line: `git switch -q --detach HEAD~1`},
	{name: "commit detached", line: `git switch -q --detach && echo x >>a && git commit -qam x`},
	{name: "reset --hard", line: `git reset -q --hard HEAD~1`},
	{name: "reset --soft", line: `git reset -q --soft HEAD~1`},
	{name: "reset --mixed", line: `git reset -q HEAD~1`},
	{name: "restore", line: `echo x >>a && git restore a && echo x >x && git add x && git restore --staged x`},
	{name: "merge fast forward", line: `git switch -q merged && git merge -q --ff-only main`},
	{name: "merge", line: `git merge -q --no-ff -m merge topic`},
	{name: "merge --squash", line: `git merge -q --squash topic`},
	{name: "merge in conflict", line: `git merge -q clash; true`},
	{name: "merge resolved", line: `git merge -q clash; git checkout -q --theirs a && git add a && git commit -qm resolved`},
	{name: "merge aborted", line: `git merge -q clash; git merge --abort`},
	{name: "rebase", line: `git switch -q topic && git rebase -q main`},
	{name: "rebase -i", line: `GIT_SEQUENCE_EDITOR='sed -i 2s/pick/fixup/' git rebase -q -i HEAD~2`},
	{name: "rebase --onto", line: `git switch -q topic && git rebase -q --onto main~1 main~2`},
	{name: "rebase aborted", line: `git rebase -q clash; git rebase --abort`},
	{name: "cherry-pick", line: `git cherry-pick topic~1 topic >/dev/null`},
	{name: "cherry-pick in conflict", line: `git cherry-pick clash >/dev/null; true`},
	{name: "cherry-pick -n", line: `git cherry-pick -n topic~1`},
	{name: "revert", line: `git revert --no-edit HEAD >/dev/null`},
	{name: "revert in conflict", line: `git revert --no-edit HEAD~1 >/dev/null; true`},
	{name: "tag", line: `git tag light && git tag -a -m text heavy`},
	{name: "tag -d", line: `git tag -d v1 >/dev/null`},
	{name: "tag -f", line: `git tag -f light >/dev/null && git tag -f light HEAD~1 >/dev/null`},
	{name: "notes", line: `git notes add -m note HEAD && git notes append -m more HEAD`},
	{name: "notes removed", line: `git notes remove HEAD~1`},
	{name: "gc", line: `git gc -q`, refused: "gc.pid"},
	{name: "repack and prune", line: `git repack -qad && git prune`},
	{name: "pack-refs", line: `git pack-refs --all && git branch new && git branch -qd merged`},
	{name: "reflog expire", line: `git branch -qD topic && git reflog expire --expire=now --all`},
	{name: "update-ref", line: `git update-ref refs/heads/low HEAD~1 && git update-ref -d refs/heads/merged`},
	{name: "symbolic-ref", line: `git symbolic-ref HEAD refs/heads/topic && git reset -q --hard`},
	{name: "filter-branch", line: `FILTER_BRANCH_SQUELCH_WARNING=1 git filter-branch -f --msg-filter 'sed s/^/x:/' main~2..main >/dev/null && git update-ref -d refs/original/refs/heads/main`},
	{name: "bisect", line: `git bisect start HEAD HEAD~2 >/dev/null && git bisect run grep -q nothing a >/dev/null; git bisect reset >/dev/null 2>&1`},
	{name: "worktree below", line: `git worktree add -q -b tree ./wt && cd wt && echo x >>a && git commit -qam x`},
	{name: "worktree removed", line: `git worktree add -q ./wt topic && git worktree remove ./wt`},
	{name: "two worktrees below", line: `git worktree add -q -b one ./.wt/one && git worktree add -q -b two ./.wt/two && git worktree remove --force ./.wt/one && git branch -qD one`},
	{name: "fetch", line: `git fetch -q`},
	{name: "fetch a branch", line: `git fetch -q origin topic:fetched`},
	{name: "pull --rebase", line: `git switch -q topic && git branch -q --set-upstream-to=origin/topic && git reset -q --hard HEAD~1 && git pull -q --rebase`},
	{name: "tracking", line: `git switch -q -C clash --track origin/clash && git rev-parse --abbrev-ref @{u}`},
	{name: "clone below", line: `git clone -q . ./ignored`},
	{name: "apply", line: `git diff main topic >p && git apply --index p && rm p && git commit -qm applied`},
	{name: "am", line: `git format-patch -q -1 --stdout topic~1 | git am -q`},
	{name: "fast-export and import", line: `git fast-export topic | sed 's,refs/heads/topic,refs/heads/imported,' | git fast-import --quiet`},
	{name: "assume unchanged", line: `git update-index --assume-unchanged c && echo x >>c`, differs: `\+  M (c|lib)`}, // the word does not cross, so git outside looks at the file
	{name: "read-tree", line: `git read-tree topic && git checkout-index -qfa`},
	{name: "commit-tree", line: `git update-ref refs/heads/made $(git commit-tree -p HEAD -m made HEAD^{tree})`},
	{name: "clean", line: `echo x >x && git clean -qfd`},
	{name: "config stays inside", line: `git config user.name Somebody && git config core.hooksPath /nonexistent && git commit -q --allow-empty -m "$(git config user.name)"`},
	{name: "only looking", line: `git status && git log --all --oneline && git diff && git describe && git blame a && git grep o && git shortlog -s HEAD && git worktree list && git fsck && git show-ref && git count-objects -v && git ls-files -s && git branch -av && git stash list && git reflog`},
	{name: "amend with an author", line: `echo x >>a && git commit -qam x && git commit -q --amend --no-edit --author='B <b@example.org>' --date=2026-02-02T00:00:00Z`},
	{name: "commit --only", line: `echo x >>a && echo y >>c && git add a && git commit -qm c --only c`},
	{name: "fixup and autosquash", line: `echo x >>a && git commit -qam x && echo y >y && git add y && git commit -qm y && echo z >>a && git commit -qa --fixup=HEAD~1 && GIT_SEQUENCE_EDITOR=true git rebase -q -i --autosquash HEAD~3`},
	{name: "rebase --exec", line: `git rebase -q HEAD~2 --exec 'git commit -q --amend --no-edit -s'`},
	{name: "rebase --autostash", line: `git switch -q topic && echo dirty >>c && git rebase -q --autostash main`},
	{name: "rebase --rebase-merges", line: `git merge -q --no-ff -m merge topic && git rebase -q --rebase-merges main~2`},
	{name: "rebase --update-refs", line: `git switch -q topic && git branch middle HEAD~1 && git rebase -q --update-refs main`},
	{name: "rebase in conflict, continued", line: `git rebase -q clash; git checkout -q --theirs a && git add a && git rebase --continue >/dev/null`},
	{name: "stash push -- pathspec", line: `echo x >>a && echo y >>c && git stash push -q -- a`},
	{name: "stash apply --index", line: `echo x >>a && git add a && echo y >>a && git stash -q && git stash apply -q --index`},
	{name: "stash --keep-index", line: `echo x >>a && git add a && echo y >>c && git stash push -q --keep-index`},
	{name: "stash branch", line: `git stash branch fromstash >/dev/null`},
	{name: "stash create and store", line: `echo x >>a && git stash store -m stored $(git stash create)`},
	{name: "reset --keep", line: `echo x >x && git reset -q --keep HEAD~1`},
	{name: "restore from a branch", line: `git restore --source=topic --staged --worktree t`},
	{name: "rm --cached", line: `git rm -q --cached c && git commit -qm 'no c'`},
	{name: "update-index --cacheinfo", line: `git update-index --add --cacheinfo 100755,$(git rev-parse HEAD:a),made`},
	{name: "octopus", line: `git switch -qc o1 && echo 1 >o1 && git add o1 && git commit -qm o1 && git switch -qc o2 main && echo 2 >o2 && git add o2 && git commit -qm o2 && git switch -q main && git merge -q -m octopus o1 o2`},
	{name: "merge -s ours", line: `git merge -q -s ours -m ours clash`},
	{name: "merge of histories without a parent in common", line: `git switch -q --orphan fresh && echo x >fresh && git add fresh && git commit -qm root && git switch -q main && git merge -q --allow-unrelated-histories -m both fresh`},
	{name: "subtree by read-tree", line: `git read-tree --prefix=sub/ -u topic && git commit -qm subtree`},
	{name: "cherry-pick a range", line: `git switch -qc pick topic~2 && git cherry-pick topic~2..topic >/dev/null`},
	{name: "cherry-pick a range in conflict, skipped", line: `git cherry-pick clash topic~1 >/dev/null; git cherry-pick --skip >/dev/null`},
	{name: "notes merge", line: `git notes --ref=other add -m other HEAD~2 && git notes merge -q other`},
	{name: "update-ref --stdin", line: `printf 'create refs/heads/u1 HEAD\ncreate refs/heads/u2 HEAD~1\ndelete refs/heads/merged\n' | git update-ref --stdin`},
	{name: "branch from a folder to its name", line: `git branch f/one && git branch -m f/one f`},
	{name: "replace, undone", line: `git replace HEAD~1 HEAD~2 && git log --oneline && git replace -d HEAD~1 >/dev/null`, refused: "cannot lock ref"},
	{name: "sparse-checkout, undone", line: `git sparse-checkout set --no-cone /a && git sparse-checkout disable`, refused: "is for outside: git sparse-checkout"},
	{name: "maps of objects", line: `git commit -q --allow-empty -m x && git repack -qad --write-bitmap-index && git commit-graph write --reachable 2>/dev/null && git multi-pack-index write 2>/dev/null; git fsck`},
	{name: "maintenance", line: `git maintenance run --quiet --task=gc --task=commit-graph --task=loose-objects`, refused: "gc.pid"},
	{name: "remote add and fetch", line: `git remote add two "$HOME/remote.git" && git fetch -q two && git branch -q two two/topic`, differs: `[-+] refs/heads/two follows .*`}, // what it tracks is a remote that the host does not have
	{name: "worktree --detach", line: `git worktree add -q --detach ./wt HEAD~1 && cd wt && echo x >>a && git commit -qam x`},
	{name: "worktree locked", line: `git worktree add -q -b locked ./wl && git worktree lock --reason 'on a stick' ./wl`},
	{name: "worktree pruned", line: `git worktree add -q ./wp topic && rm -rf wp && git worktree prune`},
	{name: "worktree moved at once", line: `git worktree add -q -b moving ./w1 && git worktree move ./w1 ./w2`},
	{name: "worktree of an agent", line: `git worktree add -q -b worktree-x .claude/worktrees/x && cd .claude/worktrees/x && echo x >>a && git commit -qam x && cd ../../.. && git merge -q worktree-x`},
	{name: "submodule add", line: `git -c protocol.file.allow=always submodule --quiet add "$HOME/remote.git" sub && git commit -qm sub && git submodule status`, only: "plain"},
	{name: "submodule update", line: `cd .. && git submodule --quiet update --init && git submodule status`, only: "submodule"},
	{name: "commit in the submodule and above", line: `echo x >>a && git commit -qam x && cd .. && git add lib && git commit -qm 'new lib'`, only: "submodule"},
	{name: "deinit and init", line: `cd .. && git -C lib switch -q --detach && git submodule --quiet update --init --force`, only: "submodule"},
}

// Every date is one date, so that the same command makes the same commit.
var twinEnv = []string{
	"GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z", "GIT_EDITOR=true",
	"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=C", "GIT_COMMITTER_EMAIL=c@example.org",
}

// twinState is what the host's git says of a repository, in one text. As few programs
// as possible: it is run twice for each command.
const twinState = `
cd "$1"
echo "HEAD $(git symbolic-ref -q HEAD || git rev-parse HEAD)"
git for-each-ref --format='%(refname) %(objectname)%0a%(refname) follows %(upstream)' | grep -v '^refs/inner/'
git stash list --format=%H
git status --porcelain --untracked-files=all
git ls-files -s
git log --exclude='refs/inner/*' --all --format='%H %s' | sort
trees=$(git worktree list --porcelain)
echo "$trees"
for f in $(git rev-parse --git-path MERGE_HEAD --git-path CHERRY_PICK_HEAD --git-path REVERT_HEAD); do if [ -e "$f" ]; then echo ${f##*/}; cat "$f"; fi; done
git fsck --strict --no-dangling 2>&1 | sed '/^notice/d; s/^/fsck: /'
echo "$trees" | sed -n 's/^worktree //p' | while read -r t; do [ "$t" = "$1" ] || { echo "in $t"; git -C "$t" status --porcelain; }; done
`

// TestGitTwins runs every command in every layout, which takes some minutes, with
// INNER_TEST_GIT. Without it the layouts take turns with the commands.
func TestGitTwins(t *testing.T) {
	needServed(t)
	need(t, "bwrap", "git")
	for i, l := range layouts() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			runTwins(t, l, func(n int) bool { return os.Getenv("INNER_TEST_GIT") != "" || n%5 == i })
		})
	}
}

func runTwins(t *testing.T, l layout, wanted func(int) bool) {
	p := newPerson(t)
	p.env = append(p.env, twinEnv...)
	var set strings.Builder
	for _, kv := range twinEnv {
		k, v, _ := strings.Cut(kv, "=")
		fmt.Fprintf(&set, "%s = %q\n", k, v)
	}
	profile := p.write("box.toml", fmt.Sprintf(`schema_version = "1"
name = "box"
[sandbox]
network = false
home = %q
# Folders that tools outside obey are covered otherwise, and "git clean" cannot remove those.
allow = ["project-config"]
home_allow = ["~/remote.git", "~/lib"]
[entrypoint]
cmd = "sh"
[env]
inherit = ["PATH", "HOME", "LANG"]
[env.set]
%s`, l.home, &set))
	for _, file := range []string{"init.defaultBranch main", "protocol.file.allow always", "advice.detachedHead false", "gc.auto 0", "maintenance.auto false"} {
		k, v, _ := strings.Cut(file, " ")
		p.run("git", "config", "--global", k, v)
	}
	if err := os.Remove(p.app); err != nil {
		t.Fatal(err)
	}
	p.run("inner", "init")
	p.run("sh", "-c", "twin() { sh -c '"+strings.ReplaceAll(twinSetup, "'", `'\''`)+"' sh \"$1\"; }\n"+l.setup)
	template := filepath.Join(p.home, "..", "template")
	p.run("cp", "-a", p.home, template)
	restore := func() {
		p.reset(template, ".inner", "box.toml", ".gitconfig")
		for _, repo := range l.repos { // git writes what it learned of the new files into the index
			p.run("git", "-C", filepath.Join(p.home, repo), "status", "--porcelain")
		}
	}
	state := func() string {
		var b strings.Builder
		for _, repo := range l.repos {
			fmt.Fprintf(&b, "== %s\n%s", repo, p.run("sh", "-c", twinState, "sh", filepath.Join(p.home, repo)))
		}
		return b.String()
	}
	before := state()
	dir := filepath.Join(p.home, l.dir)
	tried := 0
	for n, c := range twinCommands {
		if c.only != "" && c.only != l.name || !wanted(n) {
			continue
		}
		tried++
		restore()
		line := "cd '" + dir + "' && " + c.line
		outside, code := p.try("sh", "-c", line)
		if code != 0 {
			t.Errorf("%s: ends with %d outside: %s", c.name, code, outside)
			continue
		}
		want := state()
		restore()
		inside, code := p.try("inner", "run", "-p", profile, "-w", filepath.Join(p.home, l.project), "--", "-c", line)
		got := state()
		if c.refused != "" {
			want = before
		}
		if (code != 0) != (c.refused != "") || !regexp.MustCompile(c.refused).MatchString(inside) {
			t.Errorf("%s: ends with %d in the box: %s", c.name, code, inside)
		}
		if d := withoutLines(lineDiff(want, got), c.differs); d != "" {
			t.Errorf("%s: the repository differs\n%s", c.name, d)
		}
		if l.name == "plain" && c.name == "commit -a" && want == before {
			t.Errorf("%s: changes nothing that is compared", c.name)
		}
	}
	t.Logf("%d commands compared", tried)
}

// try runs a program in the home and returns what it printed, and its exit code.
func (p *person) try(name string, args ...string) (string, int) {
	p.t.Helper()
	path, err := lookPath(name, p.getenv("PATH"))
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.Dir = p.env, p.home
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// withoutLines removes the lines that match a pattern as a whole.
func withoutLines(text, pattern string) string {
	if pattern == "" {
		return text
	}
	return regexp.MustCompile("(?m)^("+pattern+")\n").ReplaceAllString(text, "")
}

// lineDiff returns the lines that only one of two texts has.
func lineDiff(want, got string) string {
	var b strings.Builder
	only := func(sign, x, y string) {
		have := map[string]int{}
		for line := range strings.Lines(y) {
			have[line]++
		}
		for line := range strings.Lines(x) {
			if have[line]--; have[line] < 0 {
				b.WriteString(sign + line)
			}
		}
	}
	only("- ", want, got)
	only("+ ", got, want)
	return b.String()
}
