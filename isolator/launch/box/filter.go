package box

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/seccomp"
)

// filter puts the filter of system calls on the calling thread, and with that on what it
// executes or forks. In a box of bwrap's it is there already.
func (b *box) filter() error {
	if b.spec.Container == nil || len(b.spec.Container.Filter) == 0 {
		return nil
	}
	if _, errno := setFilter(b.spec.Container.Filter, 0); errno != 0 {
		return fmt.Errorf("the filter of system calls: %w", errno)
	}
	return nil
}

// observe puts a filter on the calling thread, and with that on what it executes
// or forks, that tells the launcher of every call that names a file. The
// listener goes to the launcher, which answers from then on: until it has it,
// this thread makes no such call.
func (b *box) observe() error {
	if !b.spec.Observe {
		return nil
	}
	code, err := seccomp.Notify(runtime.GOARCH)
	if err != nil {
		return err
	}
	// WAIT_KILLABLE_RECV (Linux 5.19): a signal does not interrupt a call that
	// is being looked at, which the program would see as EINTR.
	listener, errno := setFilter(code, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	if errno == unix.EINVAL {
		listener, errno = setFilter(code, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	}
	if errno != 0 {
		return fmt.Errorf("the program cannot be observed: seccomp: %w", errno)
	}
	err = b.say(wire.Msg{Kind: wire.Observer}, listener)
	unix.Close(listener)
	return err
}

// setFilter is seccomp(2) with a program as package seccomp writes it. It returns the
// listener when the flags ask for one.
func setFilter(code []byte, flags uintptr) (listener int, errno unix.Errno) {
	filter := make([]unix.SockFilter, len(code)/8)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&filter[0])), len(code)), code)
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	r, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	return int(r), errno
}
