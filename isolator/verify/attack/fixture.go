package attack

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Fixture is where one attack takes place.
type Fixture struct {
	Dir    string   // private, everything is in it
	Home   string   // the home of the attacked
	App    string   // the project
	Run    string   // $XDG_RUNTIME_DIR
	Env    []string // variables of the caller, KEY=VALUE
	Files  []*os.File
	Secret string
	Parts  Parts
	Trial  Trial

	// Slave and Master are the terminal that stands for the person's, when the
	// attack asks for one.
	Slave, Master *os.File

	watched []string
	before  []string                  // what was in the project
	seen    string                    // what a launcher attack found while it ran
	ear     func([]byte) (int, error) // see hear
	victim  *exec.Cmd
	undo    []func()
}

const fixturePrefix = "a."

// MaxBase is how long the path of the folder of fixtures may be: the name of a
// socket holds 107 bytes (unix(7)), and the deepest lies in the project.
const MaxBase = 107 - len("/"+fixturePrefix+"01234567/h/app/server.sock")

// fixtureFolder makes a new folder below base. Its name has always the same
// length.
func fixtureFolder(base string) (string, error) {
	for range 100 {
		dir := filepath.Join(base, fixturePrefix+random()[:8])
		if err := os.Mkdir(dir, 0o700); !errors.Is(err, os.ErrExist) {
			return dir, err
		}
	}
	return "", fmt.Errorf("%q: no name is free", base)
}

// Sweep removes what a killed suite left in base.
func Sweep(base string) {
	list, _ := filepath.Glob(filepath.Join(base, fixturePrefix+"*")) // the pattern is well-formed
	for _, p := range list {
		if fi, err := os.Lstat(p); err == nil && fi.IsDir() && time.Since(fi.ModTime()) > time.Hour {
			_ = removeAll(p)
		}
	}
}

// NewFixture makes the fixture of an attack in a new folder below base, for a profile with these
// parts. inner is the path of the inner binary.
func NewFixture(base, inner string, parts Parts, a Attack) (*Fixture, error) {
	dir, err := fixtureFolder(base)
	if err != nil {
		return nil, err
	}
	s := &Fixture{Dir: dir, Home: filepath.Join(dir, "h"), Run: filepath.Join(dir, "run"), Parts: parts}
	s.App = filepath.Join(s.Home, "app")
	s.undo = append(s.undo, func() { _ = removeAll(dir) })
	s.Secret, s.Trial.Mark = "secret-"+random(), "mark-"+random()
	s.Trial.Attack, s.Trial.Home, s.Trial.App, s.Trial.Inner = a.Name, s.Home, s.App, inner
	s.Trial.Text, s.Trial.Number = map[string]string{}, map[string]int{}
	err = s.furnish()
	if err == nil && a.Stage != nil {
		err = a.Stage(s)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func random() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails on Linux (crypto/rand)
	return hex.EncodeToString(b[:])
}

// furnish makes what every fixture has: a home somebody works in, and a project
// with a repository and a profile.
func (s *Fixture) furnish() error {
	return errors.Join(
		os.MkdirAll(s.Run, 0o700),
		s.put("outside/file", "mine\n"),
		s.put(".bashrc", "# mine\n"),
		s.put(".config/fish/config.fish", "# mine\n"),
		s.put(".local/bin/tool", "#!/bin/sh\n"),
		s.put(".gitconfig", "[user]\n\tname = me\n"),
		s.put("app/.inner/profiles/mine.toml", "schema_version = \"1\"\n"),
		s.put("app/main.go", "package main\n"),
		s.repository("app"),
	)
}

// put writes a file of the home.
func (s *Fixture) put(name, text string) error {
	p := s.path(name)
	if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
		return err
	}
	return os.WriteFile(p, []byte(text), 0o600)
}

// plant writes the secret into a file of the home.
func (s *Fixture) plant(name string) error { return s.put(name, s.Secret+"\n") }

// path returns a path as it is, or below the home.
func (s *Fixture) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.Home, name)
}

// watch has a file looked at afterwards: the attack is to leave its mark in it.
func (s *Fixture) watch(name string) {
	s.watched = append(s.watched, s.path(name))
	s.Trial.Paths = append(s.Trial.Paths, s.path(name))
}

