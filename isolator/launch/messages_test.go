package launch

import (
	"math/rand/v2"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// Whatever arrives on the socket, the launcher neither fails nor believes in
// an end before a start, and keeps no descriptor it did not ask for.
func TestHostileMessages(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[1])
	null, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	before := openFiles(t)
	s := newSession(Options{})
	s.sock, s.console.ptys, s.program.at = pair[0], []int{1}, told
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		msg := make([]byte, r.IntN(wire.MaxMessage+100)+1)
		for i := range msg {
			msg[i] = byte(r.Uint32())
		}
		msg[0] = "rzteelndogyz\x00"[r.IntN(13)] // all but that it is there, and that the program starts or cannot
		if len(msg) > 4 && r.IntN(2) == 0 {
			copy(msg[1:], []byte{wire.First, 0, 0, 0})
		}
		var fds []int
		for range r.IntN(4) {
			fds = append(fds, int(null.Fd()))
		}
		if err := unix.Sendmsg(pair[1], msg, unix.UnixRights(fds...), nil, 0); err != nil {
			t.Fatal(err)
		}
		s.readMessages()
	}
	if s.program.at != told || len(s.output.relays) > 0 {
		t.Errorf("believed: %+v", s)
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors open, %d before", after, before)
	}
	if err := wire.Send(pair[1], wire.Msg{Kind: wire.Ended, Job: wire.First}); err != nil {
		t.Fatal(err)
	}
	s.readMessages()
	if s.program.at == ended {
		t.Error("ended without having started")
	}
	s.hangUpChannel()
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestBwrapReason(t *testing.T) {
	for in, want := range map[string]string{
		"bwrap: No permissions to create new namespace\n":       "No permissions to create new namespace",
		"ld.so: warning\nbwrap: Can't find source path /x: y\n": "Can't find source path /x: y",
		"something else\n\n": "something else",
		"":                   "bwrap ended with code 0 and no message",
	} {
		if got := bwrapReason([]byte(in), 0); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := bwrapReason(nil, 9); got != "bwrap was killed by signal 9 (killed)" {
		t.Errorf("%q", got)
	}
}
