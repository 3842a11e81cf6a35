package supervisor

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// OpenPty opens a terminal of the box's private devpts. A terminal only for
// output cannot be read.
func OpenPty(readable bool) (master, slave int, err error) {
	master, err = unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, -1, &os.PathError{Op: "open", Path: "/dev/ptmx", Err: err}
	}
	if err = unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		unix.Close(master)
		return -1, -1, os.NewSyscallError("unlock terminal", err)
	}
	mode := unix.O_WRONLY
	if readable {
		mode = unix.O_RDWR
	}
	slave, err = ptyPeer(master, mode|unix.O_NOCTTY|unix.O_CLOEXEC)
	if err != nil {
		unix.Close(master)
		return -1, -1, err
	}
	return master, slave, nil
}

// ptyPeer opens the slave by the master itself (Linux 4.13), else by the name
// in the devpts that /dev/ptmx belongs to.
func ptyPeer(master, flags int) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, uintptr(flags))
	if errno == 0 {
		return int(fd), nil
	}
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		return -1, os.NewSyscallError("number of the terminal", err)
	}
	path := fmt.Sprintf("/dev/pts/%d", n)
	slave, err := unix.Open(path, flags, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return slave, nil
}
