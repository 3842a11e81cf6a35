package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// nouserns replaces this process by a command for which user namespaces are
// switched off, as sysctls, AppArmor and containers do it: whatever would make
// one fails with EPERM. It returns only when that did not work.
func nouserns(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("which command?")
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	const (
		nr, arg0          = 0, 16 // offsets in struct seccomp_data, seccomp(2)
		denied, unknown   = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM), unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
		load, equal, mask = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		ret               = unix.BPF_RET | unix.BPF_K
	)
	filter := []unix.SockFilter{
		{Code: load, K: nr},
		{Code: equal, K: unix.SYS_CLONE3, Jf: 1},
		{Code: ret, K: unknown}, // its flags are in memory, where no filter sees them; libc falls back to clone
		{Code: equal, K: unix.SYS_CLONE, Jt: 1},
		{Code: equal, K: unix.SYS_UNSHARE, Jf: 3},
		{Code: load, K: arg0},
		{Code: mask, K: unix.CLONE_NEWUSER, Jf: 1},
		{Code: ret, K: denied},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread() // the filter is this thread's, and so is the exec
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
		return err
	}
	return unix.Exec(path, args, os.Environ())
}
