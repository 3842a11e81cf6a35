package attack

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// launchers attack how inner starts a box, and what it leaves.
func launchers() []Attack {
	// Names of programs inner starts on the host, or could.
	helpers := []string{"git", "newuidmap", "newgidmap", "xdg-dbus-proxy", "unshare", "mount", "systemd-run", "claude", "podman"}
	return []Attack{
		killLauncher(),
		ignoreTerm(),
		fake("fake-bwrap", "put a program called bwrap first on PATH", "", "bwrap"),
		fake("fake-bwrap-folder", "put a program called bwrap into the working folder, and that folder first on PATH", ".:", "bwrap"),
		fake("fake-helpers", "put programs called git, newuidmap and so on first on PATH", "", helpers...),
		plantedLink(),
		{
			Name: "dash-arguments", Class: "files", What: "give a program arguments that bwrap would take for options",
			Stage: watched("outside/ran"),
			Launcher: func(s *Fixture, run Run) (string, error) {
				args := []string{"--bind", "/", "/", "/bin/sh", "-c", "echo " + s.Trial.Mark + " >" + quoted(s.path("outside/ran"))}
				if run == nil {
					run = func(args ...string) *exec.Cmd {
						return exec.Command("bwrap", append([]string{"--ro-bind", "/", "/"}, args...)...)
					}
				}
				return output(run(args...))
			},
		},
		{
			Name: "planted-stage", Class: "files", What: "have inner put what it stages where a planted link leads",
			Stage: func(s *Fixture) error {
				if err := os.MkdirAll(s.path("outside/made"), 0o700); err != nil {
					return err
				}
				return os.Symlink(s.path("outside/made"), filepath.Join(s.Run, "inner"))
			},
			Effect: madeOutside,
			Launcher: func(s *Fixture, run Run) (string, error) {
				cmd := exec.Command("mkdir", "-p", filepath.Join(s.Run, "inner", "run"))
				if run != nil {
					cmd = run("-c", "true")
				}
				return output(cmd)
			},
		},
		leftBehind(),
		fillRuntime(),
		race(),
	}
}

// fake returns the attack that has a program of its own run in the place of one that
// inner needs.
func fake(name, what, before string, programs ...string) Attack {
	return Attack{
		Name: name, Class: "processes", What: what,
		Stage: func(s *Fixture) error {
			s.watched = append(s.watched, s.path("outside/ran"))
			where := "app/bin/"
			if before != "" {
				where = "app/"
			}
			s.Env = append(s.Env, "PATH="+before+s.path("app/bin")+":"+os.Getenv("PATH"))
			for _, p := range programs {
				if err := s.put(where+p, "#!/bin/sh\necho "+s.Trial.Mark+" >"+quoted(s.path("outside/ran"))+"\n"); err != nil {
					return err
				}
				if err := os.Chmod(s.path(where+p), 0o700); err != nil { // allowed: it is to be run
					return err
				}
			}
			return nil
		},
		Launcher: func(s *Fixture, run Run) (string, error) {
			cmd := exec.Command("/bin/sh", "-c", programs[0]+" --version") // allowed: a shell takes the name from PATH
			if run != nil {
				cmd = run("-c", "true")
			}
			cmd.Dir = s.App
			return output(cmd)
		},
	}
}

func madeOutside(s *Fixture) string {
	if list, err := os.ReadDir(s.path("outside/made")); err == nil && len(list) > 0 {
		return s.path("outside/made/"+list[0].Name()) + " was made"
	}
	return ""
}

func plantedLink() Attack {
	return Attack{
		Name: "planted-link", Class: "files", What: "have bwrap make a mount point through a planted link (CVE-2026-87766)",
		Stage: func(s *Fixture) error {
			if err := os.MkdirAll(s.path("outside/made"), 0o700); err != nil {
				return err
			}
			s.target("app/.vscode")
			return os.Symlink("/oldroot"+s.path("outside/made"), s.path("app/.vscode"))
		},
		Effect: madeOutside,
		Launcher: func(s *Fixture, run Run) (string, error) {
			if run != nil {
				return output(run("-c", "true"))
			}
			return output(exec.Command("bwrap", "--dev-bind", "/", "/", "--bind", s.App, s.App, "--tmpfs", s.path("app/.vscode/x"), "true"))
		},
	}
}

