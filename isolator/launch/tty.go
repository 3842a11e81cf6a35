package launch

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tty is the person's terminal. All its methods run on the launcher's locked
// thread.
type tty struct {
	fd    int
	saved unix.Termios // what to put back, valid while raw
	raw   bool
}

func isTerminal(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}

// sameDevice reports whether two descriptors are one terminal.
func sameDevice(a, b int) bool {
	var sa, sb unix.Stat_t
	return unix.Fstat(a, &sa) == nil && unix.Fstat(b, &sb) == nil && sa.Rdev == sb.Rdev
}

// foreground reports whether we may read the terminal and change its modes. A
// terminal that is not our controlling one has no job control.
func (t *tty) foreground() bool {
	pgrp, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err != nil || pgrp == unix.Getpgrp()
}

// gone reports whether the terminal was hung up.
func (t *tty) gone() bool {
	_, err := unix.IoctlGetTermios(t.fd, unix.TCGETS)
	return err == unix.EIO
}

// makeRaw saves the modes of the terminal and makes it raw, unless we are in
// the background: then it belongs to somebody else.
func (t *tty) makeRaw() bool {
	if t.raw {
		return true
	}
	if !t.foreground() {
		return false
	}
	saved, err := unix.IoctlGetTermios(t.fd, unix.TCGETS)
	if err != nil {
		return false
	}
	m := *saved
	m.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	m.Oflag &^= unix.OPOST
	m.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	m.Cflag = m.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	m.Cc[unix.VMIN], m.Cc[unix.VTIME] = 1, 0
	if !t.set(&m) {
		return false
	}
	t.saved, t.raw = *saved, true
	return true
}

// restore puts the modes back that makeRaw found.
func (t *tty) restore() {
	if t.raw {
		t.raw = false
		t.set(&t.saved)
	}
}

func (t *tty) set(m *unix.Termios) bool {
	// A background process that changes the modes is stopped by SIGTTOU, and
	// its group with it, unless the calling thread blocks that (tty_ioctl(4)).
	var old unix.Sigset_t
	blocked := unix.PthreadSigmask(unix.SIG_BLOCK, sigset(unix.SIGTTOU), &old) == nil
	err := unix.IoctlSetTermios(t.fd, unix.TCSETS, m)
	if blocked {
		_ = unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	}
	return err == nil
}

func sigset(sigs ...unix.Signal) *unix.Sigset_t {
	var s unix.Sigset_t
	bits := uint(8 * unsafe.Sizeof(s.Val[0]))
	for _, sig := range sigs {
		n := uint(sig) - 1
		s.Val[n/bits] |= 1 << (n % bits)
	}
	return &s
}

// winsize returns the size of the terminal fd, all zero when it has none.
func winsize(fd int) unix.Winsize {
	w, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
	if err != nil {
		return unix.Winsize{}
	}
	return *w
}

// sigaction is the kernel's, opaque: it is only taken and put back. All zero it
// is the default action on every architecture.
type sigaction [16]uint64

// defaultAction gives sig its default action and returns what it had.
// signal.Reset does not: the runtime leaves its handler for SIGTSTP in place,
// which swallows it (measured with Go 1.26).
func defaultAction(sig syscall.Signal) (old sigaction) {
	var zero sigaction
	rtSigaction(sig, &zero, &old)
	return old
}

func setAction(sig syscall.Signal, action *sigaction) { rtSigaction(sig, action, nil) }

func rtSigaction(sig syscall.Signal, action, old *sigaction) {
	const setSize = 8 // of the kernel's signal set, in bytes
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(action)), uintptr(unsafe.Pointer(old)), setSize, 0, 0)
}
