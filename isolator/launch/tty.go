package launch

import (
	"bytes"
	"cmp"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/box"
	"github.com/enr/inner/isolator/launch/wire"
)

// tty is the person's terminal. All its methods run on the launcher's locked
// thread.
type tty struct {
	fd    int
	saved unix.Termios // what to put back, valid while raw
	raw   bool
	// Others write to it: it goes on to make line breaks of line feeds.
	shared bool
	typed  []byte // while it took whole lines; a NUL is a ^D
}

// isTerminal reports whether fd is a terminal, also one that has been hung up: such a
// descriptor is dead, and still opens the terminal again.
func isTerminal(fd int) bool {
	if fd < 0 {
		return false
	}
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil || err == unix.EIO
}

// terminalDevice is which terminal fd is, by whatever name: /dev/tty is another
// device than the terminal it stands for. Those that were hung up are one: nothing is written to them.
func terminalDevice(fd int) uint32 {
	n, _ := unix.IoctlGetUint32(fd, unix.TIOCGDEV)
	return n
}

// foreground reports whether we may read the terminal and change its modes. A
// terminal that is not our controlling one has no job control.
func (t *tty) foreground() bool {
	pgrp, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err != nil || pgrp == unix.Getpgrp()
}

// controls reports whether the terminal is our controlling one: no other is read for the box, since
// only there job control keeps the background from reading (setpgid(2)).
func (t *tty) controls() bool {
	_, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err == nil
}

// Foreign reports whether a descriptor is a terminal from which nothing is read for a box: not our controlling one.
func Foreign(fd int) bool { return isTerminal(fd) && !(&tty{fd: fd}).controls() }

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
	if !t.shared {
		m.Oflag &^= unix.OPOST
	}
	m.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	m.Cflag = m.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	m.Cc[unix.VMIN], m.Cc[unix.VTIME] = 1, 0
	if !t.set(&m) {
		return false
	}
	t.saved, t.raw = *saved, true
	if saved.Lflag&unix.ICANON != 0 {
		t.takeTyped()
	}
	return true
}

// takeTyped reads what was typed before the terminal was raw. A ^D that ended a line is a NUL in it: the kernel has
// kept it as that (n_tty_receive_char_special).
func (t *tty) takeTyped() {
	var buf [keysBuffer]byte
	for wire.Poll(t.fd, unix.POLLIN, 0)&(unix.POLLIN|unix.POLLHUP) == unix.POLLIN {
		n, err := unix.Read(t.fd, buf[:])
		if err != nil || n <= 0 {
			return
		}
		t.typed = append(t.typed, buf[:n]...)
	}
}

// retype is what has to be typed at a terminal with modes m for it to hold what was typed
// again, and how much of that it will report to be readable (TIOCINQ): whole lines alone, when it takes those.
func retype(typed []byte, m *unix.Termios) (text []byte, readable int) {
	lines := m.Lflag&unix.ICANON != 0
	quote := lines && m.Lflag&unix.IEXTEN != 0 && m.Cc[unix.VLNEXT] != 0
	for _, c := range typed {
		switch {
		case c == 0:
			c = cmp.Or(m.Cc[unix.VEOF], 0x04)
		case quote && special(m, c):
			text = append(text, m.Cc[unix.VLNEXT])
		}
		text = append(text, c)
	}
	if !lines {
		return text, len(text)
	}
	whole := typed[:bytes.LastIndexAny(typed, "\n\x00")+1]
	return text, len(whole) - bytes.Count(whole, []byte{0})
}

// special reports whether a terminal with modes m does something at a character.
func special(m *unix.Termios, c byte) bool {
	at := bytes.IndexByte(m.Cc[:], c)
	return at >= 0 && at != unix.VMIN && at != unix.VTIME
}

// drain asks the terminal one more thing, by way of out, and returns what it says
// until the answer: terminals answer in order, so nothing that was asked before is
// still to come. One that does not answer is waited for a little.
func (t *tty) drain(out int) (said []byte) {
	const (
		question, answer = "\x1b[5n", "\x1b[0n" // DSR: is the terminal well?
		first            = 500 * time.Millisecond
		after            = 30 * time.Millisecond // somebody else's question may have been the same
		all              = 2 * time.Second
	)
	if wire.WriteAll(out, []byte(question)) != nil {
		return nil
	}
	end, quiet := time.Now().Add(all), first
	for {
		wait := min(quiet, time.Until(end))
		if wait <= 0 || wire.Poll(t.fd, unix.POLLIN, int(wait/time.Millisecond)+1)&unix.POLLIN == 0 {
			break
		}
		var buf [1024]byte
		n, err := unix.Read(t.fd, buf[:])
		if err != nil || n <= 0 {
			break
		}
		if said = append(said, buf[:n]...); bytes.Contains(said, []byte(answer)) {
			quiet = after
		}
	}
	if i := bytes.LastIndex(said, []byte(answer)); i >= 0 {
		said = append(said[:i], said[i+len(answer):]...)
	}
	return said
}

// restore puts the modes back that makeRaw found.
func (t *tty) restore() {
	if t.raw {
		t.raw = false
		t.set(&t.saved)
	}
}

func (t *tty) set(m *unix.Termios) bool {
	return box.Quietly(func() error { return unix.IoctlSetTermios(t.fd, unix.TCSETS, m) }) == nil
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
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(action)),
		uintptr(unsafe.Pointer(old)), setSize, 0, 0)
}

// stopGroup stops our whole group, with the default action, and returns when it goes on.
func stopGroup(sig syscall.Signal) {
	caught := defaultAction(syscall.SIGTSTP)
	_ = unix.Kill(0, sig)
	setAction(syscall.SIGTSTP, &caught)
}

// StopSelf stops this process as SIGTSTP does that nobody catches, and returns when it goes on:
// at once where its group is orphaned.
func StopSelf() {
	runtime.LockOSThread() // it is this thread that has to meet the signal
	defer runtime.UnlockOSThread()
	caught := defaultAction(syscall.SIGTSTP)
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGTSTP)
	setAction(syscall.SIGTSTP, &caught)
}
