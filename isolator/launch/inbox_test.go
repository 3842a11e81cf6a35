package launch

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// A signal that comes between two tries of a run reaches the second one.
func TestSignalBetweenTries(t *testing.T) {
	until := func(there func(*session) bool) {
		s := newSession(Options{})
		if err := s.inbox.open(); err != nil {
			t.Fatal(err)
		}
		s.catch()
		for !there(s) {
			wire.Poll(s.inbox.event, unix.POLLIN, -1)
			s.inbox.doAll()
		}
		s.close()
	}
	until(func(s *session) bool { return s.caught })
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGUSR1)
	until(func(s *session) bool { return s.program.early == syscall.SIGUSR1 })
}
