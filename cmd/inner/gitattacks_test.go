package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/enr/inner/isolator/verify/attack"
)

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

// TestGitAttacks tries what a program in a box does to a repository (attack.GitAttacks). Each line runs
// first without a box, where it must work (an attack that does nothing proves nothing), and
// then in one, while the person's git is used and afterwards. Of a line that git itself defeats outside
// the first is not asked for, and what the box must not do stays the same.
//
// It runs all of them with INNER_TEST_GIT, a fifth without, in a plain repository and in a linked worktree.
func TestGitAttacks(t *testing.T) {
	need(t, "bwrap", "git", "timeout")
	const groups = 4
	for i := range groups {
		tree := i%2 == 1
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			p := newPerson(t)
			p.env = append(p.env, twinEnv...)
			profile := gitAttackHome(p, tree)
			gitDir := filepath.Join(p.app, ".git")
			if tree {
				gitDir = filepath.Join(p.home, "main", ".git")
			}
			template := filepath.Join(p.home, "..", "template")
			p.run("cp", "-a", p.home, template)
			for n, a := range attack.GitAttacks() {
				if all := os.Getenv("INNER_TEST_GIT") != ""; n/2%2 != i/2 || !all && (n+i%2)%10 != 0 {
					continue
				}
				line := a.Line
				if tree {
					line = a.InTree()
				}
				p.reset(template, ".inner")
				before := p.homeState()
				// What git does at once another command of git may undo.
				used := func(n string) string {
					p.try("sh", "-c", personsGit, "sh", n, "during")
					d := lineDiff(before, p.homeState())
					p.try("sh", "-c", personsGit, "sh", n+"-", "after")
					return d + lineDiff(before, p.homeState())
				}
				out, code := p.try("sh", "-c", "cd $HOME/app && "+line)
				switch d := used("1"); {
				case tree: // in the plain one it was shown, and a line may have nothing to do here
				case d == "" && a.Inert == "":
					t.Errorf("%s: does nothing without a box, so it proves nothing in one; it ended with %d: %s", a.What, code, out)
				case d != "" && a.Inert != "":
					t.Errorf("%s: is said to be inert, and does without a box:\n%s", a.What, d)
				}
				p.reset(template, ".inner")
				before = p.homeState()
				p.boxedAttack(profile, line)
				if d := lineDiff(before, p.homeState()) + used("2"); d != "" {
					t.Errorf("%s: worked from inside the box:\n%s", a.What, d)
				}
				if out, code := p.try("sh", "-c", "cd $HOME/app && git fsck --strict --no-dangling && git status && git log --oneline -1"); code != 0 {
					t.Errorf("%s: the repository is broken outside: %s", a.What, out)
				}
				if locks := p.run("find", gitDir, "-name", "*.lock"); locks != "" {
					t.Errorf("%s: locks are left: %s", a.What, locks)
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
func gitAttackHome(p *person, tree bool) (profile string) {
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
	hook := p.write("trap.git/hooks/pre-commit", "#!/bin/sh\necho trapped >>\""+p.home+"/pwned\"\n")
	if tree {
		p.run("sh", "-c", `mkdir "$HOME/main" && cd "$HOME/main" && mv "$HOME/trap.git" "$HOME/t"`+"\n"+attack.GitFixture+`git switch -q -c other && mv ../app ../was && git worktree add -q ../app main && mv ../was/* ../app && rm -r ../was && mkdir -p ../app/empty`)
	} else {
		p.run("sh", "-c", `cd "$HOME/app" && mv "$HOME/trap.git" "$HOME/t"`+"\n"+attack.GitFixture)
	}
	p.run("sh", "-c", `mv "$HOME/t/hooks/pre-commit" "$HOME/trap.git/hooks" && rm -r "$HOME/t" && chmod +x "`+hook+`"`)
	p.env = append(p.env, "PWN="+pwn, "VICTIM="+filepath.Join(p.home, "victim"), "VICTIMS="+filepath.Join(p.home, "victims"), "TRAP="+filepath.Join(p.home, "trap.git"))
	return p.write("box.toml", `schema_version = "1"
name = "box"
[sandbox]
network = false
home = "host"
[entrypoint]
cmd = "sh"
[env]
inherit = ["PATH", "HOME", "LANG", "PWN", "VICTIM", "VICTIMS", "TRAP", "GIT_*"]
`)
}

// reset puts back what is in the home, without what is named in except. What was there is moved away and
// goes with the test: contrib/as-plain-user.sh says what removing costs.
func (p *person) reset(template string, except ...string) {
	p.t.Helper()
	children := func(dir string) (paths []string) {
		list, err := os.ReadDir(dir)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, e := range list {
			if !slices.Contains(except, e.Name()) {
				paths = append(paths, filepath.Join(dir, e.Name()))
			}
		}
		return paths
	}
	away, err := os.MkdirTemp(filepath.Dir(p.home), "was")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, from := range children(p.home) {
		if err := os.Rename(from, filepath.Join(away, filepath.Base(from))); err != nil {
			p.t.Fatal(err)
		}
	}
	p.run("cp", slices.Concat([]string{"-a"}, children(template), []string{p.home})...)
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
		case rel == "app", rel == "main", rel == ".inner", rel == "remote.git", strings.HasPrefix(rel, "tree"), rel == ".cache":
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
