package attack

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/profile"
)

// add appends the mark to a file, which it makes with its folders.
func add(path, mark string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o755)
	if err != nil {
		return err
	}
	_, err = f.WriteString("\n" + mark + "\n")
	return errors.Join(err, f.Close())
}

// addAll appends the mark to all files it was told.
func addAll(t Trial) (string, error) {
	var errs []error
	for _, p := range t.Paths {
		errs = append(errs, add(p, t.Mark))
	}
	return "", errors.Join(errs...)
}

// write returns the attack that appends to a file of the home.
func write(name, what, path string, declared func(profile.RunConfig) string) Attack {
	return Attack{
		Name: name, Class: "files", What: what, Try: addAll, Declared: declared,
		Stage: func(s *Fixture) error {
			s.watch(path)
			return nil
		},
	}
}

// existing returns an attack on a home in which a file is there already.
func existing(a Attack, name string) Attack {
	was := a.Stage
	a.Stage = func(s *Fixture) error { return errors.Join(s.put(name, "# mine\n"), was(s)) }
	return a
}

// homeWritable says that the profile makes the home writable.
func homeWritable(rc profile.RunConfig) string {
	for _, m := range rc.Mounts {
		if m.Mode == profile.RW && m.Source == rc.HomeDir {
			return "the home is mounted rw"
		}
	}
	return ""
}

func files() []Attack {
	return []Attack{
		write("write-home", "write a file of the home outside of the project", "outside/file", homeWritable),
		movedStartup(),
		write("bashrc", "append to ~/.bashrc", ".bashrc", nil),
		write("profile-file", "make a ~/.profile", ".profile", homeWritable),
		write("fish-config", "append to the configuration of fish", ".config/fish/config.fish", nil),
		write("systemd-unit", "make a unit of the user's service manager", ".config/systemd/user/x.service", homeWritable),
		write("autostart", "make an entry that starts with the desktop", ".config/autostart/x.desktop", homeWritable),
		write("dbus-service", "make a service that the bus starts", ".local/share/dbus-1/services/x.service", homeWritable),
		write("path-program", "put a program into ~/.local/bin", ".local/bin/ls", nil),
		existing(write("path-program-cargo", "put a program into ~/.cargo/bin", ".cargo/bin/ls", homeWritable), ".cargo/bin/tool"),
		existing(write("path-program-go", "put a program into ~/go/bin", "go/bin/ls", homeWritable), "go/bin/tool"),
		existing(write("zshenv", "append to ~/.zshenv", ".zshenv", nil), ".zshenv"),
		existing(write("ssh-rc", "make a ~/.ssh/rc, which a login runs", ".ssh/rc", nil), ".ssh/known_hosts"),
		write("path-program-bin", "put a program into a new ~/bin", "bin/ls", homeWritable),
		write("authorized-keys", "append to ~/.ssh/authorized_keys", ".ssh/authorized_keys", nil),
		write("user-gitconfig", "append to ~/.gitconfig", ".gitconfig", nil),
		write("inner-profile", "make a profile in the project", "app/.inner/profiles/shell.toml", nil),
		write("inner-config", "make a config.toml of the project", "app/.inner/config.toml", nil),
		write("inner-global-profile", "make a profile of the user", ".inner/profiles/shell.toml", nil),
		write("inner-user-config", "write the user's config.toml", ".inner/config.toml", nil),
		write("inner-shim", "put a program into the shim folder", ".inner/shims/bin/ls", nil),
		write("inner-trust", "write a record of trust", ".inner/trust/x", nil),
		renaming(write("inner-rename", "move .inner away and make another", "app/.inner/profiles/mine.toml", nil), ".inner"),
		linkOut(), hardLink(), procRootWrite(), remount(), moveParent(),
	}
}

func movedStartup() Attack {
	return Attack{
		Name: "moved-startup", Class: "files", What: "append to start-up files in the project that BASH_ENV, ZDOTDIR and INPUTRC name", Try: addAll,
		Stage: func(s *Fixture) error {
			s.Env = append(s.Env, "BASH_ENV="+s.path("app/env.sh"), "ZDOTDIR="+s.path("app/z"), "INPUTRC=./inputrc")
			var errs []error
			for _, name := range []string{"app/env.sh", "app/z/.zshenv", "app/inputrc"} {
				errs = append(errs, s.put(name, "# mine\n"))
				s.watch(name)
			}
			return errors.Join(errs...)
		},
	}
}

func linkOut() Attack {
	return Attack{
		Name: "link-out", Class: "files", What: "write through a link of the project that leads out", Declared: homeWritable,
		Stage: func(s *Fixture) error {
			s.watched = append(s.watched, s.path("outside/file"))
			s.target("app/link")
			return os.Symlink(s.path("outside/file"), s.path("app/link"))
		},
		Try: addAll,
	}
}

