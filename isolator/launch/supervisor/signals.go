package supervisor

import (
	"os/signal"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Sigset returns a set of signals.
func Sigset(sigs ...unix.Signal) *unix.Sigset_t {
	var s unix.Sigset_t
	bits := uint(8 * unsafe.Sizeof(s.Val[0]))
	for _, sig := range sigs {
		n := uint(sig) - 1
		s.Val[n/bits] |= 1 << (n % bits)
	}
	return &s
}

// setSignals gives the program what the person's shell gave inner, as a direct run would:
// these signals ignored, the others at their default, none blocked.
func setSignals(ignored uint64) {
	for n := syscall.Signal(1); n <= 64; n++ {
		if ignored&(1<<(n-1)) != 0 {
			signal.Ignore(n)
		}
	}
	unblockSignals()
}

// unblockSignals has the calling thread, and with that what it executes or forks, take every signal.
func unblockSignals() {
	var none unix.Sigset_t
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &none, nil)
}
