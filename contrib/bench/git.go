package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// repositories times what a repository adds to a start, and how long a commit made
// inside takes to be seen outside.
func (b *bench) repositories() error {
	profile := "schema_version = \"1\"\n[shim]\ncommands = []\n[sandbox]\nhome = \"isolated\"\ngit_dir = \"own\"\n[entrypoint]\ncmd = \"true\"\n"
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
		late, err := b.crossings(folders[i+1])
		if err != nil {
			return err
		}
		b.rows = append(b.rows, row{
			fmt.Sprintf("commit inside to branch outside, %d files", n), fmt.Sprintf("%.0f ms", median(late)*1e3), "", "", "≤ 500 ms",
		})
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
		{"add", "-A"},
		{"commit", "-q", "-m", "start"},
	} {
		if _, err := b.output(dir, append([]string{"git"}, words...)...); err != nil {
			return err
		}
	}
	return nil
}

// crossings are the seconds from the end of a commit in a box to the change of the
// branch's file outside, one for each round.
func (b *bench) crossings(dir string) (series, error) {
	script := fmt.Sprintf(`for i in $(seq %d); do read -r go; echo $i >d0/f0; git commit -q -a -m "$i"; git rev-parse HEAD; done`, b.rounds)
	cmd := b.command(dir, b.inner, "run", "-p", "start", "--no-interactive", "--entrypoint", "/bin/bash", "--", "-c", script)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var late series
	lines := bufio.NewScanner(out)
	for range b.rounds {
		time.Sleep(3 * time.Second) // the last one has crossed, and all is quiet
		if _, err := fmt.Fprintln(in, "go"); err != nil {
			return nil, err
		}
		if !lines.Scan() {
			return nil, fmt.Errorf("the box ended: %w", cmd.Wait())
		}
		took, err := untilCrossed(dir, lines.Text())
		if err != nil {
			return nil, err
		}
		late = append(late, took)
	}
	return late, cmd.Wait()
}

// untilCrossed waits until the branch outside is at a commit, and returns how many seconds that took.
func untilCrossed(dir, commit string) (float64, error) {
	for start := time.Now(); ; time.Sleep(time.Millisecond) { // between two looks
		ref, err := os.ReadFile(filepath.Join(dir, ".git/refs/heads/main"))
		if err == nil && strings.TrimSpace(string(ref)) == commit {
			return time.Since(start).Seconds(), nil
		}
		if time.Since(start) > 20*time.Second {
			return 0, fmt.Errorf("commit %s never crossed", commit)
		}
	}
}
