package main

// A person at a terminal: a program in a pseudo-terminal, and steps that wait
// for what it shows and type. No step sleeps; each has a deadline.
//
//	expect REGEXP       wait until the text after the last match matches
//	send "TEXT"         type, a Go string: "\r" is Enter, "\x03" is ^C
//	size ROWSxCOLS      resize the terminal
//	signal NAME         signal the program (TERM, KILL, HUP, STOP, CONT)
//	hangup              close the terminal
//	exit CODE           wait for the end; 128+N is death by signal N
//
// ${NAME} in a step is a variable of the story. Without an exit step the end is
// awaited and any code accepted. What the terminal showed is the command's
// stdout, without escape sequences.

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// terminal is a program in a pseudo-terminal.
type terminal struct {
	cmd    *exec.Cmd
	master *os.File

	mu   sync.Mutex
	raw  []byte        // all that was shown
	more chan struct{} // closed and renewed at every change
	at   int           // in the plain text: the end of the last match

	done chan struct{} // closed when the program ended
}

func startTerminal(cmd *exec.Cmd) (*terminal, error) {
	master, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		return nil, err
	}
	t := &terminal{cmd: cmd, master: master, more: make(chan struct{}), done: make(chan struct{})}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 32*1024)
		for {
			n, err := master.Read(buf)
			if n > 0 {
				t.show(buf[:n])
			}
			if err != nil {
				return // EIO: the last process that held the terminal is gone
			}
		}
	}()
	go func() {
		_ = cmd.Wait() // the code is read from ProcessState
		// What it wrote last may still be on its way; a process it left behind may
		// hold the terminal for ever.
		select {
		case <-read:
		case <-time.After(time.Second):
		}
		close(t.done)
	}()
	return t, nil
}

// show records output and answers what terminals answer: what they are, and
// where the cursor is.
func (t *terminal) show(p []byte) {
	t.mu.Lock()
	t.raw = append(t.raw, p...)
	close(t.more)
	t.more = make(chan struct{})
	t.mu.Unlock()
	if s := string(p); strings.Contains(s, "\x1b[c") || strings.Contains(s, "\x1b[0c") {
		_, _ = t.master.WriteString("\x1b[?62;c")
	} else if strings.Contains(s, "\x1b[6n") {
		_, _ = t.master.WriteString("\x1b[1;1R")
	}
}

// escapes are the sequences that draw and show nothing.
var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b\\[[0-9;:?<=>!\"' $]*[@-~]|\x1b[\\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b[()*+#%][ -~]|\x1b[=>78cDEHMNOZ]|\x0f|\x0e")
})

func plain(raw []byte) string {
	return strings.ReplaceAll(escapes().ReplaceAllString(string(raw), ""), "\r\n", "\n")
}

func (t *terminal) text() (string, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return plain(t.raw), t.more
}

func (t *terminal) expect(re *regexp.Regexp, wait time.Duration) error {
	end := time.After(wait)
	for {
		text, more := t.text()
		from := min(t.at, len(text))
		if m := re.FindStringIndex(text[from:]); m != nil {
			t.at = from + m[1]
			return nil
		}
		select {
		case <-more:
		case <-t.done:
			if text, _ = t.text(); re.FindStringIndex(text[min(t.at, len(text)):]) == nil {
				return fmt.Errorf("the program ended (%v) without showing %q", t.cmd.ProcessState, re)
			}
		case <-end:
			return fmt.Errorf("%q was not shown within %v", re, wait)
		}
	}
}

func (t *terminal) wait(limit time.Duration) (int, error) {
	select {
	case <-t.done:
		return exitCode(t.cmd.ProcessState), nil
	case <-time.After(limit):
		return 0, fmt.Errorf("the program still runs after %v", limit)
	}
}

// close ends everything that is left.
func (t *terminal) close() {
	_ = t.master.Close()
	_ = t.cmd.Process.Kill()
	<-t.done
}

// exitCode is the code a shell would show.
func exitCode(s *os.ProcessState) int {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}

