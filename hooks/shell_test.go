package hooks

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/hooks/script"
)

// patience is how long a test waits for a shell before it calls it stuck.
const patience = 2 * time.Minute

// need makes sure a program is there. A missing one skips the test, or fails
// it where the suite has promised to have everything.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			if os.Getenv("INNER_TEST_MUST") != "" {
				t.Fatalf("%s is not installed", p)
			}
			t.Skipf("%s is not installed", p)
		}
	}
}

// world is the disk a test shell lives on.
type world struct {
	t       *testing.T
	root    string // physical path; home, inner home and projects are below it
	home    string
	inner   string // INNER_HOME
	shims   string
	state   string
	project string
	plain   string // a folder without a project
	bin     string // what is called as inner
}

func newWorld(t *testing.T) *world {
	t.Helper()
	// Not t.TempDir, which is named after the test: commands typed by tests
	// name these folders without quotes.
	root, err := os.MkdirTemp("", "hook")
	if err != nil {
		t.Fatal(err)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		t.Fatal(err)
	}
	// A shell that is ending may still write below; it does not matter here.
	t.Cleanup(func() { os.RemoveAll(root) })
	w := &world{
		t: t, root: root,
		home:    filepath.Join(root, "home"),
		inner:   filepath.Join(root, "home", ".inner"),
		project: filepath.Join(root, "project"),
		plain:   filepath.Join(root, "plain"),
	}
	w.shims = filepath.Join(w.inner, "shims", "bin")
	w.state = filepath.Join(w.inner, "shims", "state")
	// Without generated_completions fish makes completions from manual pages in
	// the background, with programs of its own.
	for _, dir := range []string{w.shims, w.plain, filepath.Join(root, "tmp"), filepath.Join(w.home, "data", "fish", "generated_completions")} {
		w.mkdir(dir)
	}
	w.bin = filepath.Join(w.inner, "shims", "inner")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, w.bin); err != nil {
		t.Fatal(err)
	}
	w.setToken("first")
	w.makeProject(w.project, "one")
	return w
}

func (w *world) mkdir(dir string) {
	w.t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) write(path, text string) {
	w.t.Helper()
	w.mkdir(filepath.Dir(path))
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) makeProject(dir, text string) {
	w.t.Helper()
	w.write(filepath.Join(dir, ".inner", "profiles", "claude.toml"), text)
	w.age(dir)
}

// age makes everything below dir an hour old: what is saved at the very moment
// of a check is rightly looked at twice, and tests count.
func (w *world) age(dir string) {
	w.t.Helper()
	then := time.Now().Add(-time.Hour)
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, then, then)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// setToken replaces the state file as inner does, by rename, and removes the marks of the one before.
func (w *world) setToken(token string) {
	w.t.Helper()
	marks, _ := filepath.Glob(literal(w.state) + ".*")
	defer func() {
		for _, mark := range marks {
			os.Remove(mark)
		}
	}()
	w.write(w.state+"~", token+"\n")
	if err := os.Rename(w.state+"~", w.state); err != nil {
		w.t.Fatal(err)
	}
}

// calls returns the calls of inner so far, one quoted list of arguments each.
func (w *world) calls() []string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.inner, "calls"))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' })
}

// scriptOf is the hook of the named shell.
func scriptOf(name string, v script.Vars) (string, error) {
	quote, err := Quote(name)
	if err != nil {
		return "", err
	}
	return script.Of(name, quote, v)
}

// literal is the pattern of filepath.Glob that matches s alone.
func literal(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(s)
}

func (w *world) vars() script.Vars {
	return script.Vars{Inner: w.bin, Command: w.bin, ShimDir: w.shims, StateFile: w.state}
}

// hook writes the hook's text to a file and returns the file.
func (w *world) hook(shell string) string {
	w.t.Helper()
	text, err := scriptOf(shell, w.vars())
	if err != nil {
		w.t.Fatal(err)
	}
	path := filepath.Join(w.root, "hook."+shell)
	w.write(path, text)
	return path
}

func (w *world) env(more ...string) []string {
	return append([]string{
		"HOME=" + w.home, "INNER_HOME=" + w.inner, "PATH=/usr/local/bin:/usr/bin:/bin", "TERM=xterm", "LC_ALL=C.UTF-8",
		"XDG_CONFIG_HOME=" + w.home + "/config", "XDG_DATA_HOME=" + w.home + "/data", "ZDOTDIR=" + w.home, "TMPDIR=" + w.root + "/tmp",
		"DIRENV_LOG_FORMAT=", "HISTFILE=/dev/null",
		// The test binary is what the hook calls; with the race detector it would
		// sleep for a second before it ends.
		"GORACE=atexit_sleep_ms=0",
	}, more...)
}

// rc writes the shell's start-up file: a prompt nobody has to wait for, then
// the given text.
func (w *world) rc(shell, text string) {
	w.t.Helper()
	switch shell {
	case "bash":
		w.write(filepath.Join(w.home, ".bashrc"), "PS1='> '\n"+text)
	case "zsh":
		w.write(filepath.Join(w.home, ".zshrc"), "PS1='> '\nunsetopt beep promptsp\n"+text)
	case "fish":
		w.write(filepath.Join(w.home, "config", "fish", "config.fish"), "set -g fish_greeting\nfunction fish_prompt; echo '> '; end\nfunction fish_title; end\n"+text)
	}
}

// argv is how a shell is started interactively with its start-up file and
// nothing of the machine's.
func argv(shell string) []string {
	switch shell {
	case "bash":
		return []string{"bash", "-i"}
	case "zsh":
		return []string{"zsh", "-d", "-i"}
	}
	return []string{shell, "-i"}
}