func hardLink() Attack {
	return Attack{
		Name: "hard-link", Class: "files", What: "write through a hard link in the project to ~/.bashrc, made before the run",
		Stage: func(s *Fixture) error {
			s.watched = append(s.watched, s.path(".bashrc"))
			s.target("app/link")
			return os.Link(s.path(".bashrc"), s.path("app/link"))
		},
		Try: addAll,
	}
}

func procRootWrite() Attack {
	return Attack{
		Name: "proc-root-write", Class: "files", What: "write through /proc/self/root, /proc/1/root and /proc/1/cwd", Declared: homeWritable,
		Stage: func(s *Fixture) error {
			s.watch("outside/file")
			return nil
		},
		Try: func(t Trial) (string, error) {
			var errs []error
			for _, root := range []string{"/proc/self/root", "/proc/1/root", "/proc/1/cwd/../../../../../../../../..", "/proc/thread-self/root"} {
				errs = append(errs, add(root+t.Paths[0], t.Mark))
			}
			return "", errors.Join(errs...)
		},
	}
}

func remount() Attack {
	return Attack{
		Name: "remount", Class: "files", What: "make a read-only mount writable, also from a namespace of its own", Declared: homeWritable,
		Stage: func(s *Fixture) error {
			s.watch("outside/file")
			return nil
		},
		Try: func(t Trial) (string, error) {
			const script = `for d in "$2" "$3" /; do mount -o remount,rw,bind "$d"; done; umount -l "$2"; echo "$1" >>"$4"`
			return twice(script, t.Mark, filepath.Dir(t.Paths[0]), t.Home, t.Paths[0])
		},
	}
}

func moveParent() Attack {
	return Attack{
		Name: "move-parent", Class: "files", What: "move the folder that holds what is protected, and put another in its place",
		Stage: func(s *Fixture) error {
			s.watch("app/sub/.git/hooks/pre-commit")
			return s.repository("app/sub")
		},
		Try: func(t Trial) (string, error) {
			sub := filepath.Join(t.App, "sub")
			if err := os.Rename(sub, sub+"-moved"); err != nil {
				return "", err
			}
			return "", add(t.Paths[0], t.Mark)
		},
	}
}

// renaming has an attack move a folder of the project away before it makes its target anew.
func renaming(a Attack, name string) Attack {
	a.Try = func(t Trial) (string, error) {
		at := filepath.Join(t.App, name)
		if err := os.Rename(at, at+".moved"); err != nil {
			return "", err
		}
		return addAll(t)
	}
	return a
}

