package attack

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
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
	return gather(t.Paths, func(p string) (string, error) { return "", add(p, t.Mark) })
}

// write returns the attack that appends to a file of the home.
func write(name, what, path string, declared reason) Attack {
	return Attack{Name: name, Class: "files", What: what, Try: addAll, Declared: declared, Stage: aimed(path)}
}

// existing returns an attack on a home in which a file is there already.
func existing(a Attack, name string) Attack { return a.first(puts("# mine\n", name)) }

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
		throughLink("link-out", "write through a link of the project that leads out", "outside/file", os.Symlink, homeWritable),
		throughLink("hard-link", "write through a hard link in the project to ~/.bashrc, made before the run", ".bashrc", os.Link, hardLinks),
		procRootWrite(), remount(), moveParent(),
	}
}

func movedStartup() Attack {
	return Attack{
		Name: "moved-startup", Class: "files", What: "append to start-up files in the project that BASH_ENV, ZDOTDIR and INPUTRC name", Try: addAll,
		Stage: func(s *Fixture) error {
			s.Env = append(s.Env, "BASH_ENV="+s.path("app/env.sh"), "ZDOTDIR="+s.path("app/z"), "INPUTRC=./inputrc")
			for _, name := range []string{"app/env.sh", "app/z/.zshenv", "app/inputrc"} {
				s.watch(name)
			}
			return puts("# mine\n", "app/env.sh", "app/z/.zshenv", "app/inputrc")(s)
		},
	}
}

// throughLink returns the attack that writes to a file of the home through a link in the
// project that was made before the run.
func throughLink(name, what, file string, link func(from, to string) error, declared reason) Attack {
	return Attack{
		Name: name, Class: "files", What: what, Declared: declared, Try: addAll,
		Stage: func(s *Fixture) error {
			s.target("app/link")
			return errors.Join(watched(file)(s), link(s.path(file), s.path("app/link")))
		},
	}
}

// procRoots are ways through /proc to the root folder.
func procRoots() []string {
	return []string{"/proc/self/root", "/proc/1/root", "/proc/1/cwd/../../../../../../../../..", "/proc/thread-self/root"}
}

func procRootWrite() Attack {
	return Attack{
		Name: "proc-root-write", Class: "files", What: "write through /proc/self/root, /proc/1/root and /proc/1/cwd", Declared: homeWritable,
		Stage: aimed("outside/file"),
		Try: func(t Trial) (string, error) {
			return gather(procRoots(), func(root string) (string, error) { return "", add(root+t.Paths[0], t.Mark) })
		},
	}
}

func remount() Attack {
	return Attack{
		Name: "remount", Class: "files", What: "make a read-only mount writable, also from a namespace of its own", Declared: homeWritable,
		Stage: aimed("outside/file"),
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
	none := func(*Fixture) error { return nil }
	repository := func(name string) stage { return func(s *Fixture) error { return s.repository(name) } }
	module := puts("[core]\n", "app/.git/modules/lib/config")
	hook := func(name, what, path string, made stage) Attack {
		return write(name, what, path, ownGitDir).first(made)
	}
	return []Attack{
		hook("git-hook", "make .git/hooks/pre-commit", "app/.git/hooks/pre-commit", none),
		hook("git-config", "append core.fsmonitor to .git/config", "app/.git/config", none),
		hook("git-commondir", "make .git/commondir, which leads git to another configuration", "app/.git/commondir", none),
		hook("git-attributes", "append to .git/info/attributes, which names filters", "app/.git/info/attributes", puts("", "app/.git/info/attributes")),
		hook("git-alternates", "append to objects/info/alternates", "app/.git/objects/info/alternates", puts("", "app/.git/objects/info/alternates")),
		hook("git-worktree-config", "make .git/config.worktree where git would read it", "app/.git/config.worktree",
			puts("[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n", "app/.git/config")),
		hook("git-nested-hook", "make a hook of a repository in the project", "app/sub/.git/hooks/pre-commit", repository("app/sub")),
		hook("git-deep-hook", "make a hook of a repository three folders below the project", "app/a/b/c/.git/hooks/pre-commit", repository("app/a/b/c")),
		hook("git-submodule-hook", "make a hook of a submodule", "app/.git/modules/lib/hooks/pre-commit", module),
		hook("git-submodule-config", "append to the configuration of a submodule", "app/.git/modules/lib/config", module),
		hook("git-worktree-pointer", "change where a linked worktree leads", "app/.git/worktrees/x/gitdir", puts("/nowhere\n", "app/.git/worktrees/x/gitdir")),
		hook("git-submodule-pointer", "change the .git file of a submodule", "app/lib/.git", puts("gitdir: ../.git/modules/lib\n", "app/lib/.git")).first(module),
		renaming(write("git-rename", "move .git away and make another", "app/.git/config", ownGitDir), ".git"),
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
	each := staged(write("config-each", "append to one file of each kind of tool in the table, three folders below the project", "app/a/b/c/.envrc", projectConfig), "app/a/b/c/.envrc")
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
		own := each.Stage
		each.Stage = func(s *Fixture) error { return errors.Join(own(s), aimed(f)(s)) }
	}
	link := write("config-link", "exchange a .claude that is a link for a folder of its own", "app/.claude/settings.json", projectConfig)
	link.Refused = true // of a box that makes containers, whose mounts the launcher cannot add to
	link = link.first(puts("{}\n", "app/shared/settings.json"), func(s *Fixture) error { return os.Symlink("shared", s.path("app/.claude")) })
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

func projectConfig(rc profile.RunConfig) string { return allows("project-config")(rc) }

// staged returns an attack on a home in which a file is there already, and empty.
func staged(a Attack, name string) Attack { return a.first(puts("{}\n", name)) }

// after leaves a file in the project. What counts is whether it is there when the run
// has ended.
func after(name, what, path string) Attack {
	return Attack{
		Name: name, Class: "files", What: what, Declared: projectConfig, Stage: watched("app/" + path),
		Launcher: func(s *Fixture, run Run) (string, error) {
			p := quoted(s.path("app/" + path))
			return s.script(run, "mkdir -p $(dirname "+p+"); echo "+s.Trial.Mark+" >"+p)
		},
	}
}