// evalHook is how the hook is installed by hand.
func (w *world) evalHook(shell string) string {
	if shell == "fish" {
		return "source " + w.hook(shell) + "\n"
	}
	return `eval "$(cat ` + w.hook(shell) + `)"` + "\n"
}

// session is a shell in a terminal of its own.
type session struct {
	t     *testing.T
	w     *world
	shell string
	tty   *os.File
	cmd   *exec.Cmd

	mu     sync.Mutex
	screen bytes.Buffer
	closed bool
	grown  chan struct{}
	n      int
}

// start runs a shell with the hook in its start-up file.
func (w *world) start(shell string) *session {
	w.t.Helper()
	w.rc(shell, w.evalHook(shell))
	return w.launch(shell, argv(shell), w.plain)
}

func (w *world) launch(shell string, argv []string, dir string, env ...string) *session {
	w.t.Helper()
	need(w.t, shell, argv[0])
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = w.env(env...)
	cmd.Dir = dir
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 250})
	if err != nil {
		w.t.Fatal(err)
	}
	s := &session{t: w.t, w: w, shell: shell, tty: tty, cmd: cmd, grown: make(chan struct{}, 1)}
	go s.read()
	w.t.Cleanup(func() {
		tty.Close()
		cmd.Process.Kill()
		cmd.Wait()
		if w.t.Failed() {
			shown := s.shown()
			w.t.Logf("%s showed, at the end:\n%q", shell, shown[max(0, len(shown)-2000):])
		}
	})
	if isOther(shell) {
		s.await("READY> ", 1)
		return s
	}
	s.sync()
	return s
}

func (s *session) read() {
	buf, told := make([]byte, 4096), 0
	for {
		n, err := s.tty.Read(buf)
		s.mu.Lock()
		s.screen.Write(buf[:n])
		asked := bytes.Count(s.screen.Bytes(), []byte("\x1b[6n")) // by nu, which waits to be told where the cursor is, each time
		s.closed = err != nil
		s.mu.Unlock()
		for ; told < asked; told++ {
			s.tty.WriteString("\x1b[1;1R")
		}
		select {
		case s.grown <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func (s *session) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.screen.String()
}

// await waits until the terminal has shown text n times.
func (s *session) await(text string, n int) {
	s.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		s.mu.Lock()
		seen, closed := bytes.Count(s.screen.Bytes(), []byte(text)) >= n, s.closed
		s.mu.Unlock()
		if seen {
			return
		}
		if closed {
			s.t.Fatalf("%s ended before it showed %q", s.shell, text)
		}
		select {
		case <-s.grown:
		case <-deadline.C:
			s.t.Fatalf("%s did not show %q in %v", s.shell, text, patience)
		}
	}
}

// send types text.
func (s *session) send(text string) {
	s.t.Helper()
	if _, err := s.tty.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// sync returns when everything typed before has run, and the prompt after it.
func (s *session) sync() {
	s.t.Helper()
	s.n++
	s.send(fmt.Sprintf("printf '<%%s>\\n' done%d\n", s.n))
	s.await(fmt.Sprintf("<done%d>", s.n), 1)
}

// line types one line and waits until the prompt after it has been prepared.
func (s *session) line(text string) {
	s.t.Helper()
	s.send(text + "\n")
	s.sync()
}

// run has the shell read commands from a file, so that they can hold any byte.
func (s *session) run(format string, args ...any) {
	s.t.Helper()
	s.n++
	file := filepath.Join(s.w.root, fmt.Sprintf("step%d", s.n))
	s.w.write(file, fmt.Sprintf(format, args...)+"\n")
	s.line("source " + file)
}

// get returns words as the shell expands them.
func (s *session) get(words string) []string {
	s.t.Helper()
	s.n++
	out := filepath.Join(s.w.root, fmt.Sprintf("out%d", s.n))
	// >| because a test may have set noclobber; fish has no such form.
	arrow := ">|"
	if s.shell == "fish" {
		arrow = ">"
	}
	s.run("printf '%%s\\0' %s %s%s", words, arrow, out)
	data, err := os.ReadFile(out)
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}

func (s *session) quote(text string) string {
	switch s.shell {
	case "bash":
		return quote.Bash(text)
	case "zsh":
		return quote.Zsh(text)
	}
	return quote.Fish(text)
}

func (s *session) cd(dir string) {
	s.t.Helper()
	s.run("cd -- %s", s.quote(dir))
}

// path returns PATH as one string.
func (s *session) path() string {
	s.t.Helper()
	if s.shell == "fish" {
		return strings.Join(s.get("$PATH"), ":")
	}
	return s.get(`"$PATH"`)[0]
}

func (s *session) notices() int { return strings.Count(s.shown(), "NOTICE") }

// wantCalls compares the number of calls of inner so far.
func (s *session) wantCalls(n int, why string) {
	s.t.Helper()
	if got := s.w.calls(); len(got) != n {
		s.t.Fatalf("%s: inner was called %d times, want %d:\n%s", why, len(got), n, strings.Join(got, "\n"))
	}
}

func (s *session) wantFirst(why string) {
	s.t.Helper()
	path := strings.Split(s.path(), ":")
	n := 0
	for _, p := range path {
		if p == s.w.shims {
			n++
		}
	}
	if path[0] != s.w.shims || n != 1 {
		s.t.Fatalf("%s: the shim folder is on PATH %d times, first is %q:\n%q", why, n, path[0], path)
	}
}

// each runs a test in the shells whose hook does everything; others_test.go has the rest.
func each(t *testing.T, test func(t *testing.T, shell string)) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) { test(t, shell) })
	}
}

// until repeats ask until it says yes.
func until(t *testing.T, what string, ask func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ask(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// pid is that of the shell.
func (s *session) pid() int { return s.cmd.Process.Pid }
