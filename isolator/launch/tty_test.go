package launch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

const patience = 20 * time.Second

// terminal is the person's terminal: a pty whose master the test holds.
type terminal struct {
	t      testing.TB
	fd     int // of master
	master *os.File
	slave  *os.File // kept open, to look at its modes
	mu     sync.Mutex
	text   []byte
	seen   int // what expect has passed
	ended  chan struct{}
}

func newTerminal(t testing.TB) *terminal {
	t.Helper()
	m, s, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	// pty.Open leaves it blocking, and a blocked Read would keep it open.
	fd, err := unix.Dup(int(m.Fd()))
	if err == nil {
		unix.CloseOnExec(fd)
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = m.Close()
	m = os.NewFile(uintptr(fd), "master")
	x := &terminal{t: t, fd: fd, master: m, slave: s, ended: make(chan struct{})}
	x.resize(24, 80)
	go func() {
		defer close(x.ended)
		buf := make([]byte, 64<<10)
		for {
			n, err := m.Read(buf)
			x.mu.Lock()
			x.text = append(x.text, buf[:n]...)
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(x.close)
	return x
}

func (x *terminal) close() { _ = x.slave.Close(); _ = x.master.Close() }

func (x *terminal) resize(rows, cols uint16) {
	if err := unix.IoctlSetWinsize(x.fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols}); err != nil {
		x.t.Fatal(err)
	}
}

// start runs a command with the terminal as its controlling one, in the
// foreground.
func (x *terminal) start(cmd *exec.Cmd) *exec.Cmd {
	x.t.Helper()
	if cmd.Stdin == nil {
		cmd.Stdin = x.slave
	}
	if cmd.Stdout == nil {
		cmd.Stdout = x.slave
	}
	if cmd.Stderr == nil {
		cmd.Stderr = x.slave
	}
	cmd.ExtraFiles = nil
	ctty := 0
	for i, f := range []any{cmd.Stdin, cmd.Stdout, cmd.Stderr} {
		if f == any(x.slave) {
			ctty = i
			break
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: ctty}
	if err := cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func (x *terminal) send(s string) {
	x.t.Helper()
	if _, err := x.master.WriteString(s); err != nil {
		x.t.Fatal(err)
	}
}

func (x *terminal) all() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return string(x.text)
}

// expect waits for s in what was not passed yet, passes it and returns what
// came before.
func (x *terminal) expect(s string) string {
	x.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		x.mu.Lock()
		rest := string(x.text[x.seen:])
		i := strings.Index(rest, s)
		if i >= 0 {
			x.seen += i + len(s)
		}
		x.mu.Unlock()
		if i >= 0 {
			return rest[:i]
		}
		if time.Now().After(deadline) {
			x.t.Fatalf("not seen: %q, but %q", s, rest)
		}
		syscall.Select(0, nil, nil, nil, &syscall.Timeval{Usec: 1000})
	}
}

func (x *terminal) modes() unix.Termios {
	x.t.Helper()
	m, err := unix.IoctlGetTermios(int(x.slave.Fd()), unix.TCGETS)
	if err != nil {
		x.t.Fatal(err)
	}
	return *m
}

func (x *terminal) isRaw() bool {
	m := x.modes()
	return m.Lflag&(unix.ICANON|unix.ECHO|unix.ISIG) == 0 && m.Oflag&unix.OPOST == 0
}

// code waits for the end of cmd and returns its exit code.
func code(t testing.TB, cmd *exec.Cmd) int {
	t.Helper()
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%v does not end", cmd.Args)
	}
	return cmd.ProcessState.ExitCode()
}

func interactive(script string) job {
	j := job{Argv: []string{"/bin/bash", "--norc", "-c", script}, Interactive: true, Mark: marked()}
	return j
}

func TestOwnTerminal(t *testing.T) {
	x := newTerminal(t)
	x.resize(41, 97)
	before := x.modes()
	j := interactive("tty; stty size; stty -a | grep -o ' erase = [^;]*'; test -t 0 && test -t 1 && test -t 2 && echo all; ls /dev/pts; test -e /dev/console && echo console; ps -o tpgid=,pgid=,sid=,tty= -p $$; read -p 'say: ' a; echo \"got $a\"; exit 7")
	cmd := x.start(j.command(t))
	x.expect("/dev/pts/0\r\n41 97\r\n erase = ^?\r\nall\r\n0  ptmx\r\n")
	x.expect("say: ")
	if !x.isRaw() {
		t.Error("the real terminal is not raw")
	}
	x.send("hello\r")
	x.expect("got hello\r\n")
	if c := code(t, cmd); c != 7 {
		t.Errorf("exit code %d", c)
	}
	if after := x.modes(); after != before {
		t.Errorf("modes %+v, want %+v", after, before)
	}
	if strings.Contains(x.all(), "console\r\n") {
		t.Error("the real terminal is in the box, as /dev/console")
	}
	if strings.Contains(x.all(), "\r\r\n") {
		t.Errorf("line breaks doubled: %q", x.all())
	}
	gone(t, j.Mark, time.Second)
}

func TestTypedSignals(t *testing.T) {
	for key, name := range map[string]string{"\x03": "INT", "\x1c": "QUIT"} {
		x := newTerminal(t)
		j := interactive("trap 'echo handled; exit 7' " + name + "; echo ready; while :; do sleep 0.02; done")
		cmd := x.start(j.command(t))
		x.expect("ready\r\n")
		x.send(key)
		x.expect("handled\r\n")
		if c := code(t, cmd); c != 7 {
			t.Errorf("%s: exit code %d", name, c)
		}
		gone(t, j.Mark, time.Second)
	}
	x := newTerminal(t)
	j := interactive("echo ready; exec sleep 1000")
	cmd := x.start(j.command(t))
	x.expect("ready\r\n")
	x.send("\x03")
	if c := code(t, cmd); c != 130 {
		t.Errorf("exit code %d", c)
	}
}

func TestTermThroughTerminal(t *testing.T) {
	x := newTerminal(t)
	before := x.modes()
	j := interactive("trap 'echo handled; exit 9' TERM; echo ready; while :; do sleep 0.02; done")
	cmd := x.start(j.command(t))
	x.expect("ready\r\n")
	_ = cmd.Process.Signal(syscall.SIGTERM)
	x.expect("handled\r\n")
	if c := code(t, cmd); c != 9 {
		t.Errorf("exit code %d", c)
	}
	if x.modes() != before {
		t.Error("modes not restored")
	}
	gone(t, j.Mark, time.Second)
}

func TestResize(t *testing.T) {
	x := newTerminal(t)
	j := interactive("trap 'stty size' WINCH; echo ready; while ! read -t 0.02 a; do :; done; exit 3")
	cmd := x.start(j.command(t))
	x.expect("ready\r\n")
	for _, s := range [][2]uint16{{50, 100}, {10, 20}, {33, 132}} {
		x.resize(s[0], s[1])
		x.expect(fmt.Sprintf("%d %d\r\n", s[0], s[1]))
	}
	x.send("\r")
	if c := code(t, cmd); c != 3 {
		t.Errorf("exit code %d", c)
	}
}

func TestClosedTerminal(t *testing.T) {
	for _, graceful := range []bool{true, false} {
		x := newTerminal(t)
		file := filepath.Join(t.TempDir(), "hup")
		script := "trap 'echo hup > " + file + "; exit 1' HUP; echo ready; while :; do sleep 0.02; done"
		if !graceful {
			script = "trap 'echo hup > " + file + "' HUP; trap '' TERM; echo ready; while :; do sleep 0.02; done"
		}
		j := interactive(script)
		cmd := x.start(j.command(t))
		x.expect("ready\r\n")
		start := time.Now()
		x.close()
		_ = code(t, cmd)
		if d := time.Since(start); (d < killGrace) != graceful {
			t.Errorf("ended after %v", d)
		}
		if b, _ := os.ReadFile(file); string(b) != "hup\n" {
			t.Errorf("the handler did not run: %q", b)
		}
		gone(t, j.Mark, time.Second)
	}
}

// shell starts a real bash with job control in the terminal.
func (x *terminal) shell() *exec.Cmd {
	x.t.Helper()
	cmd := exec.Command("/bin/bash", "--norc", "--noprofile", "-i")
	cmd.Env = []string{"PS1=<prompt>", "PATH=/usr/bin:/bin", "HOME=" + os.TempDir(), "TERM=xterm", "HISTFILE=", "GORACE=atexit_sleep_ms=0", "INPUTRC=" + writeFile(x.t, "inputrc", "set enable-bracketed-paste off\n", 0o600), "TMPDIR=" + os.TempDir(), "L=" + self() + " " + wordLaunch}
	x.resize(24, 250) // no line breaks in the commands
	x.start(cmd)
	x.expect("<prompt>")
	return cmd
}

func TestStopAndContinue(t *testing.T) {
	x := newTerminal(t)
	x.shell()
	j := interactive("trap 'echo con''tinued' CONT; echo rea''dy; while ! read -t 0.02 a; do :; done; echo \"got $a\"; stty size; exit 6")
	x.send("$L " + j.file(t) + "\r")
	x.expect("ready\r\n")
	for range 3 {
		x.send("\x1a")
		x.expect("Stopped")
		x.expect("<prompt>")
		// The shell is itself again: it echoes, and runs commands.
		x.send("echo $((20+3))\r")
		x.expect("\r\n23\r\n")
		x.expect("<prompt>")
		x.resize(30, 90)
		x.send("fg\r")
		x.expect("continued\r\n")
	}
	if strings.Count(x.all(), "continued\r\n") != 3 {
		t.Errorf("continued more than once per fg: %q", x.all())
	}
	eventually(t, "raw again", patience, x.isRaw)
	x.send("some words\r")
	x.expect("got some words\r\n30 90\r\n")
	x.expect("<prompt>")
	x.send("echo rc=$?\r")
	x.expect("\r\nrc=6\r\n")
	gone(t, j.Mark, time.Second)
}

func TestStopAndBackground(t *testing.T) {
	x := newTerminal(t)
	x.shell()
	stop := filepath.Join(t.TempDir(), "stop")
	j := interactive("echo rea''dy; while ! test -e " + stop + "; do sleep 0.02; done; echo do''ne; exit 6")
	x.send("$L " + j.file(t) + "\r")
	x.expect("ready\r\n")
	x.send("\x1a")
	x.expect("Stopped")
	x.expect("<prompt>")
	x.send("bg\r")
	x.expect("<prompt>")
	x.send("echo $((20+3))\r")
	x.expect("\r\n23\r\n")
	x.expect("<prompt>")
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	x.expect("done")
	x.send("wait %1; echo rc=$?\r")
	x.expect("\r\nrc=6\r\n")
	gone(t, j.Mark, time.Second)
}

// Started in the background it leaves the terminal alone; brought to the
// foreground it has it.
func TestStartInBackground(t *testing.T) {
	x := newTerminal(t)
	x.shell()
	j := interactive("echo rea''dy; read a; echo \"got $a\"; exit 6")
	x.send("$L " + j.file(t) + " &\r")
	x.expect("ready")
	x.send("echo $((20+3))\r")
	x.expect("\r\n23\r\n")
	x.expect("<prompt>")
	x.send("fg\r")
	eventually(t, "raw in the foreground", patience, x.isRaw)
	x.send("words\r")
	x.expect("got words\r\n")
	x.expect("<prompt>")
	x.send("echo rc=$?\r")
	x.expect("\r\nrc=6\r\n")
}

// A shell in the box has job control of its own.
func TestShellInside(t *testing.T) {
	x := newTerminal(t)
	j := interactive("")
	j.Argv = []string{"/bin/bash", "--norc", "--noprofile", "-i"}
	j.Env = []string{"PS1=<inner>", "PATH=/usr/bin:/bin", "TERM=dumb", "HISTFILE=", "INPUTRC=" + writeFile(t, "inputrc", "set enable-bracketed-paste off\n", 0o600)}
	cmd := x.start(j.command(t))
	x.expect("<inner>")
	x.send("sh -c 'echo rea\"\"dy; exec sleep 1000'\r")
	x.expect("ready\r\n")
	x.send("\x1a")
	x.expect("Stopped")
	x.expect("<inner>")
	x.send("jobs | wc -l\r")
	x.expect("\r\n1\r\n")
	x.expect("<inner>")
	x.send("fg\r")
	x.expect("sleep 1000'\r\n")
	x.send("\x03")
	x.expect("<inner>")
	x.send("echo rc=$?\r")
	x.expect("\r\nrc=130\r\n")
	x.expect("<inner>")
	x.send("exit 4\r")
	if c := code(t, cmd); c != 4 {
		t.Errorf("exit code %d", c)
	}
	if strings.Contains(x.all(), "no job control") {
		t.Errorf("%q", x.all())
	}
	gone(t, j.Mark, time.Second)
}

// In an orphaned process group nothing can be stopped; the program goes on.
func TestStopInOrphanedGroup(t *testing.T) {
	x := newTerminal(t)
	j := interactive("trap 'echo continued' CONT; echo ready; while ! read -t 0.02 a; do :; done; exit 6")
	cmd := x.start(j.command(t)) // the leader of its session: orphaned
	x.expect("ready\r\n")
	x.send("\x1a")
	x.expect("continued\r\n")
	eventually(t, "raw again", patience, x.isRaw)
	x.send("\r")
	if c := code(t, cmd); c != 6 {
		t.Errorf("exit code %d", c)
	}
}

func TestOutputIsWhole(t *testing.T) {
	x := newTerminal(t)
	const lines = 60000
	j := probe("spew", fmt.Sprint(lines))
	j.Interactive = true
	for range 3 {
		x.mu.Lock()
		x.text, x.seen = nil, 0
		x.mu.Unlock()
		cmd := x.start(j.command(t))
		if c := code(t, cmd); c != 0 {
			t.Errorf("exit code %d", c)
		}
		x.expect(fmt.Sprintf("%08d the quick", lines-1))
		x.expect("dog\r\n")
		var want strings.Builder
		spew(&want, lines)
		if got := x.all(); got != strings.ReplaceAll(want.String(), "\n", "\r\n") {
			t.Errorf("%d bytes arrived of %d", len(got), want.Len()+lines)
		}
	}
}

func TestNoInjection(t *testing.T) {
	x := newTerminal(t)
	x.shell()
	for _, tail := range []string{"", " </dev/null", " | cat", " 2>/dev/null </dev/null"} {
		for _, inter := range []bool{true, false} {
			j := probe("tiocsti")
			j.Interactive = inter
			x.send("$L " + j.file(t) + tail + "; echo $((40+2))\r")
			x.expect("\r\n42\r\n")
			x.expect("<prompt>")
		}
	}
	x.send("echo la''st\r")
	x.expect("last\r\n")
	for line := range strings.Lines(x.all()) {
		if strings.HasPrefix(line, "INJECTED") || strings.Contains(line, "<prompt>echo INJECTED") {
			t.Errorf("a command was injected: %q", x.all())
		}
	}
}

func TestIsTerminalPreserved(t *testing.T) {
	for _, c := range []struct {
		tail  string
		inter bool
		want  string
	}{
		{"", true, "true true true"},
		{" </dev/null", true, "false true true"},
		{" >/dev/null", true, "true false true"},
		{" 2>$TMPDIR/err; cat $TMPDIR/err", true, "true true false"},
		{" | cat", true, "true false true"},
		{" </dev/null | cat", true, "false false true"},
		{"", false, "false true true"}, // stdin is not for it
		{" >/dev/null", false, "false false true"},
		{" </dev/null 2>$TMPDIR/err >/dev/null; cat $TMPDIR/err", false, "false false false"},
	} {
		x := newTerminal(t)
		x.shell()
		j := probe("isatty")
		j.Interactive = c.inter
		x.send("$L " + j.file(t) + c.tail + "; echo $((40+2))\r")
		if got := x.expect("\r\n42\r\n"); !strings.Contains(got, "\n"+c.want) {
			t.Errorf("%q interactive %v: %q, want %q", c.tail, c.inter, got, c.want)
		}
		x.expect("<prompt>")
		if x.modes().Lflag&unix.ISIG == 0 && x.isRaw() {
			t.Errorf("%q: left raw", c.tail)
		}
		x.close()
	}
}

// Output of a run without a terminal of its own comes out as it should, and
// cannot be read as a keyboard.
func TestOutputTerminal(t *testing.T) {
	x := newTerminal(t)
	x.shell()
	j := job{Argv: []string{"/bin/bash", "--norc", "-c", `printf 'one\ntwo\n'; stty size <&1; printf '\e[?25lhidden'; read x <&1 || echo "no keyboard"; tty 0<&2`}}
	x.send("$L " + j.file(t) + " </dev/null; echo $((40+2))\r")
	got := x.expect("42\r\n")
	if !strings.Contains(got, "\none\r\ntwo\r\n") {
		t.Errorf("lines: %q", got)
	}
	if !strings.Contains(got, "no keyboard") {
		t.Errorf("the output terminal can be read: %q", got)
	}
	if !strings.Contains(x.all(), "\x1b[?25h") {
		t.Errorf("cursor not shown again: %q", x.all())
	}
}

// An interactive run whose output is not a terminal reads lines from it.
func TestReadsTerminalWithoutOutput(t *testing.T) {
	x := newTerminal(t)
	x.shell()
	j := sh("echo rea''dy >&2; read a; echo \"got $a\"")
	j.Interactive = true
	x.send("$L " + j.file(t) + " | cat\r")
	x.expect("ready\r\n")
	x.send("a line\r")
	x.expect("got a line\r\n")
	x.expect("<prompt>")
}

// ^C and ^Z where the terminal is not the box's.
func TestKeysWithPipes(t *testing.T) {
	x := newTerminal(t)
	x.shell()
	// bash, as dash uses vfork: a child stopped before its exec keeps it from
	// stopping.
	j := sh("trap 'echo han''dled >&2; exit 7' INT; echo rea''dy >&2; while :; do sleep 0.02; done")
	j.Argv[0] = "/bin/bash"
	j.Mark = marked()
	x.send("$L " + j.file(t) + " | cat; echo rc=${PIPESTATUS[0]}\r")
	x.expect("ready\r\n")
	x.send("\x03")
	x.expect("handled\r\n")
	x.expect("<prompt>")
	gone(t, j.Mark, time.Second)

	j = sh("echo rea''dy >&2; while ! test -e $1; do sleep 0.02; done; echo do''ne; exit 6")
	j.Argv[0] = "/bin/bash"
	j.Mark = marked()
	stop := filepath.Join(t.TempDir(), "stop")
	j.Argv = append(j.Argv, "sh", stop)
	x.send("$L " + j.file(t) + " </dev/null | cat\r")
	x.expect("ready\r\n")
	x.send("\x1a")
	x.expect("Stopped")
	x.expect("<prompt>")
	eventually(t, "the job stopped", patience, func() bool { return stoppedProcesses(j.Mark) >= 2 })
	x.send("fg\r")
	eventually(t, "the job going on", patience, func() bool { return stoppedProcesses(j.Mark) == 0 })
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	x.expect("done\r\n")
	x.expect("<prompt>")
	gone(t, j.Mark, time.Second)
}

// stoppedProcesses counts the stopped ones among those with the mark.
func stoppedProcesses(mark uint64) int {
	n := 0
	for _, p := range alive(mark) {
		pid, _, _ := strings.Cut(p, " ")
		stat, _ := os.ReadFile("/proc/" + pid + "/stat")
		if _, rest, ok := strings.Cut(string(stat), ") "); ok && rest[0] == 'T' {
			n++
		}
	}
	return n
}

func TestLeftModesAreReset(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{`printf '\e[?1049h\e[?25l\e[?2004h\e[?1000;1006h\e[>1u\e[>4;2m\e[31mx'; kill -9 $$`, "\x1b[<1u\x1b[?1049l\x1b[?1000l\x1b[?1006l\x1b[?2004l\x1b[?25h\x1b[>4;0m\x1b[0m"},
		{`printf '\e[?1049h\e[?25l\e[31mx\e[0m\e[?25h\e[?1049l'; exit 3`, ""},
		{`printf 'x\e]0;title'; kill -9 $$`, "\x1b\\"},
	} {
		x := newTerminal(t)
		before := x.modes()
		cmd := x.start(interactive(c.script).command(t))
		code(t, cmd)
		x.send("\n") // an echo, so that the output has an end
		got := x.expect("\r\n")
		if _, rest, _ := strings.Cut(got, "x"); !strings.HasSuffix(rest, c.want) || (c.want == "" && strings.Contains(rest, "l\x1b[?25h")) {
			t.Errorf("%s: %q, want %q at the end", c.script, got, c.want)
		}
		if x.modes() != before {
			t.Error("modes not restored")
		}
		x.close()
	}
}

