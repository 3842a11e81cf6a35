package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// repositories times what a repository adds to a start, and commands of git in a box and outside, in turn.
func (b *bench) repositories() error {
	profile := "schema_version = \"1\"\n[shim]\ncommands = []\n[sandbox]\nhome = \"isolated\"\ngit_dir = \"checked\"\n[entrypoint]\ncmd = \"true\"\n"
	folders := []string{b.app + "-none"}
	files := []int{300, 50_000}
	for _, n := range files {
		folders = append(folders, fmt.Sprintf("%s-%d", b.app, n))
	}
	var starts [][]string
	for i, dir := range folders {
		if err := b.allowed(dir, map[string]string{"start": profile}); err != nil {
			return err
		}
		if i > 0 {
			if err := b.repository(dir, files[i-1]); err != nil {
				return err
			}
		}
		starts = append(starts, []string{"/usr/bin/env", "-C", dir, "PWD=" + dir, b.inner, "run", "-p", "start", "--no-interactive"})
	}
	t, err := b.hyperfine(b.app, 40, "", starts...)
	if err != nil {
		return err
	}
	for i, n := range files {
		b.rows = append(b.rows, row{
			fmt.Sprintf("`inner run`, a repository of %d files", n), ms(median(t[i+1])),
			"without a repository, " + ms(median(t[0])), "+" + ms(t[i+1].less(t[0])), "",
		})
	}
	for i, n := range files {
		if err := b.commandsOfGit(folders[i+1], n); err != nil {
			return err
		}
	}
	return nil
}

// repository makes one with a commit of that many files, a hundred in each folder.
func (b *bench) repository(dir string, files int) error {
	if _, err := b.output(dir, "git", "init", "-q", "-b", "main"); err != nil {
		return err
	}
	for i := range files {
		name := filepath.Join(dir, fmt.Sprintf("d%d/f%d", i/100, i))
		if i%100 == 0 {
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				return err
			}
		}
		if err := os.WriteFile(name, fmt.Appendf(nil, "%d\n", i), 0o600); err != nil {
			return err
		}
	}
	for _, words := range [][]string{
		{"config", "user.name", "tester"},
		{"config", "user.email", "tester@example.com"},
		{"config", "gc.auto", "0"}, // nothing else is to run meanwhile
		{"add", "-A"},
		{"commit", "-q", "-m", "start"},
		{"tag", "start"},
	} {
		if _, err := b.output(dir, append([]string{"git"}, words...)...); err != nil {
			return err
		}
	}
	return nil
}

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
func (b *bench) commandsOfGit(dir string, files int) error {
	inside, err := b.shell(dir, b.inner, "run", "-p", "start", "--no-interactive", "--entrypoint", "/bin/bash")
	if err != nil {
		return err
	}
	defer inside.end()
	outside, err := b.shell(dir, "/bin/bash")
	if err != nil {
		return err
	}
	defer outside.end()
	times := make([][2]series, len(gitCommands))
	for round := range b.rounds {
		for side, sh := range []*benchShell{outside, inside} {
			for i, c := range gitCommands {
				line := c.line
				if strings.Contains(line, "%") {
					line = fmt.Sprintf(line, 2*round+side)
				}
				took, err := sh.time(line)
				if err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
				times[i][side] = append(times[i][side], took)
			}
			if _, err := b.output(dir, "git", "reset", "-q", "--hard", "start"); err != nil { // each finds the same
				return err
			}
		}
	}
	for i, c := range gitCommands {
		b.rows = append(b.rows, row{
			fmt.Sprintf("git %s, %d files", c.name, files), ms(median(times[i][1])), "outside, " + ms(median(times[i][0])), more(times[i][1], times[i][0]), c.target,
		})
	}
	return nil
}

// benchShell is a shell that is given lines.
type benchShell struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func (b *bench) shell(dir string, words ...string) (*benchShell, error) {
	s := &benchShell{cmd: b.command(dir, words...)}
	s.cmd.Stderr = os.Stderr
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.in, s.out = in, bufio.NewScanner(out)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	_, err = s.time("true")
	return s, err
}

// time returns the seconds that a line takes.
func (s *benchShell) time(line string) (float64, error) {
	start := time.Now()
	if _, err := fmt.Fprintf(s.in, "{ %s; } >/dev/null; echo code $?\n", line); err != nil {
		return 0, err
	}
	if !s.out.Scan() || s.out.Text() != "code 0" {
		return 0, fmt.Errorf("%q: %q", line, s.out.Text())
	}
	return time.Since(start).Seconds(), nil
}

func (s *benchShell) end() {
	s.in.Close()
	_ = s.cmd.Wait()
}
