package nsenter

import (
	"errors"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestSignals: a signal of the terminal, which every process of a job gets, ends none of the calls.
func TestSignals(t *testing.T) {
	for _, s := range []syscall.Signal{unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP} {
		nap := &unix.Timespec{Nsec: 50e6}
		pid, err := Start(Bound(), New(unix.SYS_NANOSLEEP, unsafe.Pointer(nap), 0))
		if err == nil {
			err = errors.Join(unix.Kill(pid, unix.SIGTSTP), unix.Kill(pid, s), Wait(pid))
		}
		if err != nil {
			t.Errorf("%v: %v", s, err)
		}
	}
}

// TestFailed: the first call that fails is the one that is told, and not one that may.
func TestFailed(t *testing.T) {
	may := New(unix.SYS_CHDIR, "/nowhere")
	may.May = true
	var f *Failed
	err := Do(may, New(unix.SYS_GETPID), New(unix.SYS_FCHDIR, 1<<20), New(unix.SYS_RMDIR, "/"))
	if !errors.As(err, &f) || *f != (Failed{unix.SYS_FCHDIR, unix.EBADF}) || !errors.Is(err, unix.EBADF) {
		t.Errorf("%#v", err)
	}
}