// target is a path that the attack is told.
func (s *Fixture) target(name string) { s.Trial.Paths = append(s.Trial.Paths, s.path(name)) }

// marked says which watched file carries the mark.
func (s *Fixture) marked() string {
	for _, p := range s.watched {
		if data, err := os.ReadFile(p); err == nil && strings.Contains(string(data), s.Trial.Mark) {
			return p + " was written"
		}
	}
	return ""
}

// told reports whether the secret is in what was said.
func (s *Fixture) told(said string) bool { return strings.Contains(said, s.Secret) }

// where names the lines of what was said that hold the secret.
func where(said, secret string) string {
	var out []string
	for line := range strings.SplitSeq(said, "\n") {
		if name, rest, ok := strings.Cut(line, "\t"); ok && strings.Contains(rest, secret) {
			out = append(out, name)
		}
	}
	if len(out) > 3 {
		out = append(out[:3], fmt.Sprintf("%d more", len(out)-3))
	}
	if len(out) == 0 {
		return ""
	}
	return ": " + strings.Join(out, ", ")
}

// repository makes a small git repository by hand.
func (s *Fixture) repository(name string) error {
	for _, d := range []string{"objects/info", "refs/heads", "hooks", "info"} {
		if err := os.MkdirAll(s.path(name+"/.git/"+d), 0o700); err != nil {
			return err
		}
	}
	return errors.Join(
		s.put(name+"/.git/HEAD", "ref: refs/heads/main\n"),
		s.put(name+"/.git/config", "[core]\n\trepositoryformatversion = 0\n"),
	)
}

// serve answers everybody who connects with the secret.
func (s *Fixture) serve(network, address string) (net.Listener, error) {
	if network == "unix" && !strings.HasPrefix(address, "@") {
		if err := os.MkdirAll(filepath.Dir(address), 0o700); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	s.undo = append(s.undo, func() { l.Close() })
	go answer(l, []byte(s.Secret))
	return l, nil
}

// answer gives everybody who connects the secret.
func answer(l net.Listener, secret []byte) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = c.Write(secret)
		c.Close()
	}
}

// temp makes a folder outside of the fixture, such as in /tmp.
func (s *Fixture) temp(in string) (string, error) {
	dir, err := os.MkdirTemp(in, "inner-attack.")
	if err == nil {
		s.undo = append(s.undo, func() { _ = removeAll(dir) })
	}
	return dir, err
}

// Close takes everything away.
func (s *Fixture) Close() {
	for i := len(s.undo) - 1; i >= 0; i-- {
		s.undo[i]()
	}
	for _, f := range append(s.Files, s.Master, s.Slave) {
		if f != nil {
			f.Close()
		}
	}
}

// removeAll removes a folder of ours, also what an attack made unwritable.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(p, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// startVictim starts a process of ours that has the secret in its memory, its
// environment, its command line and an open file.
func (s *Fixture) startVictim() error { return s.startServer("", "") }

// startServer starts a victim that works in dir and, when it is given a name,
// answers at a socket that it binds under that name there.
func (s *Fixture) startServer(dir, name string) error {
	if s.victim != nil {
		return nil
	}
	f, err := os.CreateTemp(s.Dir, "open.")
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteString(s.Secret); err != nil {
		return err
	}
	_ = os.Remove(f.Name()) // only the descriptor leads to it
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{Program, victimWord + s.Secret}, Env: []string{"VICTIM=" + s.Secret, "SERVE=" + name}, Dir: dir,
		ExtraFiles: []*os.File{f}, SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	}
	in, err := cmd.StdinPipe() // its end is the victim's
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.victim = cmd
	s.undo = append(s.undo, func() { in.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var addr int
	if _, err := fmt.Fscanf(bufio.NewReader(out), "%d\n", &addr); err != nil {
		return fmt.Errorf("victim: %w", err)
	}
	s.Trial.Number["pid"], s.Trial.Number["address"], s.Trial.Number["length"] = cmd.Process.Pid, addr, len(s.Secret)
	return nil
}

// victimDied reports whether the victim is gone.
func (s *Fixture) victimDied() string {
	var info unix.Siginfo
	for range 20 {
		if err := unix.Waitid(unix.P_PID, s.victim.Process.Pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil); err == nil && info.Signo != 0 {
			return "the victim was killed"
		}
		time.Sleep(5 * time.Millisecond)
	}
	return ""
}
