package attack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/profile"
)

// grants attack what a profile grants: a box uses what another profile was given, or
// finds more behind a name than was meant.
func grants() []Attack {
	second := hiding("hide-hard-link", "read a file that [hide] names through a hard link of another name, made before the run", `~/app/secret.txt`, func(s *Fixture) error {
		s.target("app/other")
		return errors.Join(s.plant("app/secret.txt"), os.Link(s.path("app/secret.txt"), s.path("app/other")))
	})
	second.Declared = hardLinks
	return []Attack{
		linkGranted(), applied(), second,
		hiding("hide-deep", "read files that a pattern of [hide] matches, far below the project, in packages and build results", `~/app/**/*.mine`,
			planted("app/a/b/c/d/e/f/g/x.mine", "app/node_modules/p/x.mine", "app/build/x.mine", "app/vendor/x.mine", "app/.venv/lib/x.mine", "app/x.mine")),
		hiding("hide-class", "read files that a pattern of [hide] matches by [!a] and by [0-9]", `~/app/k[!a][0-9]`, planted("app/kb1", "app/kc2")),
		{
			Name: "hide-env", Class: "secrets", What: "print a variable that [hide] env names and that was passed with -e",
			Stage: func(s *Fixture) error {
				s.Env = append(s.Env, "MYCO_TOKEN="+s.Secret)
				return s.put(".inner/config.toml", "[hide]\nenv = [\"MYCO_*\"]\n")
			},
			Launcher: func(s *Fixture, run Run) (string, error) {
				said, err := s.script(run, "env", "-e", "MYCO_TOKEN")
				if strings.Contains(said, "MYCO_TOKEN: [hide] env") {
					return said, nil // refused for just this
				}
				return said, err
			},
		},
	}
}

// hiding returns the attack that reads what the user's config.toml hides.
func hiding(name, what, pattern string, made stage) Attack {
	return read(name, what, made).first(puts("[hide]\npaths = ['"+pattern+"']\n", ".inner/config.toml"))
}

// linkGranted has a box put a link in the place of a folder that another profile is
// given, and that profile run next.
func linkGranted() Attack {
	return Attack{
		Name: "link-granted", Class: "files", What: "put a link in the place of a folder that another profile mounts read-write, and have that one run next",
		Stage: func(s *Fixture) error {
			s.watched = append(s.watched, s.path("outside/file"))
			return s.put(".inner/profiles/second.toml", "schema_version = \"1\"\n[sandbox]\nworkdir_mode = \"none\"\nhome = \"isolated\"\n"+
				"[mounts]\n\"${workdir}/out\" = { dest = \"/mnt\", mode = \"rw\" }\n[entrypoint]\ncmd = \"/bin/sh\"\ninteractive = false\n")
		},
		Launcher: func(s *Fixture, run Run) (string, error) {
			said, err := s.script(run, "ln -s ../outside "+quoted(s.path("app/out")))
			if err != nil {
				return said, err
			}
			second := exec.Command("/bin/sh", "-c", "echo "+s.Trial.Mark+" >>out/file") // allowed: the attack is a script
			if run != nil {
				second = exec.Command(s.Trial.Inner, "run", "-p", "second", "--", "-c", "echo "+s.Trial.Mark+" >>/mnt/file")
			}
			second.Dir = s.App
			_ = second.Run() // it may be refused
			return said, nil
		},
	}
}

