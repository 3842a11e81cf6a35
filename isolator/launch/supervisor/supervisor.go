// Package supervisor is what runs first in a box, and starts the program there. The package above,
// launch, is the other end, and says in which order the two talk.
package supervisor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/launch/wire"
)

// hangupGrace is how long the program has after the launcher is gone.
const hangupGrace = 200 * time.Millisecond

// Is reports whether this process was started as the supervisor inside a
// box, or as its dispenser. main asks it before anything else.
func Is(args []string) bool {
	return len(args) == 2 && (args[0] == wire.Exe || args[0] == paths.BoxSelf) && (args[1] == wire.Word || args[1] == DispenserWord)
}

// Run is the supervisor inside the box: it opens the box's terminals, starts
// the program on the launcher's word, passes signals on, and returns the
// program's exit code for main to exit with. Without a controlling terminal
// the program takes its place, and it returns only when that fails.
//
// The order, each step relied on by the next:
//
//  1. not dumpable: the program cannot trace it, nor reach its descriptors
//     (its own binary among them) through /proc
//  2. bwrap's pid 1 bound to the life of its parent; only then ready, as early
//     as can be, for the launcher's answer takes a while
//  3. everything from descriptor 3 up close-on-exec
//  4. folders in memory filled, and sent away for what is kept of them; what the box
//     listens on open and sent away, then terminals, their masters likewise
//  5. the launcher's word, given by the thread on which bwrap's life depends:
//     so at that moment everything that has to die with it is tied to it
//  6. the word that the program is about to start, then the start: so that the
//     launcher never says it has not run when it has
//  7. end: no controlling terminal first, or the kernel would hang it up and
//     throw away output on its way
func Run() int {
	if os.Args[1] == DispenserWord {
		return dispense()
	}
	runtime.LockOSThread()
	if !calledByInner(wire.Word) {
		return 2
	}
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	awaitInit()
	if err := wire.Send(wire.FdSocket, []byte{wire.MsgReady}); err != nil {
		return wire.NoSandbox
	}
	nameProcess()
	wire.CloseOnExecFrom(wire.FdSocket)
	b := &box{slave: -1}
	spec, err := b.prepare()
	if err != nil {
		return b.fail(wire.NoSandbox, err.Error())
	}
	if b.full || spec.Calls {
		// Caught, not ignored, and to no effect: the program may signal us, and
		// the kernel does when the launcher and with it the master is gone.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	}
	if !b.waitGo() {
		return wire.NoSandbox
	}
	if spec.Calls {
		return runCalls(spec)
	}
	if code, err := b.startProgram(spec); err != nil {
		return b.fail(code, err.Error()) // always, without a terminal of the box's own
	}
	big := spec.big()
	spec = nil
	if big {
		debug.FreeOSMemory()
	}
	dropOwn()
	// From here on nothing is per thread; a locked one costs another.
	runtime.UnlockOSThread()
	go b.obey()
	return b.wait()
}

// calledByInner reports whether the launcher is at the other end of the socket, and tells
// whoever has typed the word that it is none for them.
func calledByInner(word string) bool {
	t, err := unix.GetsockoptInt(wire.FdSocket, unix.SOL_SOCKET, unix.SO_TYPE)
	if err == nil && t == unix.SOCK_SEQPACKET {
		return true
	}
	os.Stderr.WriteString("inner: " + word + " is for inner itself\n")
	return false
}

// inOrder carries out steps until one fails.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// spec is what the supervisor has to do, and containerSpec what the container that it is in must be.
type (
	spec          wire.Spec
	containerSpec wire.Container
)

// box is the supervisor's state once the program is there.
type box struct {
	full   bool
	waits  bool  // the program is in the background of its terminal until it wants that
	slaves []int // the terminals of the box
	slave  int   // the controlling one, or -1
	pid    int   // the program, leader of its process group
	mu     sync.Mutex
	reaped bool // pid is no longer the program
}

// nameProcess is for ps(1): it would be "4".
func nameProcess() {
	name := [...]byte{'i', 'n', 'n', 'e', 'r', 0}
	_, _, _ = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name)), 0)
}

// prepare reads what is to be done, and does what goes before the launcher's word.
func (b *box) prepare() (*spec, error) {
	defer unix.Close(wire.FdExe)
	s, err := readSpec()
	if err != nil {
		return nil, err
	}
	return s, inOrder(s.lookAround, (*containerSpec)(s.Container).look, s.fill, s.network, func() error { return b.terminals(s) })
}

