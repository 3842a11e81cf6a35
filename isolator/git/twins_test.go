package git

import (
	"os"
	"strings"
	"testing"
)

// scripts are what people and agents do with git. Each ends in the same state outside, run
// in a box or run there.
var scripts = []struct{ name, text string }{
	{"commit", "echo x >>a; git commit -qam two"},
	{"commit-many", "for i in 1 2 3; do echo $i >>a; git commit -qam c$i; done"},
	{"amend", "echo x >>a; git commit -qa --amend -m other"},
	{"add", "echo x >>a; echo n >n; git add a n"},
	{"add-intent", "echo n >n; git add -N n"},
	{"rm", "git rm -q a"},
	{"mv", "git mv a b"},
	{"restore", "echo x >>a; git add a; git restore --staged a"},
	{"reset-hard", "echo x >>a; git commit -qam two; git reset -q --hard HEAD~"},
	{"reset-soft", "echo x >>a; git commit -qam two; git reset -q --soft HEAD~"},
	{"branch", "git branch topic; git branch other"},
	{"branch-delete", "git branch topic; git branch -D topic"},
	{"branch-delete-old", "git branch -D side"},
	{"branch-rename", "git branch -m side elsewhere"},
	{"branch-rename-below", "git branch -m side side/deeper"},
	{"branch-rename-current", "git branch -m main2"},
	{"branch-force", "git branch -f side HEAD"},
	{"switch", "git switch -q side"},
	{"switch-create", "git switch -qc topic; echo x >>a; git commit -qam two"},
	{"checkout-detach", "git checkout -q --detach; echo x >>a; git commit -qam two"},
	{"checkout-orphan", "git checkout -q --orphan new; git commit -qm alone"},
	{"checkout-orphan-unborn", "git checkout -q --orphan new"},
	{"tag", "git tag v1; git tag -a v2 -m two"},
	{"tag-move", "git tag v1; echo x >>a; git commit -qam two; git tag -f v1"},
	{"tag-delete", "git tag -d old"},
	{"merge", "git merge -q -m joined side"},
	{"merge-ff", "git switch -qc t HEAD~; git merge -q -"},
	{"merge-conflict", "git merge -q clash || :"},
	{"merge-conflict-solved", "git merge -q clash || :; echo both >a; git add a; git commit -qm solved"},
	{"merge-abort", "git merge -q clash || :; git merge --abort"},
	{"merge-squash", "git merge -q --squash side"},
	{"merge-no-commit", "git merge -q --no-commit --no-ff side"},
	{"rebase", "git switch -q side; git rebase -q main"},
	{"rebase-conflict-solved", "git switch -q clash; git rebase -q main || :; echo both >a; git add a; GIT_EDITOR=: git rebase --continue"},
	{"rebase-abort", "git switch -q clash; git rebase -q main || :; git rebase --abort"},
	{"rebase-interactive", "echo 1 >>a; git commit -qam 1; echo 2 >>a; git commit -qam 2; GIT_SEQUENCE_EDITOR='sed -i 2s/pick/fixup/' git rebase -qi HEAD~2"},
	{"cherry-pick", "git cherry-pick side"},
	{"cherry-pick-conflict", "git cherry-pick clash || :"},
	{"revert", "git revert --no-edit HEAD"},
	{"stash", "echo x >>a; git stash -q"},
	{"stash-two", "echo x >>a; git stash -q; echo y >>a; git stash push -q -m named"},
	{"stash-pop", "echo x >>a; git stash -q; git stash pop -q"},
	{"stash-drop-one", "echo x >>a; git stash -q; echo y >>a; git stash -q; git stash drop -q stash@{1}"},
	{"stash-drop-second", "git stash list | grep -q @{1} || exit 0; git stash drop -q stash@{1}"},
	{"stash-expired", "git reflog expire --expire=now --all"},
	{"stash-untracked", "echo x >new; git stash -q -u"},
	{"stash-clear", "echo x >>a; git stash -q; git stash clear"},
	{"notes", "git notes add -m note"},
	{"gc", "echo x >>a; git commit -qam two; git gc -q --prune=now"},
	{"repack", "echo x >>a; git commit -qam two; git repack -qad"},
	{"pack-refs", "git branch t; git pack-refs --all"},
	{"filter-branch", "FILTER_BRANCH_SQUELCH_WARNING=1 git filter-branch -f --msg-filter 'sed s/^/x/' HEAD >/dev/null 2>&1"},
	{"bisect", "for i in 1 2 3 4; do echo $i >>a; git commit -qam c$i; done; git bisect start HEAD HEAD~4 >/dev/null; git bisect run false >/dev/null 2>&1 || :; git bisect reset 2>/dev/null"},
	{"fetch", "git fetch -q ../origin.git '+refs/heads/*:refs/remotes/o/*'"},
	{"fetch-head-of-remote", "git fetch -q ../origin.git '+refs/heads/*:refs/remotes/o/*'; git symbolic-ref refs/remotes/o/HEAD refs/remotes/o/main"},
	{"pull", "git reset -q --hard HEAD~; git pull -q --ff-only ../origin.git up"},
	{"update-index-exec", "git update-index --chmod=+x a"},
	{"symlink", "ln -s a l; git add l; git commit -qm link"},
	{"clean", "echo x >junk; git clean -qfd"},
	{"apply", "git diff HEAD~ HEAD >p; git apply -R --index p; rm p"},
	{"am", "git format-patch -q -1 side -o p; git am -q p/*; rm -r p"},
	{"sparse", "git sparse-checkout init --cone; git sparse-checkout disable"},
	{"index-v4", "echo x >>a; git add a; git update-index --index-version 4"},
	{"split-index", "git update-index --split-index; echo x >>a; git add a; git update-index --no-split-index"},
	{"untracked-cache", "git update-index --force-untracked-cache; git status >/dev/null; echo x >>a; git add a"},
	{"many-files", "mkdir many; for i in $(seq 300); do echo $i >many/$i; done; git add many; git commit -qm many"},
	{"unusual-names", "printf x >'sp ace'; printf x >$'new\\nline'; printf x >\"qu'ote\"; git add .; git commit -qm names"},
	{"replace-graft-none", "git commit -q --allow-empty -m empty"},
	{"worktree-add-remove", "git worktree add -q sub side; git worktree remove sub"},
}

