// Package terminal is a person at a terminal: it runs a program in a
// pseudo-terminal, waits for what it shows, and types. The tests, the demo and
// the benchmarks share it; inner itself does not use it.
//
//	t, err := terminal.Start(exec.Command("bash", "-i"))
//	err = t.Follow("expect [$] \nsend \"exit 3\\r\"\nexit 3", os.Getenv)
//
// Nothing in it sleeps: every step waits for something to be seen and has a
// deadline.
package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/lazy"
)

// Patience is how long a step waits for something that should happen at once.
const Patience = 2 * time.Minute

// Terminal is a program in a pseudo-terminal of 24 rows and 80 columns. Close
// it when done.
type Terminal struct {
	cmd    *exec.Cmd
	master *os.File

	mu   sync.Mutex
	raw  []byte        // all that was shown
	more chan struct{} // closed and renewed at every change
	at   int           // in the plain text: the end of the last match

	done chan struct{} // closed when the program ended
}

// Start starts cmd as the leader of a session of its own, whose terminal this
// is.
func Start(cmd *exec.Cmd) (*Terminal, error) {
	DefaultSignals()
	first, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		return nil, err
	}
	master, err := pollable(first)
	if err != nil {
		return nil, err
	}
	t := &Terminal{cmd: cmd, master: master, more: make(chan struct{}), done: make(chan struct{})}
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

// pollable replaces a file by one whose Close ends a Read that waits. The file
// that package pty returns is in blocking mode: closing it would wait for the
// reader, and so the terminal would never hang up.
func pollable(f *os.File) (*os.File, error) {
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// resize sets the size, in rows and columns.
func (t *Terminal) resize(rows, cols uint16) error {
	conn, err := t.master.SyscallConn()
	if err != nil {
		return err
	}
	cerr := conn.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
	})
	return errors.Join(cerr, err)
}

// show records output and answers what terminals answer: what they are, and
// where the cursor is.
func (t *Terminal) show(p []byte) {
	t.mu.Lock()
	t.raw = append(t.raw, p...)
	close(t.more)
	t.more = make(chan struct{})
	t.mu.Unlock()
	if s := string(p); strings.Contains(s, "\x1b[c") || strings.Contains(s, "\x1b[0c") {
		_, _ = t.master.WriteString("\x1b[?62;c")
	} else if n := strings.Count(s, "\x1b[6n"); n > 0 {
		_, _ = t.master.WriteString(strings.Repeat("\x1b[1;1R", n)) // nu waits for each
	}
	if bytes.Contains(p, []byte("\x1b[5n")) {
		_, _ = t.master.WriteString("\x1b[0n")
	}
}

// escapes are the sequences that draw and show nothing.
var escapes = lazy.Regexp("\x1b\\[[0-9;:?<=>!\"' $]*[@-~]|\x1b[\\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b[()*+#%][ -~]|\x1b[=>78cDEHMNOZ]|\x0f|\x0e")

// Plain is text as a terminal showed it, without escape sequences and with
// plain line ends.
func Plain(raw []byte) string {
	text := strings.ReplaceAll(escapes().ReplaceAllString(string(raw), ""), "\r\n", "\n")
	return strings.ReplaceAll(text, "\n\r", "\n") // readline goes to the margin after every Enter
}

// Text is all that was shown so far, without escape sequences.
func (t *Terminal) Text() string {
	text, _ := t.text()
	return text
}

func (t *Terminal) text() (string, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Plain(t.raw), t.more
}

// Expect waits until the text after the last match matches.
func (t *Terminal) Expect(re *regexp.Regexp, limit time.Duration) error {
	end := time.After(limit)
	for {
		text, more := t.text()
		if t.match(re, text) {
			return nil
		}
		select {
		case <-more:
		case <-t.done:
			if text, _ = t.text(); !t.match(re, text) {
				return fmt.Errorf("the program ended (%v) without showing %q", t.cmd.ProcessState, re)
			}
			return nil
		case <-end:
			return fmt.Errorf("%q was not shown within %v", re, limit)
		}
	}
}