// twice runs a script as it is and then, where the kernel permits it, as root of a user
// namespace with mounts of its own.
func twice(script string, args ...string) (string, error) {
	run := func(own bool) (string, error) {
		cmd := exec.Command("/bin/sh", append([]string{"-c", script, "sh"}, args...)...) // allowed: the attack is a script
		if own {
			cmd.SysProcAttr = ownNamespaces()
		}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	said, err := run(false)
	more, err2 := run(true)
	return said + more, errors.Join(err, err2)
}

// gits returns attacks on the files of a repository that git on the host runs or obeys.
func gits() []Attack {
	rw := func(rc profile.RunConfig) string {
		if rc.GitDir == "rw" {
			return `git_dir = "rw"`
		}
		return ""
	}
	hook := func(name, what, path string, stage func(*Fixture) error) Attack {
		a := write(name, what, path, rw)
		watch := a.Stage
		a.Stage = func(s *Fixture) error {
			if err := stage(s); err != nil {
				return err
			}
			return watch(s)
		}
		return a
	}
	none := func(*Fixture) error { return nil }
	return []Attack{
		hook("git-hook", "make .git/hooks/pre-commit", "app/.git/hooks/pre-commit", none),
		hook("git-config", "append core.fsmonitor to .git/config", "app/.git/config", none),
		hook("git-commondir", "make .git/commondir, which leads git to another configuration", "app/.git/commondir", none),
		hook("git-attributes", "append to .git/info/attributes, which names filters", "app/.git/info/attributes", func(s *Fixture) error { return s.put("app/.git/info/attributes", "") }),
		hook("git-alternates", "append to objects/info/alternates", "app/.git/objects/info/alternates", func(s *Fixture) error { return s.put("app/.git/objects/info/alternates", "") }),
		hook("git-worktree-config", "make .git/config.worktree where git would read it", "app/.git/config.worktree", func(s *Fixture) error {
			return s.put("app/.git/config", "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n")
		}),
		hook("git-nested-hook", "make a hook of a repository in the project", "app/sub/.git/hooks/pre-commit", func(s *Fixture) error { return s.repository("app/sub") }),
		hook("git-deep-hook", "make a hook of a repository three folders below the project", "app/a/b/c/.git/hooks/pre-commit", func(s *Fixture) error { return s.repository("app/a/b/c") }),
		hook("git-submodule-hook", "make a hook of a submodule", "app/.git/modules/lib/hooks/pre-commit", func(s *Fixture) error { return s.put("app/.git/modules/lib/config", "[core]\n") }),
		hook("git-submodule-config", "append to the configuration of a submodule", "app/.git/modules/lib/config", func(s *Fixture) error { return s.put("app/.git/modules/lib/config", "[core]\n") }),
		hook("git-worktree-pointer", "change where a linked worktree leads", "app/.git/worktrees/x/gitdir", func(s *Fixture) error { return s.put("app/.git/worktrees/x/gitdir", "/nowhere\n") }),
		hook("git-submodule-pointer", "change the .git file of a submodule", "app/lib/.git", func(s *Fixture) error {
			return errors.Join(s.put("app/.git/modules/lib/config", "[core]\n"), s.put("app/lib/.git", "gitdir: ../.git/modules/lib\n"))
		}),
		renaming(write("git-rename", "move .git away and make another", "app/.git/config", rw), ".git"),
	}
}

// configs attack what tools on the host obey in a project: what is there, and folders
// that are not, inside; what is new, by a run that ends.
func configs() []Attack {
	var list []Attack
	for _, dir := range sensitive.Made() {
		list = append(list, write("config"+strings.Replace(dir, ".", "-", 1), "make a file in "+dir+" of the project", "app/"+dir+"/new", projectConfig))
	}
	for _, f := range []string{".mcp.json", ".envrc", "mise.toml"} {
		name := "config-" + strings.Trim(strings.ReplaceAll(f, ".", "-"), "-")
		list = append(list, staged(write(name, "append to "+f+" of the project", "app/"+f, projectConfig), "app/"+f))
	}
	each := write("config-each", "append to one file of each kind of tool in the table, three folders below the project", "app/a/b/c/.envrc", projectConfig)
	each = staged(each, "app/a/b/c/.envrc")
	done := map[string]bool{}
	for _, r := range sensitive.Rows() {
		if r.Told || r.Where != sensitive.Anywhere || done[r.Tool] || r.Tool == "inner" {
			continue
		}
		done[r.Tool] = true
		f := "app/a/b/c/" + strings.Replace(r.Names[0], "*", "x", 1)
		if strings.HasSuffix(f, "/") {
			f += "there"
		}
		each = staged(each, f)
		was := each.Stage
		each.Stage = func(s *Fixture) error {
			err := was(s)
			s.watch(f)
			return err
		}
	}
	link := write("config-link", "exchange a .claude that is a link for a folder of its own", "app/.claude/settings.json", projectConfig)
	link.Refused = true // of a box that makes containers, whose mounts the launcher cannot add to
	watch := link.Stage
	link.Stage = func(s *Fixture) error {
		return errors.Join(s.put("app/shared/settings.json", "{}\n"), os.Symlink("shared", s.path("app/.claude")), watch(s))
	}
	link.Try = func(t Trial) (string, error) {
		err := os.Remove(filepath.Dir(t.Paths[0]))
		return "", errors.Join(err, add(t.Paths[0], t.Mark))
	}
	return append(list, each, link,
		after("config-husky", "leave a hook of husky that was not there", ".husky/pre-commit"),
		after("config-new-file", "leave a .mcp.json that was not there", ".mcp.json"),
		after("config-new-deep", "leave a .envrc five folders below the project", "a/b/c/d/e/.envrc"),
		after("config-new-folder", "leave settings of an editor in a package of the project", "pkg/.vscode/tasks.json"))
}

func projectConfig(rc profile.RunConfig) string {
	if slices.Contains(rc.Allow, "project-config") {
		return "project-config"
	}
	return ""
}

// staged returns an attack on a home in which a file is there already, and empty.
func staged(a Attack, name string) Attack {
	was := a.Stage
	a.Stage = func(s *Fixture) error { return errors.Join(s.put(name, "{}\n"), was(s)) }
	return a
}

// after leaves a file in the project. What counts is whether it is there when the run
// has ended.
func after(name, what, path string) Attack {
	return Attack{
		Name: name, Class: "files", What: what, Declared: projectConfig,
		Stage: func(s *Fixture) error {
			s.watched = append(s.watched, s.path("app/"+path))
			return nil
		},
		Launcher: func(s *Fixture, run func(...string) *exec.Cmd) (string, error) {
			if run == nil {
				run = func(args ...string) *exec.Cmd { return exec.Command("/bin/sh", args...) }
			}
			p := quoted(s.path("app/" + path))
			out, err := run("-c", "mkdir -p $(dirname "+p+"); echo "+s.Trial.Mark+" >"+p+"; echo was run").CombinedOutput()
			if !strings.Contains(string(out), "was run") {
				return string(out), ErrNotStarted
			}
			return string(out), err
		},
	}
}
