package launch

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// A supervisor that ends without having read the word, or before it was given, has still said why.
func TestLastWord(t *testing.T) {
	for _, given := range []bool{true, false} {
		testLastWord(t, given)
	}
}

func testLastWord(t *testing.T, given bool) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := wire.Send(fds[1], wire.Msg{Kind: wire.Failed, N: CodeNoSandbox, Text: "because"}); err != nil {
		t.Fatal(err)
	}
	if given {
		err = wire.Send(fds[0], wire.Msg{Kind: wire.Start, Job: wire.First})
	}
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(fds[1])
	s := newSession(Options{})
	s.sock = fds[0]
	if s.program.at, s.caught, s.network.up = ready, true, true; !given {
		s.release()
	}
	s.readMessages()
	if r := s.program.res; s.program.at != ended || r.Code != CodeNoSandbox || r.Reason != "because" || s.sock >= 0 {
		t.Errorf("%+v, socket %d", s.program, s.sock)
	}
}