func cmdPty(ts *testscript.TestScript, neg bool, args []string) {
	refuseNeg(ts, neg, "pty STEPS COMMAND [ARG...]", len(args) >= 2)
	steps := ts.ReadFile(args[0])
	// testscript lends a custom command no environment; env(1) tells it.
	ts.Check(ts.Exec("/usr/bin/env", "-0"))
	env := strings.Split(strings.TrimSuffix(ts.ReadFile("stdout"), "\x00"), "\x00")
	path, err := lookPath(args[1], ts.Getenv("PATH"))
	ts.Check(err)
	cmd := exec.Command(path, args[2:]...)
	cmd.Args[0] = args[1]
	cmd.Env, cmd.Dir = env, ts.MkAbs(".")
	t, err := startTerminal(cmd)
	ts.Check(err)
	defer t.close()
	err = t.follow(steps, ts.Getenv)
	text, _ := t.text()
	fmt.Fprint(ts.Stdout(), text)
	if err != nil {
		ts.Fatalf("%s: %v\n--- the terminal showed\n%s", args[0], err, text)
	}
}

// lookPath finds a program on a PATH that is not this process's.
func lookPath(name, path string) (string, error) {
	if strings.ContainsRune(name, '/') {
		return name, nil
	}
	for _, dir := range strings.Split(path, ":") {
		file := dir + "/" + name
		if fi, err := os.Stat(file); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s: not on PATH", name)
}

// follow does the steps, one by one.
func (t *terminal) follow(steps string, getenv func(string) string) error {
	ended := false
	for i, line := range strings.Split(steps, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		verb, arg, _ := strings.Cut(line, " ")
		arg = variables().ReplaceAllStringFunc(strings.TrimSpace(arg), func(v string) string { return getenv(v[2 : len(v)-1]) })
		if err := t.step(verb, arg); err != nil {
			return fmt.Errorf("line %d, %s: %w", i+1, line, err)
		}
		ended = ended || verb == "exit" || verb == "hangup"
	}
	if !ended {
		_, err := t.wait(patience)
		return err
	}
	return nil
}

var variables = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{[A-Z_]+\}`) })

func (t *terminal) step(verb, arg string) error {
	switch verb {
	case "expect":
		re, err := regexp.Compile("(?m)" + arg)
		if err != nil {
			return err
		}
		return t.expect(re, patience)
	case "send":
		text, err := strconv.Unquote(arg)
		if err != nil {
			return fmt.Errorf("%s is not a Go string: %w", arg, err)
		}
		_, err = t.master.WriteString(text)
		return err
	case "size":
		var ws pty.Winsize
		if _, err := fmt.Sscanf(arg, "%dx%d", &ws.Rows, &ws.Cols); err != nil {
			return err
		}
		return pty.Setsize(t.master, &ws)
	case "signal":
		sig := unix.SignalNum("SIG" + arg)
		if sig == 0 {
			return fmt.Errorf("no signal %q", arg)
		}
		return t.cmd.Process.Signal(sig)
	case "hangup":
		return t.master.Close()
	case "exit":
		want, err := strconv.Atoi(arg)
		if err != nil {
			return err
		}
		got, err := t.wait(patience)
		if err == nil && got != want {
			err = fmt.Errorf("exit code %d, want %d", got, want)
		}
		return err
	}
	return errors.New("unknown step")
}

// The driver itself: it sees what is shown, types, resizes, and knows how a
// program ended.
func TestTerminal(t *testing.T) {
	for _, c := range []struct{ name, script, steps, fault string }{
		{"dialogue", `read -r x; echo "got <$x>"; exit 7`, "send \"hi\\r\"\nexpect got <hi>\nexit 7", ""},
		{"signal", `echo up; kill -TERM $$; sleep 60`, "expect up\nexit 143", ""},
		{"interrupt", `echo up; exec sleep 60`, "expect up\nsend \"\\x03\"\nexit 130", ""},
		{"size", `echo up; until [ "$(stty size)" = "30 101" ]; do read -rt 0.05; done; echo big`, "expect up\nsize 30x101\nexpect ^big$\nexit 0", ""},
		{"wrong code", `exit 3`, "exit 0", "line 1, exit 0: exit code 3, want 0"},
		{"never shown", `echo this`, "expect that", `line 1, expect that: the program ended (exit status 0) without showing "(?m)that"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			term, err := startTerminal(exec.Command("/bin/bash", "-c", c.script))
			if err != nil {
				t.Fatal(err)
			}
			defer term.close()
			got := ""
			if err := term.follow(c.steps, os.Getenv); err != nil {
				got = err.Error()
			}
			if got != c.fault {
				text, _ := term.text()
				t.Errorf("fault %q, want %q\n%s", got, c.fault, text)
			}
		})
	}
}
