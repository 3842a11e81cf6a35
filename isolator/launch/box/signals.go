package box

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Quietly changes a terminal. A background process that does so is stopped by SIGTTOU, and its group with it,
// unless the calling thread blocks that (tty_ioctl(4)).
func Quietly(change func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var old, block unix.Sigset_t
	block.Val[0] = 1 << (unix.SIGTTOU - 1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &block, &old); err != nil {
		return err
	}
	defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil) }()
	return change()
}

// unblockSignals has the calling thread, and with that what it executes or forks, take every signal.
func unblockSignals() {
	var none unix.Sigset_t
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &none, nil)
}
