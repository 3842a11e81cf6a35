package attack

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/enr/inner/profile"
)

// gitDirectories returns the attacks on the project's git directory, and some of them again in a
// linked worktree.
func gitDirectories() []Attack {
	again := []string{
		"git-link-message", "git-link-stash-log", "git-link-head-log", "git-link-heads", "git-set-fsmonitor", "git-set-worktree", "git-hook-pre-commit", "git-hook-transaction",
		"git-place-users", "git-place-commondir", "git-gitlink-index", "git-state-rebase", "git-index-path", "git-object-grafts",
	}
	var list, trees []Attack
	for _, g := range GitAttacks() {
		if g.Use == "" {
			continue
		}
		list = append(list, g.attack(false))
		if slices.Contains(again, g.Name) {
			trees = append(trees, g.attack(true))
		}
	}
	return append(list, trees...)
}

// gitEnv returns an environment in which git can commit and does not read the machine's settings.
func gitEnv() []string {
	return []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_EDITOR=true", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
	}
}

var inGitDir = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\.git/([A-Za-z0-9_./*$-]+)`) })

// InTree returns the line for a linked worktree, where a file of the git directory is in one of two folders.
func (g GitAttack) InTree() string {
	if strings.Contains(g.Line, "mv .git was") {
		return g.Line
	}
	return inGitDir().ReplaceAllString(g.Line, `$$(git rev-parse --git-path "$1")`)
}

// attack returns a row of the suite: the line runs bare or in a box, and then git on the host.
func (g GitAttack) attack(tree bool) Attack {
	a := Attack{Name: g.Name, Class: "files", What: "leave in the git directory: " + g.What}
	line, where := g.Line, "app"
	if tree {
		a.Name, a.What = a.Name+"-tree", a.What+", in a linked worktree"
		line, where = g.InTree(), "main"
	}
	a.Declared = func(rc profile.RunConfig) string { return cmp.Or(ownGitDir(rc), homeWritable(rc)) }
	a.Stage = func(s *Fixture) error {
		pwn := "#!/bin/sh\necho " + s.Trial.Mark + " >>" + s.path("outside/ran") + "\nexit 1\n"
		script := "rm -rf .git\n" + GitFixture
		if tree {
			script = "mkdir ../main && mv pwn ../main && cd ../main\n" + GitFixture + "mv ../app ../was && git switch -q -c other && git worktree add -q ../app main && mv pwn ../was/.inner ../app && mkdir -p ../app/empty\n"
		}
		err := errors.Join(
			s.put("app/pwn", pwn), os.Chmod(s.path("app/pwn"), 0o700), // allowed: it is to be run
			s.put(".gitconfig", "[init]\n\tdefaultBranch = main\n[gc]\n\tautoDetach = false\n"), s.put("outside/victims/mine", "mine\n"),
		)
		if err == nil {
			_, err = s.host(script)
		}
		return errors.Join(err, s.put("trap.git/hooks/pre-commit", pwn), os.Chmod(s.path("trap.git/hooks/pre-commit"), 0o700)) // allowed: it is to be run
	}
	a.Launcher = func(s *Fixture, run Run) (string, error) {
		before := s.outside()
		words := fmt.Sprintf("cd %s; export PWN=%s VICTIM=%s VICTIMS=%s TRAP=%s", quoted(s.App), quoted(s.path("app/pwn")), quoted(s.path("outside/file")), quoted(s.path("outside/victims")), quoted(s.path("trap.git")))
		for _, kv := range gitEnv() {
			words += " " + kv
		}
		said, err := ran(sh(run, words+"\n"+line+"\necho was run").CombinedOutput())
		patience := 30 // a busy machine is no hang
		if run == nil {
			before, patience = s.outside(), 3 // the line may well write there itself
		}
		if err != nil {
			return said, err
		}
		s.seen = s.used(g.Use, before, where, patience)
		return said, nil
	}
	a.Effect = func(s *Fixture) string { return s.seen }
	return a
}

// host runs a script of git's on the host, in the project.
func (s *Fixture) host(script string) (string, error) {
	cmd := exec.Command("/bin/sh", "-c", script) // allowed: the person's own git
	cmd.Dir, cmd.Env = s.App, append(append(os.Environ(), "HOME="+s.Home), gitEnv()...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return string(out), err
}

// used has the person's git do something, and says what came of it. where holds the repository, and patience is how many
// seconds one git may take.
func (s *Fixture) used(use, before, where string, patience int) string {
	g := fmt.Sprintf("g() { timeout %d git \"$@\" </dev/null; [ $? -ne 124 ] || echo hangs; }\n", patience)
	if said, err := s.host(g + use + "\n:"); err != nil || strings.Contains(said, "hangs\n") {
		return "git hangs outside"
	}
	if s.outside() != before {
		return "git outside ran or wrote something outside of the repository"
	}
	said, err := s.host(fmt.Sprintf(`g() { timeout %d git "$@" </dev/null; }; `, patience) + `g status && g fsck --strict --no-dangling --no-progress && g log --format=%s ` + then + ` && find ` + quoted(s.path(where+"/.git")) + ` -name '*.lock'`)
	switch {
	case err != nil:
		return "the repository is broken for git outside: " + firstLines(err.Error())
	case !strings.Contains(said, "\nsub\ntwo\none\n"):
		return "git outside sees another history"
	case strings.Contains(said, ".lock\n"):
		return "locks are left in the repository"
	}
	return ""
}

func firstLines(text string) string {
	if i := strings.Index(text, "fatal: "); i >= 0 {
		text = text[i:]
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// outside returns what there is in the home beside the project and its repositories.
func (s *Fixture) outside() string {
	var b strings.Builder
	_ = filepath.WalkDir(s.path("outside"), func(p string, d fs.DirEntry, err error) error {
		if err == nil {
			data, _ := os.ReadFile(p) // of a folder nothing
			fmt.Fprintf(&b, "%s %v %q\n", p, d.Type(), data)
		}
		return nil
	})
	return b.String()
}
