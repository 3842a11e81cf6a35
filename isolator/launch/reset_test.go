package launch

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// A supervisor that ends without having read the word has still said why.
func TestLastWord(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := wire.Send(fds[1], wire.Msg{Kind: wire.Failed, N: CodeNoSandbox, Text: "because"}); err != nil {
		t.Fatal(err)
	}
	if err := wire.Send(fds[0], wire.Msg{Kind: wire.Start, Job: wire.First}); err != nil {
		t.Fatal(err)
	}
	unix.Close(fds[1])
	s := newSession(Options{})
	s.sock = fds[0]
	s.readMessages()
	if r := s.program.res; s.program.at != ended || r.Code != CodeNoSandbox || r.Reason != "because" || s.sock >= 0 {
		t.Errorf("%+v, socket %d", s.program, s.sock)
	}
}