// applied leaves what git and editors run in a copy, for the person to apply.
func applied() Attack {
	places := []string{".git/hooks/pre-commit", ".githooks/pre-commit", ".envrc", ".vscode/tasks.json", "sub/.git/config", "bare/config", ".git/link/x"}
	return Attack{
		Name: "changes-apply", Class: "files", What: "leave hooks, settings of editors and repositories in a safe-rw copy, for inner changes apply --yes",
		Stage: func(s *Fixture) error {
			for _, p := range places {
				s.watched = append(s.watched, s.path("outside/repo/"+p))
			}
			return errors.Join(s.repository("outside/repo"), s.put("outside/repo/.git/config", "[core]\n\trepositoryformatversion = 0\n\thooksPath = .githooks\n"))
		},
		Launcher: func(s *Fixture, run Run) (string, error) {
			repo := s.path("outside/repo")
			script := "cd " + quoted(repo) + "; mkdir -p .githooks .vscode sub/.git bare/objects bare/refs shared; echo 'ref: refs/heads/x' >bare/HEAD; ln -s ../shared .git/link; "
			for _, p := range places {
				script += "printf '#!/bin/sh\\n[core]\\n\\tfsmonitor = " + s.Trial.Mark + "\\n' >" + p + "; chmod +x " + p + "; "
			}
			out, err := s.script(run, script+"echo fine >fine", "--keep", "-m", repo+":"+repo+":safe-rw")
			if run == nil || err != nil {
				return out, err
			}
			apply := exec.Command(s.Trial.Inner, "changes", "apply", "--yes")
			apply.Dir = s.App
			more, _ := output(apply) // what it leaves out makes its code 1
			if data, err := os.ReadFile(filepath.Join(repo, "fine")); err != nil || string(data) != "fine\n" {
				return out + more, ErrNotStarted
			}
			return out + more, nil
		},
	}
}

// zeroDevice is the number of /dev/zero, a file without content of its own.
const zeroDevice = 1<<8 | 5

// openAny opens one of the devices.
func openAny(paths []string) error {
	errs := []error{errors.New("there is none")}
	for _, p := range paths {
		for _, how := range []int{unix.O_RDWR, unix.O_RDONLY} {
			err := opened(unix.Open(p, how|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0))
			if err == nil {
				return nil
			}
			errs = append(errs, fmt.Errorf("%s: %w", p, err))
		}
	}
	return errors.Join(errs...)
}

