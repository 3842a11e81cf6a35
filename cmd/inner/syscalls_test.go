package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// syscalls makes system calls and says what each answers, a line each. The
// arguments are of a kind that a call which is let through fails in its own
// way, or does no harm.
func syscalls() int {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	say := func(name string, errno syscall.Errno) {
		word := "ok"
		if errno != 0 {
			word = unix.ErrnoName(errno)
		}
		fmt.Fprintln(out, name, word)
	}
	call := func(name string, nr uintptr, args ...uintptr) {
		var a [6]uintptr
		copy(a[:], args)
		_, _, errno := syscall.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
		say(name, errno)
	}
	const bad = ^uintptr(0) // no descriptor, no address
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	defer null.Close()
	fd := null.Fd()
	call("tiocsti", unix.SYS_IOCTL, fd, unix.TIOCSTI, 0)
	call("tiocsti-high", unix.SYS_IOCTL, fd, 1<<32|unix.TIOCSTI, 0)
	call("tioclinux", unix.SYS_IOCTL, fd, 0x541C, 0)
	call("tcgets", unix.SYS_IOCTL, fd, unix.TCGETS, 0)
	call("keyctl", unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, ^uintptr(2), 0) // the session's, -3
	call("add_key", unix.SYS_ADD_KEY, 0, 0, 0, 0, 0)
	call("io_uring", unix.SYS_IO_URING_SETUP, 0, 0)
	call("bpf", unix.SYS_BPF, bad, 0, 0)
	call("perf", unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, bad, bad)
	call("userfaultfd", unix.SYS_USERFAULTFD, bad)
	call("module", unix.SYS_FINIT_MODULE, bad, 0, bad)
	call("kexec", unix.SYS_KEXEC_LOAD, 0, bad, 0, bad)
	call("syslog", unix.SYS_SYSLOG, 10, 0, 0) // the size of the kernel's log
	call("mount", unix.SYS_MOUNT, 0, 0, 0, 0, 0)
	call("umount", unix.SYS_UMOUNT2, 0, 0)
	call("fsopen", unix.SYS_FSOPEN, 0, bad)
	call("move_mount", unix.SYS_MOVE_MOUNT, bad, 0, bad, 0, bad)
	call("handle", unix.SYS_OPEN_BY_HANDLE_AT, bad, 0, 0)
	call("setns", unix.SYS_SETNS, bad, 0)
	call("clone3", unix.SYS_CLONE3, 0, 0)
	call("unshare-files", unix.SYS_UNSHARE, unix.CLONE_FS)
	call("ptrace", unix.SYS_PTRACE, unix.PTRACE_ATTACH, bad, 0, 0)
	call("process_vm_readv", unix.SYS_PROCESS_VM_READV, bad, 0, 0, 0, 0, 0)
	call("personality", unix.SYS_PERSONALITY, 0xffffffff)
	for _, s := range []struct {
		name          string
		family, proto int
	}{
		{"unix", unix.AF_UNIX, 0},
		{"inet", unix.AF_INET, 0},
		{"inet6", unix.AF_INET6, 0},
		{"netlink", unix.AF_NETLINK, unix.NETLINK_ROUTE},
		{"netfilter", unix.AF_NETLINK, unix.NETLINK_NETFILTER},
		{"vsock", unix.AF_VSOCK, 0},
		{"alg", unix.AF_ALG, 0},
		{"packet", unix.AF_PACKET, 0},
	} {
		fd, err := unix.Socket(s.family, unix.SOCK_DGRAM, s.proto)
		errno, _ := err.(syscall.Errno)
		if s.family == unix.AF_ALG && errno == 0 {
			unix.Close(fd)
		}
		say("socket-"+s.name, errno)
	}
	if runtime.GOARCH == "amd64" {
		call("x32", unix.SYS_GETPID|0x40000000)
		say("int80", int80())
	}
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
	var errno syscall.Errno
	_ = errors.As(cmd.Run(), &errno)
	say("clone-user", errno)
	return 0
}

// int80 asks for TIOCSTI by the 32-bit entry of a 64-bit process, which takes a
// program of its own, and returns what it answered.
func int80() syscall.Errno {
	code := []byte{
		0xb8, 54, 0, 0, 0, // mov eax, 54 (ioctl of i386)
		0x31, 0xdb, // xor ebx, ebx (descriptor 0)
		0xb9, 0x12, 0x54, 0, 0, // mov ecx, TIOCSTI
		0x31, 0xd2, // xor edx, edx (no address)
		0xcd, 0x80, // int 0x80
		0xf7, 0xd8, // neg eax
		0x89, 0xc7, // mov edi, eax
		0xb8, 60, 0, 0, 0, // mov eax, 60 (exit)
		0x0f, 0x05, // syscall
	}
	const base, header = 0x400000, 64 + 56
	elf := []byte{0x7f, 'E', 'L', 'F', 2, 1, 1, 15: 0}
	le := binary.LittleEndian
	half := func(v ...uint16) {
		for _, x := range v {
			elf = le.AppendUint16(elf, x)
		}
	}
	word := func(v ...uint32) {
		for _, x := range v {
			elf = le.AppendUint32(elf, x)
		}
	}
	long := func(v ...uint64) {
		for _, x := range v {
			elf = le.AppendUint64(elf, x)
		}
	}
	half(2, 62) // executable, x86-64
	word(1)
	long(base+header, 64, 0) // entry, program headers, no sections
	word(0)
	half(64, 56, 1, 0, 0, 0)
	word(1, 5) // load, readable and executable
	size := uint64(header + len(code))
	long(0, base, base, size, size, 0x1000)
	elf = append(elf, code...)

	f, err := os.CreateTemp("", "int80")
	if err == nil {
		defer os.Remove(f.Name())
		_, err = f.Write(elf)
	}
	if err == nil {
		err = f.Chmod(0o755)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		panic(err)
	}
	err = exec.Command(f.Name()).Run() // standard input is /dev/null
	exit, ok := err.(*exec.ExitError)
	if !ok || exit.ExitCode() <= 0 {
		return syscall.EFAULT // no such entry here: it died of it
	}
	return syscall.Errno(exit.ExitCode())
}
