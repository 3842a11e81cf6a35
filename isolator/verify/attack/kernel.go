package attack

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/profile"
)

func ownNamespaces() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
}

// terminals attack the terminal of the person.
func terminals() []Attack {
	inject := func(name, what string, request uint) Attack {
		return Attack{
			Name: name, Class: "terminal", What: what, Terminal: true,
			Try: func(t Trial) (string, error) {
				var errs []error
				fds := []int{0, 1, 2}
				for _, p := range []string{"/dev/tty", "/dev/console", "/proc/self/fd/0", "/proc/self/fd/1"} {
					if fd, err := unix.Open(p, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err == nil {
						fds = append(fds, fd)
					}
				}
				for range 20 { // what is still there at the end is the person's to read
					for _, fd := range fds {
						for _, c := range []byte(t.Mark + "\n") {
							errs = append(errs, ioctl(fd, request, &c))
						}
					}
				}
				return "", errors.Join(errs[:1]...)
			},
			Effect: typed,
		}
	}
	return []Attack{
		terminalModes(),
		clipboard("clipboard", "write the clipboard of the person's terminal (OSC 52)", "\x1b]52;c;%s\a"),
		clipboard("clipboard-c1", "the same, begun by one byte", "\x9d52;c;%s\x9c"),
		clipboard("clipboard-tmux", "the same, through tmux", "\x1bPtmux;\x1b\x1b]52;c;%s\a\x1b\\"),
		inject("tiocsti", "type into the person's terminal (TIOCSTI)", unix.TIOCSTI),
		inject("tiocsti-high-bits", "the same, with bits of the request set that the kernel ignores", 0x1_0000_0000|unix.TIOCSTI),
		otherTerminal(),
	}
}

func terminalModes() Attack {
	return Attack{
		Name: "terminal-modes", Class: "terminal", What: "change the modes of the person's terminal", Terminal: true,
		Try: func(Trial) (string, error) {
			var errs []error
			for _, p := range []string{"/proc/self/fd/0", "/proc/self/fd/1", "/dev/tty", "/dev/console"} {
				fd, err := unix.Open(p, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
				if err != nil {
					errs = append(errs, err)
					continue
				}
				m, err := unix.IoctlGetTermios(fd, unix.TCGETS)
				if err == nil {
					m.Cc[unix.VERASE] = markedErase
					err = unix.IoctlSetTermios(fd, unix.TCSETS, m)
				}
				errs = append(errs, err)
				unix.Close(fd)
			}
			return "", errors.Join(errs...)
		},
		Effect: func(s *Fixture) string {
			if m, err := unix.IoctlGetTermios(int(s.Slave.Fd()), unix.TCGETS); err == nil && m.Cc[unix.VERASE] == markedErase {
				return "the terminal's modes are other ones"
			}
			return ""
		},
	}
}

func otherTerminal() Attack {
	return Attack{
		Name: "other-terminal", Class: "terminal", What: "write to another terminal of the same user", Effect: heard,
		Stage: func(s *Fixture) error {
			m, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
			if err != nil {
				return err
			}
			s.hear(func(buf []byte) (int, error) { return unix.Read(m, buf) }, func() { unix.Close(m) })
			if err := unix.IoctlSetPointerInt(m, unix.TIOCSPTLCK, 0); err != nil {
				return err
			}
			n, err := unix.IoctlGetInt(m, unix.TIOCGPTN)
			s.target(fmt.Sprintf("/dev/pts/%d", n))
			return err
		},
		Try: func(t Trial) (string, error) {
			fd, err := unix.Open(t.Paths[0], unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
			if err != nil {
				return "", err
			}
			defer unix.Close(fd)
			_, err = unix.Write(fd, []byte(t.Mark))
			return "", err
		},
	}
}

// markedErase is a key nobody has for erasing.
const markedErase = 0x13

// clipboard writes a sequence for the terminal, with the mark in it.
func clipboard(name, what, sequence string) Attack {
	return Attack{
		Name: name, Class: "terminal", What: what, Terminal: true,
		Try: func(t Trial) (string, error) {
			_, err := fmt.Fprintf(os.Stdout, sequence, t.Mark)
			return "", err
		},
		Effect: func(s *Fixture) string {
			var shown []byte
			for {
				set := []unix.PollFd{{Fd: int32(s.Master.Fd()), Events: unix.POLLIN}}
				if n, err := unix.Poll(set, 100); n <= 0 && err != unix.EINTR || set[0].Revents&unix.POLLIN == 0 {
					break
				}
				buf := make([]byte, 4096)
				n, err := s.Master.Read(buf)
				if err != nil {
					break
				}
				shown = append(shown, buf[:n]...)
			}
			if bytes.Contains(shown, []byte("52;c;"+s.Trial.Mark)) {
				return "the terminal was told to change its clipboard"
			}
			return ""
		},
		Declared: func(rc profile.RunConfig) string {
			if rc.Clipboard {
				return "clipboard"
			}
			return ""
		},
	}
}

func ioctl(fd int, request uint, c *byte) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(unsafe.Pointer(c)))
	if errno != 0 {
		return errno
	}
	return nil
}

// typed says whether something waits to be read in the person's terminal.
func typed(s *Fixture) string {
	n, err := unix.IoctlGetInt(int(s.Slave.Fd()), unix.TIOCINQ)
	if err != nil || n == 0 {
		return ""
	}
	return fmt.Sprintf("%d bytes were typed into the terminal", n)
}

// containers returns the key with which the profile lets programs make containers, and so mount;
// "" when it does not.
func containers(rc profile.RunConfig) string { return allows("nested-user-ns")(rc) }

// seccompOff says that the profile takes no system call away.
func seccompOff(rc profile.RunConfig) string {
	if rc.Seccomp == "off" {
		return `allow = ["no-seccomp"]`
	}
	return ""
}

func seccompOffOrContainers(rc profile.RunConfig) string {
	return cmp.Or(seccompOff(rc), containers(rc))
}

// kernelCall returns the attack that makes a system call, unless the profile declares it.
func kernelCall(name, what string, try func() error, declared func(profile.RunConfig) string) Attack {
	return Attack{
		Name: name, Class: "kernel", What: what, Claim: true, Declared: declared,
		Try: func(Trial) (string, error) { return "", try() },
	}
}

// number makes a system call that returns a descriptor, or nothing of worth.
func number(n uintptr, args ...uintptr) func() error {
	return func() error {
		var a [6]uintptr
		copy(a[:], args)
		fd, _, errno := unix.Syscall6(n, a[0], a[1], a[2], a[3], a[4], a[5])
		if errno != 0 {
			return errno
		}
		unix.Close(int(fd))
		return nil
	}
}

// opened closes what an attack was given.
func opened(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func socket(family, kind, proto int) func() error {
	return func() error { return opened(unix.Socket(family, kind|unix.SOCK_CLOEXEC, proto)) }
}

func personality(flag uintptr) func() error {
	return func() error {
		if _, _, errno := unix.Syscall(unix.SYS_PERSONALITY, flag, 0, 0); errno != 0 {
			return errno
		}
		return nil
	}
}

// kernels returns attacks with system calls that a box has no use for.
func kernels() []Attack {
	const readImpliesExec, addrNoRandomize = 0x0400000, 0x0040000
	return []Attack{
		kernelCall("user-namespace", "make a user namespace", func() error {
			return (&exec.Cmd{Path: "/bin/true", Args: []string{"true"}, SysProcAttr: ownNamespaces()}).Run()
		}, containers),
		kernelCall("io-uring", "make a ring of system calls (io_uring)", ioUring, seccompOff),
		kernelCall("userfaultfd", "handle page faults (userfaultfd)", number(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|1), seccompOff),
		kernelCall("perf", "count events (perf_event_open)", perf, seccompOff),
		kernelCall("keyctl", "use the kernel's keyrings (keyctl)", func() error {
			_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true)
			return err
		}, seccompOff),
		kernelCall("socket-vsock", "make a socket to the host of a virtual machine (AF_VSOCK)", socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0), seccompOff),
		kernelCall("socket-alg", "make a socket to the kernel's ciphers (AF_ALG)", socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0), seccompOff),
		kernelCall("socket-packet", "make a socket for raw packets (AF_PACKET)", socket(unix.AF_PACKET, unix.SOCK_RAW, 0), seccompOff),
		kernelCall("socket-raw", "make a socket for raw packets of IP", socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP), seccompOff),
		kernelCall("socket-netlink", "make a socket to a part of the kernel no program needs (NETLINK_SELINUX, NETLINK_CRYPTO)", func() error {
			return errors.Join(socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_SELINUX)(), socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_CRYPTO)())
		}, seccompOff),
		kernelCall("x32", "make a system call by its other number (x32)", number(0x4000_0000|unix.SYS_GETPID), seccompOff),
		kernelCall("mount-api", "take hold of a mount (open_tree)", func() error {
			return opened(unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLOEXEC))
		}, seccompOffOrContainers),
		kernelCall("personality", "have readable memory be code as well (personality)", personality(readImpliesExec), seccompOff),
		kernelCall("no-randomisation", "have programs laid out where an attacker expects them (personality)", personality(addrNoRandomize), seccompOff),
		kernelCall("bounding-set", "keep capabilities that could be got back (capabilities(7))", boundingSet, containers),
		kernelCall("kernel-log", "ask for the kernel's log (syslog)", kernelLog, seccompOff),
		kernelCall("gain-privileges", "gain privileges by a program with the setuid bit (no_new_privs)", gainPrivileges, nil),
		kernelCall("bpf", "load a program into the kernel (bpf)", loadProgram, seccompOff),
		kernelCall("handle", "open a file by its handle (open_by_handle_at)", openByHandle, seccompOff),
	}
}