func TestCursorFix(t *testing.T) {
	for fix, want := range map[string]string{"": "x", "shell": "x\r\n", "newlines": "x\r\n\r\n\r\n"} {
		x := newTerminal(t)
		j := interactive("printf x")
		j.CursorFix = fix
		code(t, x.start(j.command(t)))
		x.send("END\n")
		if got := x.expect("END"); got != want {
			t.Errorf("%q: %q, want %q", fix, got, want)
		}
		x.close()
		// Not where it is data.
		if _, out, _ := j.run(t); out != "x" {
			t.Errorf("%q: %q in a pipe", fix, out)
		}
	}
}

// What was typed ahead of the program is the program's.
func TestTypeAhead(t *testing.T) {
	x := newTerminal(t)
	j := interactive("read a; read b; echo \"<$a><$b>\"")
	x.send("first\r")
	cmd := x.start(j.command(t))
	x.send("second\r")
	x.expect("<first><second>")
	code(t, cmd)
}

// A terminal that is non-blocking stays so, and works.
func TestNonBlockingTerminal(t *testing.T) {
	x := newTerminal(t)
	const lines = 20000
	j := probe("spew", fmt.Sprint(lines))
	j.Interactive, j.NonBlock = true, true
	if c := code(t, x.start(j.command(t))); c != 0 {
		t.Errorf("exit code %d", c)
	}
	x.expect(fmt.Sprintf("%08d the quick", lines-1))
}

// The person's terminal stays open to nobody in the box.
func TestNoRealTerminalInside(t *testing.T) {
	x := newTerminal(t)
	real := regexp.MustCompile(`/dev/pts/[1-9]|\(deleted\)|/dev/console`)
	for _, inter := range []bool{true, false} {
		j := sh("ls -l /proc/*/fd 2>/dev/null; echo en''d")
		j.Interactive = inter
		cmd := x.start(j.command(t))
		if got := x.expect("end"); real.MatchString(got) {
			t.Errorf("interactive %v: %s", inter, got)
		}
		code(t, cmd)
	}
}
