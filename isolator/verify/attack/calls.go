package attack

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Words that are system calls.

// sys makes a system call.
func sys(n uintptr, args ...any) (uintptr, error) {
	var a [6]uintptr
	for i, arg := range args {
		switch v := arg.(type) {
		case int:
			a[i] = uintptr(v)
		case []byte:
			a[i] = uintptr(unsafe.Pointer(unsafe.SliceData(v)))
		}
	}
	got, _, errno := unix.Syscall6(n, a[0], a[1], a[2], a[3], a[4], a[5])
	runtime.KeepAlive(args)
	if errno != 0 {
		return 0, errno
	}
	return got, nil
}

// made is a system call that returns a descriptor, or nothing of worth.
func made(n uintptr, args ...any) error {
	fd, err := sys(n, args...)
	if err == nil {
		unix.Close(int(fd))
	}
	return err
}

// opened closes what an attack was given.
func opened(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// numbers reads words that are numbers.
func numbers(words ...string) (out []int) {
	for _, w := range words {
		n, _ := strconv.Atoi(w) // what is none is nought
		out = append(out, n)
	}
	return out
}

// secret is what an attack must not be given.
func secret() []byte { return []byte(os.Getenv("VICTIM")) }

// call makes a system call that a box has no use for.
func call(args []string) (string, error) {
	const readImpliesExec, addrNoRandomize = 0x0400000, 0x0040000
	socket := func(family, kind, proto int) func() error {
		return func() error { return opened(unix.Socket(family, kind|unix.SOCK_CLOEXEC, proto)) }
	}
	personality := func(flag int) func() error {
		return func() error { _, err := sys(unix.SYS_PERSONALITY, flag); return err }
	}
	return "", map[string]func() error{
		"io-uring":    func() error { return made(unix.SYS_IO_URING_SETUP, 1, make([]byte, 120)) }, // struct io_uring_params
		"userfaultfd": func() error { return made(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|1) },
		"x32":         func() error { _, err := sys(0x4000_0000 | unix.SYS_GETPID); return err },
		"perf":        perf,
		"keyctl":      func() error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true); return err },
		"socket-vsock": socket(unix.AF_VSOCK, unix.SOCK_STREAM,
			0), "socket-alg": socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0),
		"socket-packet": socket(unix.AF_PACKET, unix.SOCK_RAW,
			0), "socket-raw": socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP),
		"socket-netlink": func() error {
			return errors.Join(socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_SELINUX)(),
				socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_CRYPTO)())
		},
		"mount-api":   func() error { return opened(unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLOEXEC)) },
		"personality": personality(readImpliesExec), "no-randomisation": personality(addrNoRandomize),
		"bounding-set": func() error {
			return unless(unix.PrctlRetInt(unix.PR_CAPBSET_READ, unix.CAP_SYS_ADMIN, 0, 0, 0))(1, "the bounding set is empty")
		},
		"gain-privileges": func() error {
			return unless(unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0))(0, "no_new_privs is set")
		},
		"kernel-log": func() error { _, err := unix.Klogctl(10, nil); return err }, // SYSLOG_ACTION_SIZE_BUFFER
		"bpf":        loadProgram,
		"handle":     openByHandle,
	}[args[0]]()
}

// unless returns an error where a number is another.
func unless(got int, err error) func(want int, why string) error {
	return func(want int, why string) error {
		if err == nil && got != want {
			return errors.New(why)
		}
		return err
	}
}

func perf() error {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}
	attr.Size = uint32(unsafe.Sizeof(attr))
	return opened(unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC))
}

func loadProgram() error {
	insns := [2]uint64{0xb7, 0x95} // r0 = 0; exit
	license := []byte("GPL\x00")
	attr := struct {
		kind, count    uint32
		insns, license uint64
		rest           [96]byte
	}{kind: 1, count: 2, insns: uint64(uintptr(unsafe.Pointer(&insns))), license: uint64(uintptr(unsafe.Pointer(&license[0])))}
	return made(unix.SYS_BPF, 5, unsafe.Slice((*byte)(unsafe.Pointer(&attr)), unsafe.Sizeof(attr)),
		int(unsafe.Sizeof(attr)))
}

func openByHandle() error {
	h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, "/etc/passwd", 0)
	if err != nil {
		return err
	}
	at, err := unix.Open("/etc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	return opened(unix.OpenByHandleAt(at, h, unix.O_RDONLY|unix.O_CLOEXEC))
}

// hold holds the secret in memory, at an address that it prints.
func hold([]string) (string, error) {
	text := secret()
	// Who is allowed to trace it at all may: Yama (kernel, Documentation/admin-guide/LSM/Yama).
	_ = unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0)
	stay(fmt.Sprint(uintptr(unsafe.Pointer(&text[0]))))
	runtime.KeepAlive(text)
	return "", nil
}

func memory(args []string) (string, error) {
	n := numbers(args...)
	buf := make([]byte, n[2])
	_, err := unix.ProcessVMReadv(n[0], []unix.Iovec{{Base: &buf[0], Len: uint64(len(buf))}},
		[]unix.RemoteIovec{{Base: uintptr(n[1]), Len: len(buf)}}, 0)
	return string(buf), err
}