func readSpec() (*spec, error) {
	defer unix.Close(wire.FdSpec)
	unix.Close(wire.FdArgs) // bwrap has closed it
	return specIn(wire.FdSpec)
}

// specIn reads what was written for the supervisor into a file in memory.
func specIn(fd int) (*spec, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fmt.Errorf("box spec: %w", err)
	}
	data := make([]byte, st.Size)
	for off := 0; off < len(data); {
		n, err := wire.ReadAt(fd, data[off:], int64(off))
		if err != nil || n == 0 {
			return nil, fmt.Errorf("box spec: %w", errors.Join(err, os.ErrInvalid))
		}
		off += n
	}
	s, err := wire.DecodeSpec(data)
	return (*spec)(s), err
}

// big reports whether forgetting it is worth a collection of garbage.
func (s *spec) big() bool {
	n := 0
	for _, l := range [][]string{s.Argv, s.Env} {
		for _, w := range l {
			n += len(w)
		}
	}
	return len(s.Env) > 4096 || n > 1<<18
}

// terminals opens the box's terminals and sends their masters away.
func (b *box) terminals(s *spec) error {
	b.full, b.waits = s.Full, s.Waits
	if s.Ptys == 0 {
		return nil
	}
	var masters []int
	for i := range int(s.Ptys) {
		m, sl, err := OpenPty(s.Full && i == 0)
		if err != nil {
			return fmt.Errorf("cannot open a terminal in the box: %w", err)
		}
		masters, b.slaves = append(masters, m), append(b.slaves, sl)
		w := s.Winsize[i]
		_ = unix.IoctlSetWinsize(m, unix.TIOCSWINSZ, &w)
		s.setModes(sl, s.Full && i == 0)
	}
	if s.Full {
		b.slave = b.slaves[0]
	}
	defer wire.CloseAll(masters)
	return wire.Send(wire.FdSocket, []byte{wire.MsgMaster}, masters...)
}

// setModes gives the controlling terminal the modes that the launcher wants, and one for
// output alone those that change nothing of that.
func (s *spec) setModes(slave int, controlling bool) {
	if controlling {
		if s.Termios != (unix.Termios{}) {
			_ = unix.IoctlSetTermios(slave, unix.TCSETS, &s.Termios)
		}
		return
	}
	if t, err := unix.IoctlGetTermios(slave, unix.TCGETS); err == nil {
		// The real terminal turns line feeds into line breaks already.
		t.Oflag &^= unix.OPOST
		t.Lflag &^= unix.ECHO
		_ = unix.IoctlSetTermios(slave, unix.TCSETS, t)
	}
}

// fail tells the launcher why the program has not run.
func (b *box) fail(code int, reason string) int {
	reason = wire.Line(reason)
	_ = wire.Send(wire.FdSocket, append([]byte{wire.MsgFailed, byte(code)}, reason[:min(len(reason), wire.MaxMessage-2)]...))
	return code
}

// waitGo waits for the launcher's word. Killing the launcher in the first
// milliseconds left the box alive in 28 of 60 tries, whatever bwrap was asked
// for: hence the word.
func (b *box) waitGo() bool {
	var buf [16]byte
	for {
		n, err := wire.Read(wire.FdSocket, buf[:])
		if err == nil && n == 9 && buf[0] == wire.MsgTyped {
			b.settle(buf[1:9])
			continue
		}
		return err == nil && n == 1 && buf[0] == wire.MsgGo
	}
}

// settle waits until what the launcher has typed at the box's terminal has arrived,
// and then switches its echo on again: how much to wait for, and the modes to set.
func (b *box) settle(what []byte) {
	readable, echo := binary.LittleEndian.Uint32(what), binary.LittleEndian.Uint32(what[4:])
	if !b.full {
		return
	}
	for range 1000 { // a fifth of a second
		// Looking has the kernel take in what is on its way (n_tty_poll), unless there is
		// a line already.
		some := wire.Poll(b.slave, unix.POLLIN, 0) != 0 || readable == 0
		if n, err := unix.IoctlGetInt(b.slave, unix.TIOCINQ); err != nil || some && n >= int(readable) {
			break
		}
		time.Sleep(200 * time.Microsecond)
	}
	b.inBackground(func() {
		if m, err := unix.IoctlGetTermios(b.slave, unix.TCGETS); err == nil {
			m.Lflag |= echo & (unix.ECHO | unix.ECHONL)
			_ = unix.IoctlSetTermios(b.slave, unix.TCSETS, m)
		}
	})
}

