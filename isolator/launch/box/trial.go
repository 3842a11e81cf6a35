package box

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// try has the kernel execute a program as far as its first instruction, and returns only
// when it refuses to. No memory can be mapped for the program: the kernel looks at the
// file and at its interpreter, finds them good or not, and then ends the process by
// SIGSEGV when it cannot map them (fs/exec.c, bprm_execve; fs/binfmt_elf.c).
//
// The program gets no arguments and no environment, which would need more than the one
// page that the kernel has for them by then: whether they are too long is not known.
func try(program string) error {
	path, err := unix.BytePtrFromString(program)
	if err != nil {
		return err
	}
	name, err := unix.BytePtrFromString("trial")
	if err != nil {
		return err
	}
	argv, env := []*byte{name, nil}, []*byte{nil}
	// One byte: no core is written, and none is handed to a program either (core(5)).
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1}); err != nil {
		return err
	}
	var was syscall.Rlimit
	if err := syscall.Getrlimit(unix.RLIMIT_AS, &was); err != nil {
		return err
	}
	now := syscall.Rlimit{Cur: 0, Max: was.Max}
	// From here on nothing may be allocated, so the calls are raw.
	if _, _, errno := unix.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_AS, uintptr(unsafe.Pointer(&now)), 0, 0, 0); errno != 0 {
		return errno
	}
	_, _, failed := unix.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&env[0])))
	if _, _, errno := unix.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_AS, uintptr(unsafe.Pointer(&was)), 0, 0, 0); errno != 0 {
		return errno
	}
	if failed == unix.E2BIG { // the file is good, and its name is longer than that page
		unix.Exit(0)
	}
	return failed
}
