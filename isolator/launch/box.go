package launch

import (
	"bytes"
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
)

// hangupGrace is how long the program has after the launcher is gone.
const hangupGrace = 200 * time.Millisecond

// IsBox reports whether this process was started as the supervisor inside a
// box. main asks it before anything else.
func IsBox(args []string) bool {
	return len(args) == 2 && args[0] == boxExe && args[1] == boxWord
}

// Box is the supervisor inside the box: it opens the box's terminals, starts
// the program on the launcher's word, passes signals on, and returns the
// program's exit code for main to exit with. Without a controlling terminal
// the program takes its place, and it returns only when that fails.
//
// The order, each step relied on by the next:
//
//  1. not dumpable: the program cannot trace it, nor reach its descriptors
//     (the inner binary among them) through /proc
//  2. everything from descriptor 3 up close-on-exec
//  3. terminals open
//  4. bwrap's pid 1 bound to the life of its parent; only then ready, with the
//     masters of the terminals
//  5. the launcher's word, given by the thread on which bwrap's life depends:
//     so at that moment everything that has to die with it is tied to it
//  6. the word that the program is about to start, then the start: so that the
//     launcher never says it has not run when it has
//  7. end: no controlling terminal first, or the kernel would hang it up and
//     throw away output on its way
func Box() int {
	runtime.LockOSThread()
	if t, err := unix.GetsockoptInt(fdSocket, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || t != unix.SOCK_SEQPACKET {
		os.Stderr.WriteString("inner: " + boxWord + " is for inner itself\n")
		return 2
	}
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	name := [...]byte{'i', 'n', 'n', 'e', 'r', 0} // for ps(1): it would be "4"
	_, _, _ = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name)), 0)
	closeOnExecFrom(fdSocket)
	b := &box{slave: -1}
	spec, err := readSpec()
	var masters []int
	if err == nil {
		err = lookAround(spec)
	}
	if err == nil {
		masters, err = b.terminals(spec)
	}
	if err != nil {
		return b.fail(CodeNoSandbox, err.Error())
	}
	if !b.full {
		awaitInit()
	}
	if !waitGo(masters) {
		return CodeNoSandbox
	}
	if code, err := b.startProgram(spec); err != nil {
		return b.fail(code, err.Error()) // always, without a terminal of the box's own
	}
	big := len(spec.Env) > 4096 || specSize(spec) > 1<<18
	spec = nil
	if big {
		debug.FreeOSMemory()
	}
	// From here on nothing is per thread; a locked one costs another.
	runtime.UnlockOSThread()
	go b.obey()
	return b.wait()
}

// box is the supervisor's state once the program is there.
type box struct {
	full   bool
	slaves []int // the terminals of the box
	slave  int   // the controlling one, or -1
	pid    int   // the program, leader of its process group
	mu     sync.Mutex
	reaped bool // pid is no longer the program
}

func readSpec() (*spec, error) {
	defer unix.Close(fdSpec)
	unix.Close(fdExe)
	unix.Close(fdArgs) // bwrap has closed it
	var st unix.Stat_t
	if err := unix.Fstat(fdSpec, &st); err != nil {
		return nil, fmt.Errorf("box spec: %w", err)
	}
	data := make([]byte, st.Size)
	for off := 0; off < len(data); {
		n, err := unix.Pread(fdSpec, data[off:], int64(off))
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return nil, fmt.Errorf("box spec: %w", errors.Join(err, os.ErrInvalid))
		}
		off += n
	}
	return decodeSpec(data)
}

func specSize(s *spec) int {
	n := 0
	for _, l := range [][]string{s.Argv, s.Env} {
		for _, w := range l {
			n += len(w)
		}
	}
	return n
}

// lookAround makes sure that the mounts show what was probed: bwrap resolves
// their paths again, and a link may have taken the place of a folder since.
func lookAround(s *spec) error {
	for _, sh := range s.Shown {
		var st unix.Stat_t
		if err := unix.Lstat(sh.Path, &st); err != nil {
			return fmt.Errorf("%q cannot be seen in the box: %w", sh.Path, err)
		}
		if st.Ino != sh.Ino || uint64(st.Dev) != sh.Dev {
			return fmt.Errorf("%q was exchanged for something else while the sandbox was made", sh.Path)
		}
	}
	return nil
}

