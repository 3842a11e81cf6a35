package attack

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/enr/inner/profile"
)

// repositories leave a repository in the project that git on the host is to obey. What
// counts is what the host's own git runs afterwards.
func repositories() []Attack {
	const evil = "git init -q %e && git -C %e -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; "
	return []Attack{
		left("gitlink-fsmonitor", "leave a repository with core.fsmonitor in the index of the project's, for git status", evil+"git -C %e config core.fsmonitor '%r'; git add %e", "-C", "%a", "status"),
		left("gitlink-deep", "the same, seven folders below the project", "mkdir -p a/b/c/d/e/f; "+strings.ReplaceAll(evil+"git -C %e config core.fsmonitor '%r'; git add %e", "%e", "a/b/c/d/e/f/g"), "-C", "%a", "status"),
		left("gitlink-include", "leave one that includes a file with core.fsmonitor", evil+"git config -f inc core.fsmonitor '%r'; git -C %e config include.path ../../inc; git add %e", "-C", "%a", "status"),
		left("gitlink-filter", "leave one with a filter, for git status", evil+"cd %e; echo '* filter=f' >.gitattributes; echo x >x; git add x; git config filter.f.clean '%r; cat'; echo y >x; cd ..; git add %e", "-C", "%a", "status"),
		left("nested-prompt", "leave one with core.fsmonitor, for the prompt of who enters it", evil+"git -C %e config core.fsmonitor '%r'", "-C", "%a/evil", "status"),
		left("nested-deep", "leave one far below the project, fifteen folders deep, for the prompt of who enters it", "mkdir -p a/b/c/d/e/f/g/h/i/j/k/l/m/n; "+strings.ReplaceAll(evil+"git -C %e config core.fsmonitor '%r'", "%e", "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o"), "-C", "%a/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o", "status"),
		left("nested-bare", "leave a bare one with core.fsmonitor and a work tree, for the same", "mkdir %e; cd %e; git init -q --bare .; git config core.bare false; git config core.worktree ..; git config core.fsmonitor '%r'", "-C", "%a/evil", "status"),
		left("nested-hook", "leave one with a hook, for git checkout in it", evil+"mkdir -p %e/.git/hooks; printf '#!/bin/sh\\n%r\\n' >%e/.git/hooks/post-checkout; chmod +x %e/.git/hooks/post-checkout", "-C", "%a/evil", "checkout", "-q", "-b", "x"),
		left("rebase-exec", "leave an unfinished rebase with a command, for git rebase --continue", "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m y; "+
			"GIT_SEQUENCE_EDITOR=\"printf 'break\\nexec %r\\n' >\" git -c user.name=a -c user.email=a@b rebase -q -i HEAD~1", "-C", "%a", "rebase", "--continue"),
		before(`mkdir tools && git config filter.f.clean './tools/clean.sh %f' && echo '* filter=f' >.gitattributes && printf '#!/bin/sh\ncat\n' >tools/clean.sh && chmod +x tools/clean.sh && echo x >x && git add x`,
			left("git-named-program", "change a program of the work tree that the project's git settings name", "printf '%r\\ncat\\n' >>tools/clean.sh; echo y >x", "-C", "%a", "status")),
		before(`mkdir tools && git config filter.f.clean 'sh tools/new.sh' && echo '* filter=f' >.gitattributes`,
			left("git-new-program", "make one that they name and that is not there", "printf '%r\\ncat\\n' >tools/new.sh; echo x >x", "-C", "%a", "add", "x")),
		before(`git config include.path ../one.conf && printf '[include]\n\tpath = two.conf\n' >one.conf && printf '[core]\n\thooksPath = .githooks\n' >two.conf && mkdir .githooks && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x`,
			left("git-included-hooks", "make a hook in a folder that a file names which an included file includes", "printf '#!/bin/sh\\n%r\\n' >.githooks/post-checkout; chmod +x .githooks/post-checkout", "-C", "%a", "checkout", "-q", "-b", "x")),
		left("git-uncovered", "move the project's git directory from a mount namespace without what covers it, and make another with core.fsmonitor, for git status", uncovered+"mv .git gone; git init -q .; git config core.fsmonitor '%r'", "-C", "%a", "status"),
		approvedWorktree(),
	}
}

// uncovered moves the .git of the current folder away from a mount namespace that is left with nothing but programs,
// where such a one can be made.
const uncovered = `PATH=$PATH:/usr/sbin unshare -rm sh -ec 'mount -t tmpfs tmpfs /tmp; mkdir /tmp/old /tmp/usr /tmp/proc; mount --rbind /usr /tmp/usr; mount --rbind /proc /tmp/proc
ln -s usr/bin usr/sbin usr/lib usr/lib64 /tmp; pivot_root /tmp /tmp/old; umount -l /old; mv .git gone'; test -e gone || `

// approvedWorktree makes a folder of the box's a linked worktree of another project, whose
// profiles would run there without a question: a .git file that leads to that repository,
// and the repository's own word for it.
func approvedWorktree() Attack {
	const tree = "other/.git/worktrees/tree/"
	return Attack{
		Name: "approved-worktree", Class: "files", What: "make a folder a worktree of another project that is allowed",
		Stage: func(s *Fixture) error {
			return errors.Join(
				s.put("other/.inner/profiles/agent.toml", "schema_version = \"1\"\n"),
				s.put(tree+"commondir", "../..\n"), s.put(tree+"gitdir", s.path("tree/.git")+"\n"),
			)
		},
		Try: func(t Trial) (string, error) {
			dir := filepath.Join(t.App, "evil")
			return "", errors.Join(
				os.Mkdir(dir, 0o755),
				os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: "+filepath.Join(t.Home, tree)+"\n"), 0o644),
				os.WriteFile(filepath.Join(t.Home, tree, "gitdir"), []byte(filepath.Join(dir, ".git")+"\n"), 0o644),
			)
		},
		Effect: func(s *Fixture) string {
			if p := profile.FindProject(filepath.Join(s.App, "evil")); p != nil && p.Of == s.path("other") {
				return "a folder of the box's counts as a worktree of another project"
			}
			return ""
		},
	}
}

// before has a script run in the project on the host, first of all.
func before(script string, a Attack) Attack {
	return a.first(func(s *Fixture) error {
		cmd := exec.Command("/bin/sh", "-euc", script)
		cmd.Dir, cmd.Env = s.App, append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1")
		return cmd.Run()
	})
}

// left has a script run in the project, and then git on the host. In both %e is the
// repository, %a the project and %r what git is to run.
func left(name, what, script string, git ...string) Attack {
	return Attack{
		Name: name, Class: "files", What: what, Declared: ownGitDir, Stage: watched("outside/ran"),
		Launcher: func(s *Fixture, run Run) (string, error) {
			words := strings.NewReplacer("%e", "evil", "%a", s.App, "%r", "echo "+s.Trial.Mark+" >>"+s.path("outside/ran"))
			out, err := s.script(run, words.Replace(script))
			if errors.Is(err, ErrNotStarted) {
				return out, err
			}
			// What ran so far ran where the script did.
			_ = os.Remove(s.path("outside/ran"))
			host := exec.Command("git")
			for _, word := range git {
				host.Args = append(host.Args, words.Replace(word))
			}
			host.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_EDITOR=true")
			host.Dir = filepath.Dir(s.App)
			_ = host.Run() // what it says is not what counts
			return out, err
		},
	}
}