// kinds are where a person may work. what each prints is the folder.
var kinds = []struct{ name, text string }{
	{"plain", "cd app; pwd"},
	{"packed", "cd app; git gc -q; pwd"},
	{"worktree", "cd app; git worktree add -q ../tree -b work; cd ../tree; pwd"},
	{"submodule", "git init -q super; cd super; git commit -q --allow-empty -m s; git submodule --quiet add ../app sub; git commit -qm sub; cd sub; for b in side clash up; do git branch -q $b origin/$b; done; pwd"},
	{"sha256", "mv app old; git init -q --object-format=sha256 -b main app; (cd old; git fast-export --all) | (cd app; git fast-import --quiet; git reset -q --hard main); cd app; pwd"},
}

// build makes what the scripts work on.
const build = `cd app
git switch -qc side; echo s >s; git add s; git commit -qm side
git switch -qc clash main; echo clash >a; git commit -qam clash
git switch -qc up main; echo u >u; git add u; git commit -qm up
git clone -q --bare . ../origin.git
git switch -q main; echo main >a; git commit -qam more; git tag -a old -m old
echo 1 >>a; git stash -q; echo 2 >>a; git stash -q`

const twinState = `git for-each-ref --format='%(objectname) %(objecttype) %(refname)' | grep -v refs/inner
git status --porcelain -b | sed 's/\[.*//'
git symbolic-ref -q HEAD || git rev-parse HEAD
git stash list --format='%gd %H %s'
git diff; git diff --cached --raw --abbrev=64
git log --exclude='refs/inner/*' --all --format=%H | sort
ls $(git rev-parse --git-dir) | grep -E '^[A-Z_]*_(HEAD|MSG|MODE)$' | grep -v -E 'FETCH_HEAD|COMMIT_EDITMSG|ORIG_HEAD|REBASE_HEAD' || :`

// copyOf makes the fixture a copy of another: worktrees and remotes lead to paths in it. It returns where dir is then.
func (s *fixture) copyOf(from *fixture, dir string) string {
	s.t.Helper()
	dir = s.home + strings.TrimPrefix(dir, from.home)
	s.host(s.home, "cp -a "+from.home+"/. .; find . -name .git -type f -o -name gitdir -o -name config | xargs sed -i 's,"+from.home+"/,"+s.home+"/,'; cd "+dir+"; git update-index -q --refresh")
	return dir
}

// TestTwins runs every script in a plain repository, and a quarter of them in each other kind;
// with INNER_TEST_GIT_ALL all in all.
func TestTwins(t *testing.T) {
	all := os.Getenv("INNER_TEST_GIT_ALL") != ""
	for n, k := range kinds {
		template := newFixture(t)
		template.host(template.home, build)
		lines := strings.Fields(template.host(template.home, k.text))
		made := lines[len(lines)-1]
		for i, script := range scripts {
			if !all && n > 0 && i%4 != n%4 {
				continue
			}
			t.Run(k.name+"/"+script.name, func(t *testing.T) {
				t.Parallel()
				if k.name == "sha256" && (script.name == "fetch" || script.name == "pull") {
					t.Skip("git cannot fetch from the other kind of repository")
				}
				in, out := emptyFixture(t), emptyFixture(t)
				var dirs [2]string
				for i, s := range []*fixture{in, out} {
					dirs[i] = s.copyOf(template, made)
				}
				text := strings.ReplaceAll(script.text, "../origin.git", "$HOME/origin.git")
				out.host(dirs[1], text)
				c := in.stage(dirs[0], "r1")
				in.box(c, dirs[0], text)
				rep := in.cross(c, true)
				if len(rep.Conflicts)+len(rep.Refused)+len(rep.Held)+len(rep.Lines) > 0 || rep.Pending {
					t.Errorf("%+v", rep)
				}
				state := strings.ReplaceAll(twinState, "grep -v refs/inner", "grep -v refs/inner || :")
				got, want := in.host(dirs[0], state), out.host(dirs[1], state)
				if got != want {
					t.Errorf("a box:\n%s\nno box:\n%s\n%+v", got, want, rep)
				}
				if inside := in.box(c, dirs[0], state); inside != got {
					t.Errorf("in the box itself:\n%s\noutside:\n%s", inside, got)
				}
				in.whole(dirs[0])
			})
		}
	}
}
