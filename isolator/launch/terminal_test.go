package launch

import (
	"os"
	"os/exec"
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

// shell starts a real bash with job control in the terminal.
func (x *terminal) shell() *exec.Cmd {
	x.t.Helper()
	cmd := exec.Command("/bin/bash", "--norc", "--noprofile", "-i")
	cmd.Env = []string{"PS1=<prompt>", "PATH=/usr/bin:/bin", "HOME=" + os.TempDir(), "TERM=xterm", "HISTFILE=", "GORACE=atexit_sleep_ms=0", "INPUTRC=" + writeFile(x.t, "inputrc", "set enable-bracketed-paste off\n", 0o600), "TMPDIR=" + os.TempDir(), "D=" + x.t.TempDir(), "L=" + self() + " " + wordLaunch}
	x.resize(24, 250) // no line breaks in the commands
	x.start(cmd)
	x.expect("<prompt>")
	return cmd
}
