package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// killsLoop commits until it is killed, and notes each commit that git said is made. It stashes without a reset: of two gits
// outside, too, one that resets loses what the other commits meanwhile.
const killsLoop = `i=0; while :; do i=$((i+1)); echo $1 $i >$1; git add $1 && git commit -qm "$1 $i" && git rev-parse HEAD >>made-$1; git branch -f at-$1; echo s >>$1; git stash store -q $(git stash create); done 2>/dev/null`

// TestGitKills kills inner, its server or its box at random moments, while both sides commit and git outside collects
// garbage (not of this moment: with --prune=now two gits outside break a repository in a second). The host's repository is whole at once; after the next call of inner no lock is left, and all commits that
// were made are there: those of a box whose server was killed before it could be mounted under refs/inner, where the branch has moved. 200 times with INNER_TEST_GIT, a dozen without.
func TestGitKills(t *testing.T) {
	needServed(t)
	need(t, "bwrap", "git", "pgrep", "timeout")
	times := 12
	if os.Getenv("INNER_TEST_GIT") != "" {
		times = 200
	}
	p := newPerson(t)
	p.env = append(p.env, twinEnv...)
	profile := gitAttackHome(p, false)
	p.run("sh", "-c", "cd $HOME/app && git config gc.auto 0 && printf '/made-*\n/pwn\n' >>.git/info/exclude && git fsck")
	inner, err := lookPath("inner", p.getenv("PATH"))
	if err != nil {
		t.Fatal(err)
	}
	hit := map[string]int{}
	for i := range times {
		victim := []string{"^inner: git __git", "bwrap", ""}[i%3]
		box := exec.Command(inner, "run", "-p", profile, "-w", p.app, "--", "-c", killsLoop, "sh", "box")
		host := exec.Command("sh", "-c", killsLoop, "sh", "host")
		gc := exec.Command("sh", "-c", "while :; do git gc -q --prune=10.seconds.ago; sleep 0.2; done 2>/dev/null")
		for _, c := range []*exec.Cmd{box, host, gc} {
			c.Env, c.Dir, c.SysProcAttr = p.env, p.app, &syscall.SysProcAttr{Setpgid: true}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Duration(rand.IntN(600)) * time.Millisecond) // the moment is what is tried
		pid := fmt.Sprint(box.Process.Pid)
		if victim != "" {
			pid, _ = p.try("pgrep", "-P", pid, "-f", victim)
		}
		if out, code := p.try("kill", "-KILL", strings.TrimSpace(pid)); code == 0 {
			hit[victim]++
		} else {
			t.Logf("%d: %q is not there yet: %s", i, victim, out)
		}
		ended := make(chan error, 1)
		go func() { ended <- box.Wait() }()
		time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
		_ = box.Process.Signal(syscall.SIGTERM) // where the box lives on, without git
		select {
		case <-ended:
		case <-time.After(time.Minute):
			for _, c := range []*exec.Cmd{box, host, gc} { // else they go on for ever
				_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
			}
			t.Fatalf("%d: %q: the run hangs", i, victim)
		}
		// A git outside that is killed leaves locks of its own: it ends by itself, between two commands.
		for _, c := range []*exec.Cmd{host, gc} {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
		if out, code := p.try("sh", "-c", "cd $HOME/app && while pgrep -g $1 >/dev/null || pgrep -g $2 >/dev/null; do sleep 0.1; done; git fsck --strict --no-dangling 2>&1", "sh", fmt.Sprint(host.Process.Pid), fmt.Sprint(gc.Process.Pid)); code != 0 {
			t.Fatalf("%d: %q: the repository is broken: %s", i, victim, out)
		}
		p.run("inner", "run", "-p", profile, "-w", p.app, "--", "-c", "git status >/dev/null")
		if out := p.run("sh", "-c", "cd $HOME/app && find .git -name '*.lock' -o -name '*.new' -o -name '.inner-*'; cat made-* | sort -u >made-all; git rev-list HEAD --glob=refs/inner | sort | comm -13 - made-all; git reset -q --hard; git stash clear; rm -f .git/gc.pid"); out != "" {
			t.Fatalf("%d: %q: left, or lost: %s", i, victim, out)
		}
	}
	t.Logf("killed: %v; %s commits", hit, strings.TrimSpace(p.run("sh", "-c", "wc -l <$HOME/app/made-all")))
}
