package launch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The terminal of a test is no session's, and a box reads nothing from it.
func TestForeign(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if x := newTerminal(t); !Foreign(int(x.slave.Fd())) || Foreign(int(null.Fd())) || Foreign(-1) {
		t.Error("the terminal of another session is not told from others")
	}
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
	gone(t, j.Mark)
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
		gone(t, j.Mark)
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
	gone(t, j.Mark)
}

func TestResize(t *testing.T) {
	x := newTerminal(t)
	j := probe("sizes")
	j.Interactive = true
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
			// Once: when the box is killed at last it may get another, and no time for it.
			script = "trap '[ -e " + file + " ] || echo hup > " + file + "' HUP; trap '' TERM; echo ready; while :; do sleep 0.02; done"
		}
		j := interactive(script)
		j.Result = filepath.Join(t.TempDir(), "result")
		cmd := x.start(j.command(t))
		x.expect("ready\r\n")
		x.close()
		_ = code(t, cmd)
		if r := readResult(t, j.Result); (r.Signal != syscall.SIGKILL) != graceful {
			t.Errorf("it ended with %+v", r)
		}
		if b, _ := os.ReadFile(file); string(b) != "hup\n" {
			t.Errorf("the handler did not run: %q", b)
		}
		gone(t, j.Mark)
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
	if legacy, _ := os.ReadFile("/proc/sys/dev/tty/legacy_tiocsti"); strings.TrimSpace(string(legacy)) != "0" {
		defer func() {
			// The same attempt without a box succeeds.
			x.send(self() + " " + wordProbe + " tiocsti\r")
			x.expect("\nINJECTED\r\n")
		}()
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
		{" 2>$D/err; cat $D/err", true, "true true false"},
		{" | cat", true, "true false true"},
		{" </dev/null | cat", true, "false false true"},
		{"", false, "false true true"}, // stdin is not for it
		{" >/dev/null", false, "false false true"},
		{" </dev/null 2>$D/err >/dev/null; cat $D/err", false, "false false false"},
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

// A bwrap that hangs can be interrupted, with the terminal as it was.
func TestInterruptedStart(t *testing.T) {
	hangs := writeFile(t, "bwrap", "#!/bin/sh\nexec sleep 30\n", 0o755)
	x := newTerminal(t)
	before := x.modes()
	j := interactive("echo never")
	j.Bwrap, j.Result = hangs, filepath.Join(t.TempDir(), "result")
	cmd := x.start(j.command(t))
	eventually(t, "bwrap started", patience, func() bool {
		return strings.Contains(fmt.Sprint(alive(j.Mark)), "(sleep)") && catches(cmd.Process.Pid, syscall.SIGTSTP)
	})
	x.send("\x03")
	if c := code(t, cmd); c != 130 {
		t.Errorf("exit code %d", c)
	}
	if r := readResult(t, j.Result); r.Started || r.Signal != syscall.SIGINT {
		t.Errorf("%+v", r)
	}
	if x.modes() != before {
		t.Error("modes not restored")
	}
	gone(t, j.Mark)
}

// bwrap's own session changes nothing.
func TestNewSession(t *testing.T) {
	x := newTerminal(t)
	j := interactive("tty; echo rea''dy; exec sleep 1000")
	j.Args = []string{"--new-session"}
	cmd := x.start(j.command(t))
	x.expect("/dev/pts/0\r\nready\r\n")
	x.send("\x03")
	if c := code(t, cmd); c != 130 {
		t.Errorf("exit code %d", c)
	}
}

// The supervisor is not for anybody else.
func TestBoxByHand(t *testing.T) {
	cmd := exec.Command("/bin/bash", "-c", `exec -a /proc/self/fd/4 "$0" __box`, self())
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "for inner itself") {
		t.Errorf("%q, %v", out, err)
	}
}
