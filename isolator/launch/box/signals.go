package box

import (
	"os"
	"os/signal"
	"runtime"
	"unsafe"

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

// shrugOff has signals come to no effect. The first process of a namespace of processes takes none of their default
// effects (pid_namespaces(7)): it is enough to take out the handlers of the Go runtime, which would. To have
// them tell us takes a thread, and two switches to that for each. Where an engine has an init of its own we are
// not the first.
func shrugOff(list ...os.Signal) {
	if unix.Getpid() != 1 {
		signal.Notify(make(chan os.Signal, 1), list...)
		return
	}
	for _, s := range list {
		var byDefault [4]uint64 // the kernel's struct sigaction, with SIG_DFL
		_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s.(unix.Signal)),
			uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0)
	}
}
