package supervisor

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/seccomp"
)

// observeError is a program that could not be observed as was asked, and so was
// not started.
type observeError struct{ error }

// observe puts a filter on the calling thread, and with that on what it executes
// or forks, that tells the launcher of every call that names a file. The
// listener goes to the launcher, which answers from then on: until it has it,
// this thread makes no such call.
func observe(wanted bool) error {
	if !wanted {
		return nil
	}
	code, err := seccomp.Notify(runtime.GOARCH)
	if err != nil {
		return observeError{err}
	}
	filter := make([]unix.SockFilter, len(code)/8)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&filter[0])), len(code)), code)
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	// WAIT_KILLABLE_RECV (Linux 5.19): a signal does not interrupt a call that
	// is being looked at, which the program would see as EINTR.
	listener, errno := uintptr(0), unix.Errno(0)
	for _, flags := range []uintptr{unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER} {
		listener, _, errno = unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
		if errno != unix.EINVAL {
			break
		}
	}
	runtime.KeepAlive(filter)
	if errno != 0 {
		return observeError{fmt.Errorf("the program cannot be observed: seccomp: %w", errno)}
	}
	err = wire.Send(wire.FdSocket, []byte{wire.MsgObserve}, int(listener))
	unix.Close(int(listener))
	return err
}
