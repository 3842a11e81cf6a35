package main

import (
	"fmt"
)

// repositories times what a repository adds to a start, and commands of git in a box and outside, in turn.
func (b *bench) repositories() (rows []row) {
	run := func(dir string) func() {
		return func() { b.output(dir, b.inner, "run", "-p", "start", "--no-interactive") }
	}
	prepare := func(dir string, files int) {
		b.allowed(dir, map[string]string{"start": profile("true",
			"home = \"isolated\"\ngit_dir = \"checked\"\n")})
		if files > 0 {
			b.output(dir, "sh", "-euc", makeRepository, "sh", fmt.Sprint(files))
		}
	}
	none := b.app + "-0"
	for _, n := range []int{300, 50_000} {
		dir := fmt.Sprintf("%s-%d", b.app, n)
		rows = append(rows, row{
			part: "repositories", what: fmt.Sprintf("`inner run`, a repository of %d files",
				n), ours: run(dir), against: "without a repository", theirs: run(none), runs: 40,
			open: func() { prepare(none, 0); prepare(dir, n) },
		})
		var inside, outside *partner
		for i, c := range gitCommands {
			round := 0
			ask := func(sh **partner) func() {
				return func() {
					(*sh).ask(fmt.Sprintf("r=%d; { %s; } >/dev/null; echo code $?",
						round, c.line), "code 0")
				}
			}
			r := row{
				part: "commands of git", what: fmt.Sprintf("git %s, %d files", c.name,
					n), ours: ask(&inside), against: "outside", theirs: ask(&outside), aim: c.target, runs: 1,
				before: func() { // each finds the same, and has something new to write
					round++
					b.output(dir, "sh", "-c",
						"git reset -q --hard start; git for-each-ref --format='delete %(refname)' refs/heads/x | git update-ref --stdin; "+c.before)
				},
			}
			if i == 0 {
				r.open = func() {
					prepare(dir, n)
					outside = b.partner(dir, "/bin/bash")
					inside = b.partner(dir, b.inner, "run", "-p", "start", "--no-interactive",
						"--entrypoint", "/bin/bash")
				}
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// makeRepository makes a commit of $1 files, a hundred in each folder. Nothing else is to run meanwhile: no gc.
const makeRepository = `[ ! -d .git ] || exit 0
git init -q -b main
git config user.name tester; git config user.email tester@example.com; git config gc.auto 0
i=0; while [ $i -lt $1 ]; do
	d=d$((i / 100)); [ -d $d ] || mkdir $d
	echo $i >$d/f$i; i=$((i + 1))
done
git add -A; git commit -q -m start; git tag start`

// refs makes a thousand.
const refs = "for i in $(seq 1000); do echo create refs/heads/x/$i HEAD; done | git update-ref --stdin"

// gitCommands are those that are timed, with what may be added to each; $r is the number of the run. What stands
// before is done outside.
var gitCommands = []struct{ name, line, target, before string }{
	{"status", "git status -s", "≤ +4 ms", ""},
	{"log -n 100", "git log -n 100 --oneline", "≤ +4 ms", ""},
	{"diff", "git diff", "≤ +4 ms", ""},
	{"add -A, one file", "echo $r >d0/f0; git add -A", "≤ +5 ms", ""},
	{"commit, one file", "echo c$r >d0/f1; git commit -q -a -m m", "≤ +10 ms", ""},
	{"branch -f and -D", "git branch -f b; git branch -q -D b", "≤ +12 ms", ""},
	{"add and commit of 2,000 new files", "mkdir n$r; for i in $(seq 2000); do echo $r$i >n$r/$i; done; git add -A; git commit -q -m n", "≤ 2x", ""},
	{
		"switch over 2,000 files", "git switch -q --detach HEAD~1; git switch -q main", "≤ 2x",
		"mkdir n; for i in $(seq 2000); do echo $i >n/$i; done; git add -A; git commit -q -m n",
	},
	{
		"rebase of 10", "git rebase -q --no-ff HEAD~10", "≤ 2x",
		"for i in 1 2 3 4 5 6 7 8 9 10; do git commit -q --allow-empty -m $i; done",
	},
	{"stash and pop", "echo s$r >d0/f2; git stash -q; git stash pop -q", "≤ 2x", ""},
	{"1,000 refs made", refs, "", ""},
	{"for-each-ref of these, the first time", "git for-each-ref", "≤ 5x", refs},
	{"once seen", "git for-each-ref", "≤ 1.3x", ""},
	{"pack-refs", "git pack-refs --all", "≤ 8x", refs},
}