// terminals opens the box's terminals and returns their masters.
func (b *box) terminals(s *spec) (masters []int, err error) {
	b.full = s.Full
	for i := range int(s.Ptys) {
		m, sl, err := openPty(s.Full)
		if err != nil {
			return nil, fmt.Errorf("cannot open a terminal in the box: %w", err)
		}
		masters, b.slaves = append(masters, m), append(b.slaves, sl)
		w := s.Winsize[i]
		_ = unix.IoctlSetWinsize(m, unix.TIOCSWINSZ, &w)
		if s.Full {
			if s.Termios != (unix.Termios{}) {
				_ = unix.IoctlSetTermios(sl, unix.TCSETS, &s.Termios)
			}
		} else if t, err := unix.IoctlGetTermios(sl, unix.TCGETS); err == nil {
			// The real terminal turns line feeds into line breaks already.
			t.Oflag &^= unix.OPOST
			t.Lflag &^= unix.ECHO
			_ = unix.IoctlSetTermios(sl, unix.TCSETS, t)
		}
	}
	if s.Full {
		b.slave = b.slaves[0]
	}
	return masters, nil
}

// fail tells the launcher why the program has not run.
func (b *box) fail(code int, reason string) int {
	reason = cleanLine(reason)
	_ = sendMsg(fdSocket, append([]byte{msgFailed, byte(code)}, reason[:min(len(reason), maxMessage-2)]...))
	return code
}

// waitGo hands the masters over and waits for the launcher's word. Killing the
// launcher in the first milliseconds left the box alive in 28 of 60 tries,
// whatever bwrap was asked for: hence the word.
func waitGo(masters []int) bool {
	err := sendMsg(fdSocket, []byte{msgReady}, masters...)
	for _, m := range masters {
		unix.Close(m)
	}
	if err != nil {
		return false
	}
	var buf [8]byte
	for {
		n, err := unix.Read(fdSocket, buf[:])
		if err == unix.EINTR {
			continue
		}
		return err == nil && n == 1 && buf[0] == msgGo
	}
}

// startProgram starts the program in the box's session: as the leader of a
// process group in the foreground of the box's terminal, or, without one, in
// our place. It returns only in the first case, or with an error.
func (b *box) startProgram(s *spec) (code int, err error) {
	if err := unix.Chdir(s.Dir); err != nil {
		return CodeNoSandbox, fmt.Errorf("working folder %q: %w in the box", s.Dir, err)
	}
	// EPERM: bwrap was asked for a new session, and we lead it.
	if _, err := unix.Setsid(); err != nil && err != unix.EPERM {
		return CodeNoSandbox, os.NewSyscallError("setsid", err)
	}
	if b.full {
		if err := unix.IoctlSetInt(b.slave, unix.TIOCSCTTY, 0); err != nil {
			return CodeNoSandbox, os.NewSyscallError("controlling terminal", err)
		}
	}
	var files [3]uintptr
	for i, from := range s.Stdio {
		switch {
		case from == fromLauncher:
			files[i] = uintptr(fdStdio + i)
		case int(from) <= len(b.slaves):
			files[i] = uintptr(b.slaves[from-fromPty])
		}
	}
	// A direct run would have what the person's shell gave inner: these
	// signals ignored, the others at their default, none blocked.
	for n := syscall.Signal(1); n <= 64; n++ {
		if s.Ignored&(1<<(n-1)) != 0 {
			signal.Ignore(n)
		}
	}
	var none unix.Sigset_t
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &none, nil)
	if b.full {
		b.pid, err = b.fork(s, files)
	} else {
		err = become(s, files)
	}
	if err != nil {
		return execFailure(s.Program, err)
	}
	_ = unix.Chdir("/")
	return 0, nil
}

func (b *box) fork(s *spec, files [3]uintptr) (pid int, err error) {
	if err := sendMsg(fdSocket, []byte{msgStart}); err != nil {
		return 0, err
	}
	pid, err = syscall.ForkExec(s.Program, s.Argv, &syscall.ProcAttr{
		Env:   s.Env,
		Files: files[:],
		// The fork leaves all signals blocked until the group is in the
		// foreground, so that SIGTTOU does not stop it there.
		Sys: &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: b.slave},
	})
	if err != nil {
		return 0, err
	}
	for i := range s.Stdio {
		unix.Close(fdStdio + i) // their other ends see the program alone
	}
	return pid, nil
}

