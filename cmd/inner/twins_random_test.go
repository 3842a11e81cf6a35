package main

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// twinWords are what a random story is made of: F is a file, B a branch, T a tag, N the number of
// the step. What a box may leave half done and nobody else may see, a rebase, is not left so.
var twinWords = []string{
	"echo N >>F; git add F", "echo N >>F", "sed -i 1s/.*/N/ F; git commit -qam N", "echo N >nN.txt; git add nN.txt", "echo N >nN.txt",
	"git add -A", "git add --intent-to-add .", "git commit -qam N", "git commit -qm N", "git commit -q --allow-empty -m N", "git commit -q --amend -m N",
	"git commit -q --only F -m N", "git rm -q --cached F", "git rm -q F", "git mv F mN.txt", "chmod +x F; git add F",
	"git restore F", "git restore --staged .", "git checkout -q -- .", "git reset -q", "git reset -q --hard", "git reset -q --soft HEAD~1", "git reset -q --hard HEAD~1",
	"git reset --keep HEAD~1", "git switch -q B", "git switch -q B", "git switch -qc bN", "git checkout -q -", "git checkout -q --detach B", "git branch -f B HEAD", "git branch -D B", "git branch -m B mN",
	"git stash -q", "git stash push -qu", "git stash pop -q", "git stash apply", "git stash drop -q", "git stash list",
	"git merge -q -m N B", "git merge --no-ff -m N B", "git merge --squash B", "git merge --abort", "git cherry-pick B", "git cherry-pick --abort", "git cherry-pick --skip",
	"git revert --no-edit HEAD", "git revert --abort", "git rebase -q B || git rebase --abort", "git tag T", "git tag -f T", "git tag -d T", "git tag -a -m N T B",
	"git status", "git status", "git status -sb", "git diff", "git diff --cached", "git log --oneline --all -n 9", "git log --stat -n 2", "git show --stat HEAD",
	"git reflog -n 5", "git for-each-ref", "git branch -avv", "git ls-files -s", "git describe --all", "git blame -s F", "git fsck --strict --no-dangling",
	"git fetch", "git fetch --prune", "git push -q origin HEAD:refs/heads/pushed", "git push -qf origin B", "git pull -q --rebase", "git pull -q --no-rebase --no-edit",
	"git update-ref refs/heads/uN HEAD", "git symbolic-ref HEAD refs/heads/B", "git notes add -f -m N", "git worktree list",
}

// Outside only: in a box git keeps its hands off the host's objects.
var twinWordsOutside = []string{"git gc -q --prune=now", "git pack-refs --all", "git repack -qad", "git reflog expire --expire=now --all", "git prune"}

func randomTwin(seed, n uint64) *twinStory {
	random := rand.New(rand.NewPCG(seed, n))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	hands := []string{"out", "box"}
	if n%2 == 1 {
		hands = append(hands, "box2")
	}
	s := &twinStory{setup: []string{"remote"}, dir: "app"}
	for step := range 12 + random.IntN(8) {
		hand, words := pick(hands...), twinWords
		if hand == "out" && random.IntN(6) == 0 {
			words = twinWordsOutside
		}
		fill := strings.NewReplacer("F", pick("a.txt", "b.txt", "c.txt", "dir/x.txt"), "B", pick("main", "topic"), "T", pick("one", "two"), "N", strconv.Itoa(step))
		s.steps = append(s.steps, twinStep{hand: hand, line: fill.Replace(pick(words...))})
	}
	return s
}
