package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// The supervisor starts the program on the launcher's word and not before: until
// then the box may not yet be bound to the launcher's life. Here the test is the
// launcher, and bwrap is left out.
func TestNothingStartsWithoutTheWord(t *testing.T) {
	for name, c := range map[string]struct {
		word    []byte // what the launcher says; nil hangs up
		started bool
	}{
		"the word":      {[]byte{wire.MsgGo}, true},
		"another word":  {[]byte{wire.MsgHangup}, false},
		"a signal":      {[]byte{wire.MsgSignal, byte(unix.SIGTERM)}, false},
		"nothing, ever": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			started := filepath.Join(t.TempDir(), "started")
			sock, supervisor := startSupervisor(t, &wire.Spec{Program: "/bin/sh", Dir: "/", Argv: []string{"sh", "-c", "echo x >" + started}})
			if got := nextMessage(t, sock); got != wire.MsgReady {
				t.Fatalf("first message %q", got)
			}
			// Half a second is what it has had to forget that it should wait.
			if n, err := unix.Poll([]unix.PollFd{{Fd: int32(sock), Events: unix.POLLIN}}, 500); n != 0 {
				t.Errorf("it did not wait for the word (%v)", err)
			}
			if _, err := os.Stat(started); err == nil {
				t.Error("the program has started without the word")
			}
			if c.word == nil {
				unix.Close(sock)
			} else if err := wire.Send(sock, c.word); err != nil {
				t.Fatal(err)
			}
			_ = supervisor.Wait()
			if _, err := os.Stat(started); (err == nil) != c.started {
				t.Errorf("started: %v, want %v (%v)", err == nil, c.started, supervisor.ProcessState)
			}
		})
	}
}

// startSupervisor starts a supervisor that is told s, and returns the launcher's
// end of its socket.
func startSupervisor(t *testing.T, s *wire.Spec) (sock int, cmd *exec.Cmd) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(pair[0]) })
	told, err := wire.Memfd(s.Encode())
	if err != nil {
		t.Fatal(err)
	}
	open := func(file string) *os.File {
		f, err := os.OpenFile(file, os.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	other, spec := os.NewFile(uintptr(pair[1]), "socket"), os.NewFile(uintptr(told), "spec")
	null := open("/dev/null")
	// In the order of wire.go, from descriptor 3 on.
	files := []*os.File{other, open(self()), null, spec, null, null, null}
	cmd = &exec.Cmd{Path: self(), Args: []string{wire.Exe, wire.Word}, ExtraFiles: files, Stderr: os.Stderr, WaitDelay: 10 * time.Second}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	for _, f := range files {
		f.Close()
	}
	return pair[0], cmd
}

// nextMessage waits for the next message of a supervisor, and returns its letter.
func nextMessage(t *testing.T, sock int) byte {
	t.Helper()
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(sock), Events: unix.POLLIN}}, 20000); n != 1 {
		t.Fatalf("no message (%v)", err)
	}
	var buf [wire.MaxMessage]byte
	n, _, _, err := wire.Receive(sock, buf[:])
	if err != nil || n == 0 {
		t.Fatalf("message of %d bytes (%v)", n, err)
	}
	return buf[0]
}