// killLauncher kills inner and wants what runs in the box to be gone: the pair
// of a PID namespace and the death signal.
func killLauncher() Attack {
	return Attack{
		Name: "kill-launcher", Class: "processes", What: "outlive inner, when that is killed",
		Stage: func(s *Fixture) error {
			s.Trial.Text["word"] = fmt.Sprintf("1%d", time.Now().UnixNano())
			return nil
		},
		Launcher: func(s *Fixture, run Run) (string, error) {
			word := s.Trial.Text["word"]
			if err := killed(sh(run, "sleep "+word+" & wait"), word); err != nil || run == nil {
				return "", err
			}
			settle(func() bool { return !running("sleep\x00" + word) })
			return "", nil
		},
		Effect: func(s *Fixture) string {
			pid := find("sleep\x00" + s.Trial.Text["word"])
			if pid == 0 {
				return ""
			}
			_ = unix.Kill(pid, unix.SIGKILL)
			return "what ran in the box still runs"
		},
	}
}

// killed starts a command and kills it once its sleep is up.
func killed(cmd *exec.Cmd, word string) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	up := settle(func() bool { return running("sleep\x00" + word) })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if !up {
		return ErrNotStarted
	}
	return nil
}

// leftBehind kills inner while its box is up, runs it again, and looks at what
// the first run staged.
func leftBehind() Attack {
	names := func(s *Fixture) (list []string) {
		_ = filepath.WalkDir(s.App, func(p string, _ fs.DirEntry, err error) error {
			list = append(list, p)
			return err
		})
		return list
	}
	return Attack{
		Name: "left-behind", Class: "secrets", What: "find what a killed run had staged, or a trace of it in the project, after the next run",
		Stage: func(s *Fixture) error {
			s.Trial.Text["word"] = fmt.Sprintf("2%d", time.Now().UnixNano())
			s.before = names(s)
			return nil
		},
		Launcher: func(s *Fixture, run Run) (string, error) {
			staged := filepath.Join(s.Run, "inner")
			if run == nil { // a copy that nobody takes away
				return "", s.plant(filepath.Join(staged, "copy", "token"))
			}
			if err := killed(run("-c", "sleep "+s.Trial.Text["word"]), s.Trial.Text["word"]); err != nil {
				return "", err
			}
			// While it lies there it is for nobody else.
			if fi, err := os.Stat(staged); err == nil && fi.Mode().Perm()&0o077 != 0 {
				s.seen = "others may enter " + staged
			}
			if out, err := run("-c", "true").CombinedOutput(); err != nil {
				return string(out), ErrNotStarted
			}
			return "", nil
		},
		Effect: func(s *Fixture) string {
			staged := filepath.Join(s.Run, "inner")
			list, _ := os.ReadDir(staged) // none is as good as empty
			for _, e := range list {
				if e.Name() != ".gate" { // the lock of the folder itself
					return filepath.Join(staged, e.Name()) + " is left"
				}
			}
			for _, p := range names(s) {
				if !slices.Contains(s.before, p) {
					return p + " is left in the project"
				}
			}
			return s.seen
		},
	}
}