func ioUring() error {
	var params [120]byte // struct io_uring_params
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params[0])), 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

func kernelLog() error {
	const sizeBuffer = 10 // SYSLOG_ACTION_SIZE_BUFFER
	_, err := unix.Klogctl(sizeBuffer, nil)
	return err
}

func perf() error {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}
	attr.Size = uint32(unsafe.Sizeof(attr))
	return opened(unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC))
}

func boundingSet() error {
	set, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, unix.CAP_SYS_ADMIN, 0, 0, 0)
	if err == nil && set == 0 {
		err = errors.New("the bounding set is empty")
	}
	return err
}

func gainPrivileges() error {
	set, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err == nil && set != 0 {
		err = errors.New("no_new_privs is set")
	}
	return err
}

func loadProgram() error {
	insns := [2]uint64{0xb7, 0x95} // r0 = 0; exit
	license := []byte("GPL\x00")
	attr := struct {
		kind, count    uint32
		insns, license uint64
		level, size    uint32
		log            uint64
		version, flags uint32
		rest           [64]byte
	}{kind: 1, count: 2, insns: uint64(uintptr(unsafe.Pointer(&insns))), license: uint64(uintptr(unsafe.Pointer(&license[0])))}
	return number(unix.SYS_BPF, 5, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))()
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
