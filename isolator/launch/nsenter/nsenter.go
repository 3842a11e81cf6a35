// Package nsenter makes system calls in the namespaces of a box, from outside.
//
// Who owns a user namespace gets its rights by joining it, which only a process with one thread may
// (setns(2)), and a Go program has several from its start. A bare fork of it has one. Nothing of Go's
// runs there but the calls of a list: the runtime has to know of the fork, as of each in
// syscall.ForkExec, and the functions that tell it are linked here by their names.
package nsenter

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

// Call is a system call.
type Call struct {
	Number uintptr
	Args   [6]uintptr
	At     int              // the descriptor that what it opens becomes, here too; 0 for none
	Some   bool             // 0 is a failure: nothing was read, and nothing will be
	May    bool             // it may fail: then the next one follows
	Skip   int              // how many are left out after it when it did not fail
	Keep   []unsafe.Pointer // what the arguments point to
	failed syscall.Errno    // for Do
}

// Failed is the error of Do when a call failed.
type Failed struct {
	Number uintptr
	Errno  syscall.Errno
}

func (f *Failed) Error() string { return f.Errno.Error() }
func (f *Failed) Unwrap() error { return f.Errno }

// New is a call with these arguments: numbers, strings, and pointers to what the kernel reads or writes.
func New(number uintptr, args ...any) Call {
	c := Call{Number: number}
	for i, arg := range args {
		switch v := arg.(type) {
		case int:
			c.Args[i] = uintptr(v)
		case string:
			text, _ := syscall.BytePtrFromString(v) // paths have no zero byte
			c.Keep = append(c.Keep, unsafe.Pointer(text))
			c.Args[i] = uintptr(unsafe.Pointer(text))
		case unsafe.Pointer:
			c.Keep = append(c.Keep, v)
			c.Args[i] = uintptr(v)
		}
	}
	return c
}

// Opens is a call whose result becomes the descriptor at, here too, whatever has that number.
func Opens(at int, number uintptr, args ...any) Call {
	c := New(number, args...)
	c.At = at
	return c
}

// Setns joins a namespace by its descriptor.
func Setns(fd, kind int) Call { return New(unix.SYS_SETNS, fd, kind) }

// Owner joins the user namespace that owns others, unless it is our own, which nobody joins (EINVAL). Where that
// fails for another reason those cannot be joined either.
func Owner(fd int) Call {
	c := Setns(fd, unix.CLONE_NEWUSER)
	c.May = true
	return c
}

// Bound has the process end with us. A call that changes its rights, as Setns to a user namespace, comes before.
func Bound() Call {
	return New(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, int(unix.SIGKILL))
}

// Do has a process of one thread, which shares our descriptors, make the calls in their order up to
// the first that fails, which it returns as Failed.
func Do(calls ...Call) error {
	// It has our memory, and this thread stands still meanwhile: a copy of the memory's tables takes half a
	// millisecond. None of the calls may take its rights from it that has the memory, as setuid(2) does.
	pid, err := start(syscall.CLONE_VM|syscall.CLONE_VFORK, calls)
	if err != nil {
		return err
	}
	err = Wait(pid)
	for _, c := range calls {
		if err != nil && c.failed != 0 {
			err = &Failed{c.Number, c.failed}
		}
	}
	return err
}

// Start is Do without waiting for the end.
func Start(calls ...Call) (pid int, err error) { return start(0, calls) }

func start(flags uintptr, calls []Call) (pid int, err error) {
	syscall.ForkLock.Lock()
	child, errno := fork(flags, unsafe.SliceData(calls), len(calls))
	syscall.ForkLock.Unlock()
	runtime.KeepAlive(calls)
	if errno != 0 {
		return 0, fmt.Errorf("fork: %w", syscall.Errno(errno))
	}
	return int(child), nil
}

// Wait waits for what Start has started.
func Wait(pid int) error {
	var status syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
			break
		}
	}
	switch code := status.ExitStatus(); {
	case code > 0:
		return syscall.Errno(code)
	case code < 0:
		return fmt.Errorf("%v", status.Signal())
	}
	return nil
}

// clone is clone(2). The package syscall has the same, for itself.
func clone(flags uintptr) (pid, errno uintptr)

// fork returns in the parent alone. The child ends with the error of the call that failed: it goes on in this frame,
// which may be the parent's, too. All signals stay blocked in it, as beforeFork has them: one of a terminal would stop or
// kill it in the parent's place, which waits for it.
//
//go:norace
//go:nosplit
func fork(flags uintptr, calls *Call, n int) (pid, errno uintptr) {
	beforeFork()
	pid, errno = clone(flags | syscall.CLONE_FILES | uintptr(syscall.SIGCHLD))
	if errno != 0 || pid != 0 {
		afterFork()
		return pid, errno
	}
	var failed syscall.Errno
	for i := 0; i < n && failed == 0; i++ {
		c := (*Call)(unsafe.Add(unsafe.Pointer(calls), uintptr(i)*unsafe.Sizeof(Call{})))
		var got uintptr
		got, _, failed = syscall.RawSyscall6(c.Number, c.Args[0], c.Args[1], c.Args[2], c.Args[3], c.Args[4], c.Args[5])
		if failed == 0 && c.At > 0 {
			_, _, failed = syscall.RawSyscall(syscall.SYS_DUP3, got, uintptr(c.At), syscall.O_CLOEXEC)
			syscall.RawSyscall(syscall.SYS_CLOSE, got, 0, 0)
		}
		if failed == 0 && c.Some && got == 0 {
			failed = syscall.EPIPE
		}
		if failed == 0 {
			i += c.Skip
		} else if c.May {
			failed = 0
		}
		c.failed = failed // its memory may be ours
	}
	for {
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(failed), 0, 0)
	}
}