// fillRuntime writes some MiB into every folder of the box's own that it can write, and
// looks at the runtime folder of the host while the box is there.
func fillRuntime() Attack {
	const much = 4 << 20
	return Attack{
		Name: "fill-runtime", Class: "files", What: "fill the runtime folder of the host, through the copies of settings and the history in the box",
		Launcher: func(s *Fixture, run Run) (string, error) {
			staged := filepath.Join(s.Run, "inner")
			look := func() {
				if held := sizeOf(staged); held >= much {
					s.seen = fmt.Sprintf("%s grew to %d MiB", staged, held>>20)
				}
			}
			if run == nil { // whoever has a folder there
				defer look()
				return "", s.put(filepath.Join(staged, "copy", s.Trial.Mark), strings.Repeat("x", much))
			}
			seen := filepath.Join(s.App, "seen."+s.Trial.Mark)
			cmd := run("-c", fmt.Sprintf(`while read -r _ _ _ _ at how _; do
	case $at in %s|%[1]s/*) continue ;; %s/*|/run/inner/*) ;; *) continue ;; esac
	case $how in rw*) head -c %d /dev/zero >"$at/%s" 2>/dev/null ;; esac
done </proc/self/mountinfo
echo filled
i=0
until [ -e %s ] || [ $((i += 1)) -gt 100 ]; do sleep 0.05; done`, quoted(s.App), quoted(s.Home), much, s.Trial.Mark, quoted(seen)))
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				return "", err
			}
			said := make([]byte, 64)
			n, _ := out.Read(said) // none when it did not start
			look()
			if err := os.WriteFile(seen, nil, 0o600); err != nil {
				_ = cmd.Process.Kill()
			}
			if err := cmd.Wait(); err != nil || n == 0 {
				return "", ErrNotStarted
			}
			return "", nil
		},
		Effect: func(s *Fixture) string { return s.seen },
	}
}

// sizeOf returns what the files below a folder hold.
func sizeOf(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if fi, err := d.Info(); err == nil {
				n += fi.Size()
			}
		}
		return nil
	})
	return n
}

// tries is how often race runs a box. A program that checks and then opens
// loses within some hundred tries.
const tries = 12

// race swaps a folder of the project for a link to a hidden one, all the time,
// while inner looks at it, covers it and starts.
func race() Attack {
	return Attack{
		Name: "race-link", Class: "files", What: "swap a folder of the project for a link to a hidden folder while inner starts",
		Stage: func(s *Fixture) error {
			if err := s.plant(".ssh/id_ed25519"); err != nil {
				return err
			}
			for name, link := range map[string]string{
				"app/.vscode": "../.ssh", "app/.idea": "/oldroot" + s.path(".ssh"), "app/.git/hooks": "../../.ssh", "app/.claude": s.path(".ssh"),
			} {
				if err := os.MkdirAll(s.path(name), 0o700); err != nil {
					return err
				}
				if err := os.Symlink(link, s.path(name+".swap")); err != nil {
					return err
				}
				s.target(name)
			}
			return nil
		},
		Launcher: func(s *Fixture, run Run) (string, error) {
			end, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				for {
					select {
					case <-end:
						return
					default:
					}
					for _, p := range s.Trial.Paths {
						_ = unix.Renameat2(unix.AT_FDCWD, p, unix.AT_FDCWD, p+".swap", unix.RENAME_EXCHANGE)
					}
				}
			}()
			defer func() { close(end); <-done }()
			var said strings.Builder
			if run == nil { // look, then open, until it has worked once: on a busy machine that takes longer
				for begun := time.Now(); said.Len() == 0 && time.Since(begun) < 10*time.Second; {
					for _, p := range s.Trial.Paths {
						if fi, err := os.Lstat(p); err == nil && fi.IsDir() {
							data, _ := os.ReadFile(filepath.Join(p, "id_ed25519")) // mostly not there
							said.Write(data)
						}
					}
				}
				return said.String(), nil
			}
			for range tries {
				var words []string
				for _, p := range s.Trial.Paths {
					words = append(words, quoted(p)+"/* "+quoted(p)+".swap/*")
				}
				// A box that does not start has shown nothing.
				out, _ := run("-c", "for i in 1 2 3 4 5 6 7 8; do cat "+strings.Join(words, " ")+"; done 2>/dev/null").CombinedOutput()
				said.Write(out)
			}
			return said.String(), nil
		},
	}
}

// quoted quotes a path of a fixture for sh: it holds no quote.
func quoted(p string) string { return "'" + strings.ReplaceAll(p, "'", "") + "'" }