// obey carries out the launcher's messages until it is gone.
func (b *box) obey() {
	var buf [16]byte
	for {
		n, err := wire.Read(wire.FdSocket, buf[:])
		if err != nil || n == 0 {
			b.drop()
			return
		}
		b.carryOut(buf[:n])
	}
}

// carryOut carries out a message, if it has the length of its kind.
func (b *box) carryOut(msg []byte) {
	type form struct {
		kind   byte
		length int
	}
	switch (form{msg[0], len(msg)}) {
	case form{wire.MsgTyped, 9}:
		b.settle(msg[1:])
	case form{wire.MsgGive, 1}:
		b.waits = false
	case form{wire.MsgSignal, 2}:
		b.signal(syscall.Signal(msg[1]))
	case form{wire.MsgHangup, 1}:
		b.hangup()
	}
}

// signal sends sig to the job.
func (b *box) signal(sig syscall.Signal) {
	switch sig {
	case syscall.SIGCONT:
		// As a shell's fg: the terminal is the job's again.
		b.foreground()
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTSTP, syscall.SIGWINCH:
	default:
		return
	}
	b.kill(b.pid, sig)
}

// kill signals a process group, unless the program has been waited for.
func (b *box) kill(group int, sig syscall.Signal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.reaped && group > 1 {
		_ = unix.Kill(-group, sig)
	}
}

// foreground makes the job the foreground group of the box's terminal.
func (b *box) foreground() {
	if b.full && !b.waits {
		b.inBackground(func() { _ = unix.IoctlSetPointerInt(b.slave, unix.TIOCSPGRP, b.pid) })
	}
}

// inBackground does something to the box's terminal that stops a background process
// which does not block SIGTTOU.
func (b *box) inBackground(do func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var old unix.Sigset_t
	if unix.PthreadSigmask(unix.SIG_BLOCK, Sigset(unix.SIGTTOU), &old) == nil {
		do()
		_ = unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	}
}

// hangup does what the kernel and a shell do when a terminal goes away:
// SIGHUP to the job and to whatever is in the foreground, awake or not.
func (b *box) hangup() {
	groups := []int{b.pid}
	if b.full {
		if fg, err := unix.IoctlGetInt(b.slave, unix.TIOCGPGRP); err == nil && fg != b.pid && fg != unix.Getpgrp() {
			groups = append(groups, fg)
		}
	}
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGCONT} {
		for _, g := range groups {
			b.kill(g, sig)
		}
	}
}

// drop ends the box after the launcher has gone.
func (b *box) drop() {
	b.hangup()
	time.Sleep(hangupGrace)
	b.kill(b.pid, syscall.SIGKILL)
	KillRest()
	os.Exit(128 + int(syscall.SIGKILL))
}

// KillRest kills every process of the box but us. It does nothing unless we
// are the first process of a PID namespace.
func KillRest() {
	if unix.Getpid() == 1 {
		_ = unix.Kill(-1, unix.SIGKILL)
	}
}

// wait follows the program to its end and returns its exit code.
func (b *box) wait() int {
	for {
		var st syscall.WaitStatus
		// As the box's first process we are the parent of every orphan.
		pid, err := wire.Wait(-1, &st, syscall.WUNTRACED)
		switch {
		case err != nil:
			return wire.NoSandbox // not a failed start: the program has run
		case pid != b.pid:
			continue
		case st.Stopped():
			_ = wire.Send(wire.FdSocket, []byte{wire.MsgStopped, byte(st.StopSignal())})
			continue
		}
		b.mu.Lock()
		b.reaped = true
		b.mu.Unlock()
		if b.full {
			_ = unix.IoctlSetInt(b.slave, unix.TIOCNOTTY, 0)
		}
		KillRest()
		_ = wire.Send(wire.FdSocket, binary.LittleEndian.AppendUint32([]byte{wire.MsgEnded}, uint32(st)))
		return wire.ExitCode(st)
	}
}
