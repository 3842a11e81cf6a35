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

// The first process of a box starts the program on the launcher's word and not before: until
// then the box may not yet be bound to the launcher's life. Here the test is the
// launcher, and bwrap is left out.
func TestNothingStartsWithoutTheWord(t *testing.T) {
	for name, c := range map[string]struct {
		word    *wire.Msg // what the launcher says; nil hangs up
		started bool
	}{
		"the word":      {&wire.Msg{Kind: wire.Start, Job: wire.First}, true},
		"a signal":      {&wire.Msg{Kind: wire.Signal, Job: wire.First, N: uint32(unix.SIGTERM)}, false},
		"nothing, ever": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			started := filepath.Join(t.TempDir(), "started")
			sock, first := startBox(t)
			for _, want := range []wire.Kind{wire.Here, wire.Ready} {
				if m, _, err := wire.Await(sock); err != nil || m.Kind != want {
					t.Fatalf("message %q (%v), want %q", m.Kind, err, want)
				}
			}
			// Half a second is what it has had to forget that it should wait.
			if wire.Poll(sock, unix.POLLIN, 500) != 0 {
				t.Error("it did not wait for the word")
			}
			if _, err := os.Stat(started); err == nil {
				t.Error("the program has started without the word")
			}
			if c.word != nil {
				say(t, sock, *c.word, &wire.Job{Program: "/bin/sh", Dir: "/", Argv: []string{"sh", "-c", "echo x >" + started}, Alone: true})
			}
			if c.started {
				_ = first.Wait()
			}
			unix.Close(sock)
			_ = first.Wait()
			if _, err := os.Stat(started); (err == nil) != c.started {
				t.Errorf("started: %v, want %v (%v)", err == nil, c.started, first.ProcessState)
			}
		})
	}
}

// startBox starts the first process of a box, and returns the launcher's end of its socket.
func startBox(t *testing.T) (sock int, cmd *exec.Cmd) {
	t.Helper()
	ours, theirs, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Open(self())
	if err != nil {
		t.Fatal(err)
	}
	other := os.NewFile(uintptr(theirs), "socket")
	// In the order of wire.go, from descriptor 3 on.
	cmd = &exec.Cmd{Path: self(), Args: []string{wire.Exe, wire.Word}, ExtraFiles: []*os.File{other, exe}, Stderr: os.Stderr, WaitDelay: 10 * time.Second}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	other.Close()
	exe.Close()
	spec, err := wire.Seal(&wire.Box{})
	if err == nil {
		err = wire.Send(ours, wire.Msg{Kind: wire.Make}, spec)
	}
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(spec)
	return ours, cmd
}

// say sends a message with a job and streams of nothing.
func say(t *testing.T, sock int, m wire.Msg, j *wire.Job) {
	t.Helper()
	null, err := wire.OpenNull()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(null)
	job, err := wire.Seal(j)
	if err == nil {
		err = wire.Send(sock, m, job, null, null, null)
	}
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(job)
}