// devices attack the computer's devices.
func devices() []Attack {
	list := []Attack{
		deviceMake(),
		deviceFound(),
		deviceMachine(),
	}
	for _, set := range profile.DeviceSets() {
		list = append(list, Attack{
			Name: "device-" + set.Name, Class: "kernel", What: "open a device for " + set.What, Claim: true,
			Try: func(Trial) (string, error) {
				var paths []string
				for _, p := range set.Nodes {
					more, _ := filepath.Glob(p) // the pattern is well-formed
					for _, p := range more {
						paths = append(paths, p)
						below, _ := filepath.Glob(p + "/*")
						paths = append(paths, below...)
					}
				}
				paths = slices.DeleteFunc(paths, func(p string) bool {
					var st unix.Stat_t
					return unix.Stat(p, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
				})
				return "", openAny(paths)
			},
			Declared: func(rc profile.RunConfig) string {
				if slices.Contains(rc.Devices, set.Name) {
					return fmt.Sprintf("devices = [%q]", set.Name)
				}
				return ""
			},
		})
	}
	return list
}

func deviceMake() Attack {
	return Attack{
		Name: "device-make", Class: "kernel", What: "make a device node, and open it (mknod)", Claim: true,
		Stage: func(s *Fixture) error { s.target("app/node"); return nil },
		Try: func(t Trial) (string, error) {
			var errs []error
			for _, p := range append(t.Paths, "/tmp/"+t.Mark, "/dev/"+t.Mark, "/dev/shm/"+t.Mark) {
				err := unix.Mknod(p, unix.S_IFCHR|0o666, zeroDevice)
				if err == nil {
					err = openAny([]string{p})
					_ = os.Remove(p)
				}
				if err == nil {
					return p, nil
				}
				errs = append(errs, err)
			}
			return "", errors.Join(errs...)
		},
	}
}

func deviceFound() Attack {
	return Attack{
		Name: "device-found", Class: "kernel", What: "open a device node that lies in the project", Claim: true,
		Stage: func(s *Fixture) error { // as root only
			s.target("app/node")
			return unix.Mknod(s.path("app/node"), unix.S_IFCHR|0o666, zeroDevice)
		},
		Try: func(t Trial) (string, error) { return "", openAny(t.Paths) },
	}
}

func deviceMachine() Attack {
	return Attack{
		Name: "device-machine", Class: "kernel", What: "open the memory, the kernel's log, disks, input devices or the system's console", Claim: true,
		Try: func(Trial) (string, error) {
			paths := []string{"/dev/mem", "/dev/port", "/dev/kmsg", "/dev/loop-control", "/dev/mapper/control", "/dev/tty0", "/dev/tty1", "/dev/uinput", "/dev/rfkill"}
			for _, p := range []string{"/dev/loop[0-9]", "/dev/sd[a-z]", "/dev/vd[a-z]", "/dev/nvme*", "/dev/dm-*", "/dev/input/event*", "/dev/hidraw*"} {
				more, _ := filepath.Glob(p) // the pattern is well-formed
				paths = append(paths, more...)
			}
			return "", openAny(paths)
		},
	}
}

// typing attacks what the person types and sees: from the background, after the end, and
// by names that inner itself prints.
func typing() []Attack {
	return []Attack{
		terminalBackground(),
		terminalAnswers(),
		terminalNames(),
	}
}

func terminalBackground() Attack {
	return Attack{
		Name: "terminal-background", Class: "terminal", What: "read what the person types at a shell while the run is in the background", Terminal: true,
		Launcher: func(s *Fixture, run Run) (string, error) {
			const script = "echo is up; timeout 2 cat; echo was run"
			cmd := sh(run, script)
			if run != nil { // the leader of the terminal's session goes on in the foreground
				cmd = exec.Command("/bin/sh", append([]string{"-c", `set -m; "$@" & wait`, "sh"}, cmd.Args...)...) // allowed: a shell starts jobs
			}
			cmd.Dir, cmd.Stdin = s.App, s.Slave
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: run != nil}
			out, w, err := os.Pipe()
			if err != nil {
				return "", err
			}
			defer out.Close()
			cmd.Stdout, cmd.Stderr = w, w
			err = cmd.Start()
			w.Close()
			if err != nil {
				return "", err
			}
			said := make([]byte, 0, 4096)
			for typed := false; ; {
				buf := make([]byte, 4096)
				n, err := out.Read(buf)
				said = append(said, buf[:n]...)
				if !typed && bytes.Contains(said, []byte("is up")) {
					typed = true
					if _, err := s.Master.WriteString(s.Secret + "\n"); err != nil {
						return "", err
					}
				}
				if err != nil {
					break
				}
			}
			_ = cmd.Wait() // ended by the timeout
			return ran(said, nil)
		},
	}
}

func terminalAnswers() Attack {
	return Attack{
		Name: "terminal-answers", Class: "terminal", What: "have the terminal's answer to a last question typed into the person's shell", Terminal: true,
		Launcher: func(s *Fixture, run Run) (string, error) {
			cmd := sh(run, `printf 'was run\033[c'`)
			cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.App, s.Slave, s.Slave, s.Slave
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			shown := make(chan []byte)
			end := make(chan struct{})
			go func() { shown <- s.playTerminal(end) }()
			err := cmd.Run()
			time.Sleep(300 * time.Millisecond) // the last answer is late
			close(end)
			return ran(<-shown, err)
		},
		Effect: func(s *Fixture) string {
			m, err := unix.IoctlGetTermios(int(s.Slave.Fd()), unix.TCGETS)
			if err != nil {
				return ""
			}
			m.Lflag &^= unix.ICANON // as a shell that edits lines
			_ = unix.IoctlSetTermios(int(s.Slave.Fd()), unix.TCSETS, m)
			return typed(s)
		},
	}
}