func ptrace(args []string) (string, error) {
	runtime.LockOSThread()
	n := numbers(args...)
	if err := unix.PtraceAttach(n[0]); err != nil {
		return "", err
	}
	var st unix.WaitStatus
	_, _ = unix.Wait4(n[0], &st, unix.WALL, nil)
	buf := make([]byte, n[2])
	_, err := unix.PtracePeekData(n[0], uintptr(n[1]), buf)
	_ = unix.PtraceDetach(n[0])
	return string(buf), err
}

func pidfd(args []string) (string, error) {
	p, err := unix.PidfdOpen(numbers(args...)[0], 0)
	if err != nil {
		return "", err
	}
	fd, err := unix.PidfdGetfd(p, 3, 0)
	if err != nil {
		return "", err
	}
	buf := make([]byte, 256)
	n, err := unix.Pread(fd, buf, 0)
	return string(buf[:max(n, 0)]), err
}

// descriptors reads what was left open, and a file in each folder of it.
func descriptors([]string) (said string, err error) {
	buf := make([]byte, 256)
	for fd := 3; fd < 256; fd++ {
		if n, err := unix.Pread(fd, buf, 0); err == nil && n > 0 {
			said += string(buf[:n])
		}
		if in, err := unix.Openat(fd, "open", unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
			n, _ := unix.Read(in, buf)
			said += string(buf[:max(n, 0)])
			unix.Close(in)
		}
	}
	return said, nil
}

// shm keeps the secret in shared memory, and says its number; or reads what is in one (shmop(2)).
func shm(args []string) (string, error) {
	if len(args) > 0 {
		mem, err := unix.SysvShmAttach(numbers(args...)[0], 0, unix.SHM_RDONLY)
		if err != nil {
			return "", err
		}
		return string(mem[:128]), nil
	}
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
	if err != nil {
		return "no memory\n", err
	}
	defer func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) }()
	mem, err := unix.SysvShmAttach(id, 0, 0)
	if err == nil {
		copy(mem, secret())
		stay(strconv.Itoa(id))
	}
	return "", err
}

// msg keeps the secret in a queue, or takes it (msgop(2)). A message begins with its kind.
func msg(args []string) (string, error) {
	text := make([]byte, 264)
	if len(args) > 0 {
		const noWait = 0o4000 // IPC_NOWAIT
		n, err := sys(unix.SYS_MSGRCV, numbers(args...)[0], text, 256, 0, noWait)
		return string(text[8 : 8+n]), err
	}
	id, err := sys(unix.SYS_MSGGET, 0, unix.IPC_CREAT|0o600) // IPC_PRIVATE
	if err != nil {
		return "no queue\n", err
	}
	defer func() { _, _ = sys(unix.SYS_MSGCTL, int(id), unix.IPC_RMID) }()
	text[0] = 1
	n := copy(text[8:], secret())
	if _, err = sys(unix.SYS_MSGSND, int(id), text, n); err == nil {
		stay(strconv.Itoa(int(id)))
	}
	return "", err
}

// mq keeps the secret in a POSIX queue of that name, or takes it (mq_overview(7)). The kernel takes the name
// without its slash.
func mq(args []string) (string, error) {
	name, text := append([]byte(args[0]), 0), make([]byte, 256)
	if len(args) > 1 {
		fd, err := sys(unix.SYS_MQ_OPEN, name, unix.O_RDONLY|unix.O_NONBLOCK, 0, 0)
		if err != nil {
			return "", err
		}
		n, err := sys(unix.SYS_MQ_TIMEDRECEIVE, int(fd), text, len(text))
		return string(text[:n]), err
	}
	attr := [8]int{1: 1, 2: len(text)} // struct mq_attr: one message
	fd, err := sys(unix.SYS_MQ_OPEN, name, unix.O_CREAT|unix.O_EXCL|unix.O_RDWR, 0o600,
		unsafe.Slice((*byte)(unsafe.Pointer(&attr)), unsafe.Sizeof(attr)))
	if err != nil {
		return "no queue\n", err
	}
	defer func() { _, _ = sys(unix.SYS_MQ_UNLINK, name) }()
	if _, err = sys(unix.SYS_MQ_TIMEDSEND, int(fd), secret(), len(secret())); err == nil {
		stay(args[0])
	}
	return "", err
}

// addKey has a key of the user's whose name is the secret: with their names anyone can ask for more.
func addKey([]string) (string, error) {
	id, err := unix.AddKey("user", string(secret()), []byte("x"), unix.KEY_SPEC_USER_KEYRING)
	if err != nil {
		return "no key\n", err
	}
	defer func() { _, _ = unix.KeyctlInt(unix.KEYCTL_UNLINK, id, unix.KEY_SPEC_USER_KEYRING, 0, 0) }()
	stay("a key")
	return "", nil
}

