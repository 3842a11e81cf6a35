package main

import (
	"fmt"
	"strings"
)

// repositories times what a repository adds to a start, and commands of git in a box and outside, in turn.
func (b *bench) repositories() {
	files := []int{0, 300, 50_000}
	var starts [][]string
	for _, n := range files {
		dir := fmt.Sprintf("%s-%d", b.app, n)
		b.allowed(dir, map[string]string{"start": profile("true", "home = \"isolated\"\ngit_dir = \"checked\"\n")})
		if n > 0 {
			b.output(dir, "sh", "-euc", makeRepository, "sh", fmt.Sprint(n))
		}
		starts = append(starts, []string{"/usr/bin/env", "-C", dir, "PWD=" + dir, b.inner, "run", "-p", "start", "--no-interactive"})
	}
	s := b.turns(40, b.plain, b.app, starts...)
	for i, n := range files[1:] {
		b.add(s[i+1].beside(fmt.Sprintf("`inner run`, a repository of %d files", n), s[0], "without a repository", ""))
	}
	for _, n := range files[1:] {
		b.commandsOfGit(fmt.Sprintf("%s-%d", b.app, n), n)
	}
}

// makeRepository makes a commit of $1 files, a hundred in each folder. Nothing else is to run meanwhile: no gc.
const makeRepository = `git init -q -b main
git config user.name tester; git config user.email tester@example.com; git config gc.auto 0
i=0; while [ $i -lt $1 ]; do
	d=d$((i / 100)); [ -d $d ] || mkdir $d
	echo $i >$d/f$i; i=$((i + 1))
done
git add -A; git commit -q -m start; git tag start`

// gitCommands are those that are timed, with what may be added to each; %d is the number of the round.
var gitCommands = []struct{ name, line, target string }{
	{"status", "git status -s", "≤ +4 ms"},
	{"log -n 100", "git log -n 100 --oneline", "≤ +4 ms"},
	{"diff", "git diff", "≤ +4 ms"},
	{"add -A, one file", "echo %d >d0/f0; git add -A", "≤ +5 ms"},
	{"commit, one file", "echo c%d >d0/f1; git commit -q -a -m m", "≤ +10 ms"},
	{"branch -f and -D", "git branch -f b; git branch -q -D b", "≤ +12 ms"},
	{"add and commit of 2,000 new files", "mkdir n%[1]d; for i in $(seq 2000); do echo %[1]d$i >n%[1]d/$i; done; git add -A; git commit -q -m n", "≤ 2x"},
	{"switch over 2,000 files", "git switch -q --detach HEAD~1; git switch -q -", "≤ 2x"},
	{"rebase of 10", "git switch -q -c r HEAD~1; for i in 1 2 3 4 5 6 7 8 9 10; do git commit -q --allow-empty -m $i; done; git rebase -q --no-ff HEAD~10; git switch -q main; git branch -q -D r", "≤ 2x"},
	{"stash and pop", "echo s%d >d0/f2; git stash -q; git stash pop -q; git checkout -q d0/f2", "≤ 2x"},
	{"1,000 refs made", "for i in $(seq 1000); do echo create refs/heads/x/$i HEAD; done | git update-ref --stdin", ""},
	{"for-each-ref of these, the first time", "git for-each-ref >/dev/null", "≤ 5x"},
	{"once seen", "git for-each-ref >/dev/null", "≤ 1.3x"},
	{"pack-refs", "git pack-refs --all; for i in $(seq 1000); do echo delete refs/heads/x/$i; done | git update-ref --stdin", "≤ 8x"},
}

// commandsOfGit times each command in a shell of a box and in one outside, in turn, in the same repository.
func (b *bench) commandsOfGit(dir string, files int) {
	shells := []*partner{b.partner(dir, "/bin/bash"), b.partner(dir, b.inner, "run", "-p", "start", "--no-interactive", "--entrypoint", "/bin/bash")}
	took := make([][2]series, len(gitCommands))
	for round := range b.rounds {
		for side, sh := range shells {
			ask := func(line string) float64 { return sh.ask("{ "+line+"; } >/dev/null; echo code $?", "code 0") }
			ask("true")
			for i, c := range gitCommands {
				line := c.line
				if strings.Contains(line, "%") {
					line = fmt.Sprintf(line, 2*round+side)
				}
				took[i][side] = append(took[i][side], ask(line))
			}
			b.output(dir, "git", "reset", "-q", "--hard", "start") // each finds the same
		}
	}
	for _, sh := range shells {
		sh.end()
	}
	for i, c := range gitCommands {
		b.add(took[i][1].beside(fmt.Sprintf("git %s, %d files", c.name, files), took[i][0], "outside", c.target))
	}
}
