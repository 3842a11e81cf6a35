package launch

import (
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// A signal that comes between two tries of a run reaches the second one.
func TestSignalBetweenTries(t *testing.T) {
	until := func(i *inbox, want byte) {
		if err := i.open(); err != nil {
			t.Fatal(err)
		}
		i.catch()
		var got []byte
		for !slices.Contains(got, want) {
			wire.Poll(i.r, unix.POLLIN, -1)
			got = append(got, i.take()...)
		}
		i.close(true)
	}
	until(&inbox{}, wakeCaught)
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGUSR1)
	until(&inbox{}, byte(syscall.SIGUSR1))
}