// keyed runs a command in a session, as a login makes it, of which a keyring has the secret, $KEYED.
func keyed(args []string) (string, error) {
	runtime.LockOSThread() // the session keyring is the thread's
	ring, name, command := numbers(args[0])[0], args[1], args[2:]
	if _, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0); err != nil {
		return "", err
	}
	for _, user := range []int{unix.KEY_SPEC_USER_KEYRING, unix.KEY_SPEC_USER_SESSION_KEYRING} {
		if _, err := unix.KeyctlInt(unix.KEYCTL_LINK, user, unix.KEY_SPEC_SESSION_KEYRING, 0, 0); err != nil {
			return "", err
		}
	}
	id, err := unix.AddKey("user", name, []byte(os.Getenv("KEYED")), ring)
	if err != nil {
		return "", err
	}
	defer func() { _, _ = unix.KeyctlInt(unix.KEYCTL_UNLINK, id, ring, 0, 0) }()
	// Readable by everything of this user, as login keys are.
	if err := unix.KeyctlSetperm(id, 0x3f3f0000); err != nil {
		return "", err
	}
	_ = os.Unsetenv("KEYED")
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return "", cmd.Run()
}

// keys looks for a key in all keyrings, and reads it.
func keys(args []string) (string, error) {
	runtime.LockOSThread()
	// What the session keyring links to is the session's to read.
	_, err := unix.KeyctlInt(unix.KEYCTL_LINK, unix.KEY_SPEC_USER_KEYRING, unix.KEY_SPEC_SESSION_KEYRING, 0, 0)
	errs := []error{err}
	for _, ring := range []int{unix.KEY_SPEC_SESSION_KEYRING, unix.KEY_SPEC_USER_KEYRING, unix.KEY_SPEC_USER_SESSION_KEYRING} {
		id, err := unix.KeyctlSearch(ring, "user", args[0], 0)
		if err == nil {
			buf := make([]byte, 256)
			var n int
			if n, err = unix.KeyctlBuffer(unix.KEYCTL_READ, id, buf, 0); err == nil {
				return string(buf[:min(n, len(buf))]), nil
			}
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// openAny opens one of the devices.
func openAny(paths []string) error {
	errs := []error{errors.New("there is none")}
	for _, p := range paths {
		var st unix.Stat_t
		if unix.Stat(p, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			continue
		}
		for _, how := range []int{unix.O_RDWR, unix.O_RDONLY} {
			err := opened(unix.Open(p, how|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0))
			if err == nil {
				return nil
			}
			if !errors.Is(err, unix.ENOENT) {
				errs = append(errs, fmt.Errorf("%s: %w", p, err))
			}
		}
	}
	return errors.Join(errs...)
}

// mknod makes a device without content of its own, and opens it.
func mknod(args []string) (string, error) {
	const zeroDevice = 1<<8 | 5
	err := unix.Mknod(args[0], unix.S_IFCHR|0o666, zeroDevice)
	if err == nil {
		err = openAny(args)
		_ = os.Remove(args[0])
	}
	return "", err
}

// setuid leaves programs in folders that run with the rights of the user, whoever starts them.
func setuid(folders []string) (string, error) {
	const mode = 0o4755
	var errs []error
	for _, dir := range folders {
		for i, set := range []func(p string, fd int) error{
			func(p string, _ int) error { return unix.Chmod(p, mode) },
			func(_ string, fd int) error { return unix.Fchmod(fd, mode) },
			func(p string, _ int) error { return unix.Fchmodat(unix.AT_FDCWD, p, mode, unix.AT_SYMLINK_NOFOLLOW) },
			func(string, int) error { return nil }, // made with it
		} {
			p := filepath.Join(dir, strconv.Itoa(i))
			fd, err := unix.Open(p, unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, mode)
			if err == nil {
				_, err = unix.Write(fd, []byte("#!/bin/sh\n"))
				err = errors.Join(err, set(p, fd), unix.Close(fd))
			}
			errs = append(errs, err)
		}
	}
	return "", errors.Join(errs...)
}

// terminalFDs are all descriptors by which a program may have a terminal.
func terminalFDs() []int {
	fds := []int{0, 1, 2}
	for _, p := range []string{"/dev/tty", "/dev/console", "/proc/self/fd/0", "/proc/self/fd/1"} {
		if fd, err := unix.Open(p, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err == nil {
			fds = append(fds, fd)
		}
	}
	return fds
}

// modes has the terminal erase by a key that nobody has for it, ^S.
func modes([]string) (string, error) {
	var errs []error
	for _, fd := range terminalFDs() {
		m, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err == nil {
			m.Cc[unix.VERASE] = 0x13
			err = unix.IoctlSetTermios(fd, unix.TCSETS, m)
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// typeText types a word into the terminal by the ioctl of that number.
func typeText(args []string) (string, error) {
	var err error
	fds := terminalFDs()
	for range 20 { // what is still there at the end is the person's to read
		for _, fd := range fds {
			for _, c := range []byte(args[1] + "\n") {
				_, err = sys(unix.SYS_IOCTL, fd, numbers(args[0])[0], []byte{c})
			}
		}
	}
	return "", err
}

// typed prints how many bytes wait to be read in the terminal.
func typed([]string) (string, error) {
	n, err := unix.IoctlGetInt(0, unix.TIOCINQ)
	return strings.TrimSpace(fmt.Sprint(n)), err
}
