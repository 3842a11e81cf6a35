package box

import (
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

// unblockSignals has the calling thread, and with that what it executes or forks, take every signal.
func unblockSignals() {
	var none unix.Sigset_t
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &none, nil)
}