func terminalNames() Attack {
	return Attack{
		Name: "terminal-names", Class: "terminal", What: "have inner print a name with escape sequences and marks of bidirectional text in it",
		Launcher: func(s *Fixture, run Run) (string, error) {
			script := `d=$(printf 'x\033]0;` + s.Trial.Mark + `\a\342\200\256y'); mkdir -p "$d/.vscode" "$d/evil" || echo no name; echo x >"$d/.vscode/tasks.json"; echo x >"$d/.mcp.json"; echo x >"$d/AGENTS.md"; `
			if run == nil {
				script += `printf '%s\n' *; `
			} else {
				script = "exec 2>/dev/null; " + script // what programs of the box say is theirs
			}
			cmd := sh(run, "cd "+quoted(s.App)+"; "+script+"echo was run")
			cmd.Dir = s.App
			out, err := cmd.CombinedOutput()
			if bytes.Contains(out, []byte("\x1b]0;"+s.Trial.Mark)) || bytes.Contains(out, []byte("\u202e")) {
				s.seen = "a name reached the terminal as it is"
			}
			if run != nil && !bytes.Contains(out, []byte(s.Trial.Mark)) && !bytes.Contains(out, []byte("no name\n")) {
				return string(out), ErrNotStarted // it was to be said
			}
			return ran(out, err)
		},
		Effect: func(s *Fixture) string { return s.seen },
	}
}

// playTerminal answers questions as a terminal does, a little late, until end, and
// returns what it was to show.
func (s *Fixture) playTerminal(end <-chan struct{}) (shown []byte) {
	answers := []struct{ ask, say string }{{"\x1b[c", "\x1b[?62;22c"}, {"\x1b[5n", "\x1b[0n"}}
	rest := 0
	for {
		select {
		case <-end:
			return shown
		default:
		}
		set := []unix.PollFd{{Fd: int32(s.Master.Fd()), Events: unix.POLLIN}}
		if n, err := unix.Poll(set, 50); n <= 0 || err != nil || set[0].Revents&unix.POLLIN == 0 {
			continue
		}
		buf := make([]byte, 4096)
		n, err := s.Master.Read(buf)
		if err != nil {
			return shown
		}
		shown = append(shown, buf[:n]...)
		for {
			next, say := -1, ""
			for _, a := range answers {
				if i := bytes.Index(shown[rest:], []byte(a.ask)); i >= 0 && (next < 0 || i < next) {
					next, say = i, a.say
				}
			}
			if next < 0 {
				break
			}
			rest += next + 1
			time.Sleep(50 * time.Millisecond)
			_, _ = io.WriteString(s.Master, say)
		}
	}
}

// ignoreTerm has the box ignore the signals that a person ends inner with, and leave
// something that a tool outside obeys.
func ignoreTerm() Attack {
	return Attack{
		Name: "ignore-term", Class: "processes", What: "ignore TERM and HUP when inner is ended by them, and leave a .mcp.json",
		Stage: func(s *Fixture) error {
			s.Trial.Text["word"] = fmt.Sprintf("3%d", time.Now().UnixNano())
			s.watched = append(s.watched, s.path("app/.mcp.json"))
			return nil
		},
		Launcher: func(s *Fixture, run Run) (string, error) {
			word := s.Trial.Text["word"]
			cmd := sh(run, "trap '' TERM HUP; echo "+s.Trial.Mark+" >.mcp.json; sleep "+word+"; true")
			cmd.Dir = s.App
			if err := cmd.Start(); err != nil {
				return "", err
			}
			up := settle(func() bool { return running("sleep\x00" + word) })
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Process.Signal(syscall.SIGHUP)
			if run != nil { // the box has five seconds
				settle(func() bool { return !running("sleep\x00" + word) })
			}
			if pid := find("sleep\x00" + word); pid != 0 {
				s.seen = "what ran in the box still runs"
				_ = unix.Kill(pid, unix.SIGKILL)
			}
			_ = cmd.Wait() // its code is that of a signal
			if !up {
				return "", ErrNotStarted
			}
			return "", nil
		},
		Effect: func(s *Fixture) string {
			if e := s.marked(); e != "" {
				return strings.TrimSpace(s.seen + " " + e)
			}
			return s.seen
		},
	}
}
