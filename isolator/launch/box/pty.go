package box

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// openTerminals opens the terminals of the first job, and sends their masters away, as the last of what goes
// before a job. One that only shows output is nobody's controlling terminal, cannot be read, and changes
// nothing of what the person's own does with it.
func (b *box) openTerminals() error {
	t := &b.spec.Terminals
	var masters []int
	defer func() { wire.CloseAll(masters) }()
	for i, size := range t.Sizes {
		control := t.Control && i == 0
		master, slave, err := OpenPty(control)
		if err != nil {
			return fmt.Errorf("cannot open a terminal in the box: %w", err)
		}
		masters, b.terminals = append(masters, master), append(b.terminals, slave)
		_ = unix.IoctlSetWinsize(master, unix.TIOCSWINSZ, &size)
		modes, err := unix.IoctlGetTermios(slave, unix.TCGETS)
		switch {
		case control && t.Modes != (unix.Termios{}):
			modes = &t.Modes
		case !control && err == nil: // the real terminal turns line feeds into line breaks already
			modes.Oflag &^= unix.OPOST
			modes.Lflag &^= unix.ECHO
		default:
			modes = nil
		}
		if modes != nil {
			_ = unix.IoctlSetTermios(slave, unix.TCSETS, modes)
		}
	}
	if t.Control {
		if err := unix.IoctlSetInt(b.terminals[0], unix.TIOCSCTTY, 0); err != nil {
			return os.NewSyscallError("controlling terminal", err)
		}
	}
	return b.say(wire.Msg{Kind: wire.Ready}, masters...)
}

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
	if slave, err = PtyPeer(master, mode); err != nil {
		unix.Close(master)
		return -1, -1, err
	}
	return master, slave, nil
}

// PtyPeer opens the slave of a terminal by its master (Linux 4.13), whatever it is called.
func PtyPeer(master, flags int) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER,
		uintptr(flags|unix.O_NOCTTY|unix.O_CLOEXEC))
	if errno != 0 {
		return -1, os.NewSyscallError("slave of the terminal", errno)
	}
	return int(fd), nil
}