// become replaces us by the program. Without a terminal there is no job to
// control: the launcher signals the program's process group itself, bwrap hands
// its exit code on, and a supervisor would only cost its start, a third of
// bwrap's own time.
func become(s *spec, files [3]uintptr) error {
	for i, from := range files {
		if err := unix.Dup3(int(from), i, 0); err != nil {
			return err
		}
	}
	if err := sendMsg(fdSocket, []byte{msgStart}); err != nil {
		return err
	}
	return syscall.Exec(s.Program, s.Argv, s.Env)
}

// awaitInit waits until bwrap's pid 1 has bound its life to its parent's: it
// does so after it has forked us, and after that only sleeps in wait (bwrap
// 0.8.0, do_init). Before, the death of the launcher would not reach it, and
// once we are the program nobody would be there to notice: measured in two of
// 480 tries.
func awaitInit() {
	if unix.Getppid() != 1 {
		return
	}
	for range 500 {
		var buf [512]byte
		fd, err := unix.Open("/proc/1/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return
		}
		n, _ := unix.Read(fd, buf[:])
		unix.Close(fd)
		_, rest, ok := bytes.Cut(buf[:max(n, 0)], []byte(") "))
		if !ok || len(rest) == 0 || rest[0] == 'S' {
			return
		}
		time.Sleep(200 * time.Microsecond)
	}
}

// execFailure gives the exit code and the words for a program that could not
// be executed.
func execFailure(program string, err error) (int, error) {
	switch {
	case err == unix.ENOENT && unix.Access(program, unix.F_OK) == nil:
		return CodeNotFound, fmt.Errorf("%q: its interpreter or loader is not in the box", program)
	case err == unix.ENOENT || err == unix.ENOTDIR:
		return CodeNotFound, fmt.Errorf("%q: not found in the box", program)
	case err == unix.ENOEXEC:
		return CodeNotExecutable, fmt.Errorf("%q: not in an executable format", program)
	case err == unix.EACCES:
		return CodeNotExecutable, fmt.Errorf("%q: not executable in the box", program)
	default:
		return CodeNotExecutable, fmt.Errorf("%q: cannot be executed in the box: %w", program, err)
	}
}

// obey carries out the launcher's messages until it is gone.
func (b *box) obey() {
	var buf [8]byte
	for {
		n, err := unix.Read(fdSocket, buf[:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil || n == 0:
			b.drop()
			return
		case n == 2 && buf[0] == msgSignal:
			b.signal(syscall.Signal(buf[1]))
		case n == 1 && buf[0] == msgHangup:
			b.hangup()
		}
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
	if !b.full {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// A background process that does this is stopped unless it blocks SIGTTOU.
	var old unix.Sigset_t
	if unix.PthreadSigmask(unix.SIG_BLOCK, sigset(unix.SIGTTOU), &old) == nil {
		_ = unix.IoctlSetPointerInt(b.slave, unix.TIOCSPGRP, b.pid)
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
	killRest()
	os.Exit(128 + int(syscall.SIGKILL))
}

// killRest kills every process of the box but us. It does nothing unless we
// are the first process of a PID namespace.
func killRest() {
	if unix.Getpid() == 1 {
		_ = unix.Kill(-1, unix.SIGKILL)
	}
}

// wait follows the program to its end and returns its exit code.
func (b *box) wait() int {
	for {
		var st syscall.WaitStatus
		// As the box's first process we are the parent of every orphan.
		pid, err := syscall.Wait4(-1, &st, syscall.WUNTRACED, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return b.fail(CodeNoSandbox, err.Error())
		case pid != b.pid:
			continue
		case st.Stopped():
			_ = sendMsg(fdSocket, []byte{msgStopped, byte(st.StopSignal())})
			continue
		}
		b.mu.Lock()
		b.reaped = true
		b.mu.Unlock()
		if b.full {
			_ = unix.IoctlSetInt(b.slave, unix.TIOCNOTTY, 0)
		}
		killRest()
		w := uint32(st)
		_ = sendMsg(fdSocket, []byte{msgEnded, byte(w), byte(w >> 8), byte(w >> 16), byte(w >> 24)})
		return exitCode(st)
	}
}

// exitCode is what a shell makes of a wait status.
func exitCode(st syscall.WaitStatus) int {
	if st.Signaled() {
		return 128 + int(st.Signal())
	}
	return st.ExitStatus()
}