func (t *Terminal) match(re *regexp.Regexp, text string) bool {
	from := min(t.at, len(text))
	m := re.FindStringIndex(text[from:])
	if m != nil {
		t.at = from + m[1]
	}
	return m != nil
}

// Send types text.
func (t *Terminal) Send(text string) error {
	_, err := t.master.WriteString(text)
	return err
}

// Wait waits for the program's end and returns the code a shell would show.
func (t *Terminal) Wait(limit time.Duration) (int, error) {
	select {
	case <-t.done:
		return ExitCode(t.cmd.ProcessState), nil
	case <-time.After(limit):
		return 0, fmt.Errorf("the program still runs after %v", limit)
	}
}

// Close hangs up and ends the program.
func (t *Terminal) Close() {
	_ = t.master.Close()
	_ = t.cmd.Process.Kill()
	<-t.done
}

// ExitCode is the code a shell would show: 128+N for death by signal N.
func ExitCode(s *os.ProcessState) int {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}

// Follow does steps, one a line; empty lines and those that start with # count
// for nothing.
//
//	expect REGEXP       wait until the text after the last match matches
//	send "TEXT"         type, a Go string: "\r" is Enter, "\x03" is ^C
//	size ROWSxCOLS      resize the terminal
//	signal NAME         signal the program (TERM, KILL, HUP, STOP, CONT)
//	hangup              close the terminal
//	exit CODE           wait for the end; 128+N is death by signal N
//
// ${NAME} in a step is getenv's value. Without an exit step the end is awaited
// and any code accepted.
func (t *Terminal) Follow(steps string, getenv func(string) string) error {
	ended := false
	for i, line := range strings.Split(steps, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		verb, arg, _ := strings.Cut(line, " ")
		arg = variables().ReplaceAllStringFunc(strings.TrimSpace(arg),
			func(v string) string { return getenv(v[2 : len(v)-1]) })
		if err := t.step(verb, arg); err != nil {
			return fmt.Errorf("line %d, %s: %w", i+1, line, err)
		}
		ended = ended || verb == "exit"
	}
	if !ended {
		_, err := t.Wait(Patience)
		return err
	}
	return nil
}

var variables = lazy.Regexp(`\$\{[A-Z_]+\}`)

func (t *Terminal) step(verb, arg string) error {
	do := map[string]func(arg string) error{
		"expect": t.expect, "send": t.send, "size": t.size, "signal": t.signal, "exit": t.exit,
		"hangup": func(string) error { return t.master.Close() },
	}[verb]
	if do == nil {
		return errors.New("unknown step")
	}
	return do(arg)
}

func (t *Terminal) expect(arg string) error {
	re, err := regexp.Compile("(?m)" + arg)
	if err != nil {
		return err
	}
	return t.Expect(re, Patience)
}

func (t *Terminal) send(arg string) error {
	text, err := strconv.Unquote(arg)
	if err != nil {
		return fmt.Errorf("%s is not a Go string: %w", arg, err)
	}
	return t.Send(text)
}

func (t *Terminal) size(arg string) error {
	var rows, cols uint16
	if _, err := fmt.Sscanf(arg, "%dx%d", &rows, &cols); err != nil {
		return err
	}
	return t.resize(rows, cols)
}

func (t *Terminal) signal(arg string) error {
	sig := unix.SignalNum("SIG" + arg)
	if sig == 0 {
		return fmt.Errorf("no signal %q", arg)
	}
	return t.cmd.Process.Signal(sig)
}

func (t *Terminal) exit(arg string) error {
	want, err := strconv.Atoi(arg)
	if err != nil {
		return err
	}
	got, err := t.Wait(Patience)
	if err == nil && got != want {
		err = fmt.Errorf("exit code %d, want %d", got, want)
	}
	return err
}
