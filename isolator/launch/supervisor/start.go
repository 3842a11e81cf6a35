package supervisor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// chdir goes to where the program starts.
func (s *spec) chdir() error {
	err := unix.Chdir(s.Dir)
	if err == nil || s.DirElse == "" {
		return err
	}
	for i, kv := range s.Env {
		if kv == "PWD="+s.Dir {
			s.Env[i] = "PWD=" + s.DirElse
		}
	}
	return unix.Chdir(s.DirElse)
}

// startProgram starts the program in the box's session: as the leader of a
// process group in the foreground of the box's terminal, or, without one, in
// our place. It returns only in the first case, or with an error.
func (b *box) startProgram(s *spec) (code int, err error) {
	if err := s.chdir(); err != nil {
		return wire.NoSandbox, fmt.Errorf("working folder %q: %w in the box", s.Dir, err)
	}
	// EPERM: bwrap was asked for a new session, and we lead it.
	if _, err := unix.Setsid(); err != nil && err != unix.EPERM {
		return wire.NoSandbox, os.NewSyscallError("setsid", err)
	}
	if b.full {
		if err := unix.IoctlSetInt(b.slave, unix.TIOCSCTTY, 0); err != nil {
			return wire.NoSandbox, os.NewSyscallError("controlling terminal", err)
		}
	}
	var files [3]uintptr
	for i, from := range s.Stdio {
		switch {
		case from == wire.FromLauncher:
			files[i] = uintptr(wire.FdStdio + i)
		case int(from) <= len(b.slaves):
			files[i] = uintptr(b.slaves[from-wire.FromPty])
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
	if err := limitSelf(s.Rlimits, b.full); err != nil {
		return wire.NoSandbox, err
	}
	if code, err := s.find(); err != nil {
		return code, err
	}
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
	if err := wire.Send(wire.FdSocket, []byte{wire.MsgStart}); err != nil {
		return 0, err
	}
	done := make(chan error)
	go func() {
		// A thread of its own, which ends with this function: what confines the
		// program does not confine us, and it cannot signal us.
		runtime.LockOSThread()
		var none unix.Sigset_t
		_ = unix.PthreadSigmask(unix.SIG_SETMASK, &none, nil)
		err := dropBounding()
		if err == nil {
			err = confine(s.Landlock, files)
		}
		if err == nil {
			err = s.filter()
		}
		if err == nil {
			err = observe(s.Observe)
		}
		if err == nil {
			pid, err = syscall.ForkExec(s.Program, s.Argv, &syscall.ProcAttr{
				Env:   s.Env,
				Files: files[:],
				// The fork leaves all signals blocked until the group is in the
				// foreground, so that SIGTTOU does not stop it there.
				Sys: &syscall.SysProcAttr{Setpgid: true, Foreground: !s.Waits, Ctty: b.slave},
			})
		}
		done <- err
	}()
	if err := <-done; err != nil {
		return 0, err
	}
	for i := range s.Stdio {
		unix.Close(wire.FdStdio + i) // their other ends see the program alone
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
	if err := dropBounding(); err != nil {
		return err
	}
	if err := confine(s.Landlock, [3]uintptr{0, 1, 2}); err != nil {
		return err
	}
	if err := s.filter(); err != nil {
		return err
	}
	if err := observe(s.Observe); err != nil {
		return err
	}
	if err := wire.Send(wire.FdSocket, []byte{wire.MsgStart}); err != nil {
		return err
	}
	if s.Trial {
		return try(s.Program)
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
	for range 200 {
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
		if wire.Poll(wire.FdSocket, unix.POLLRDHUP, 1) != 0 {
			return // the launcher is gone, as saying that we are ready will tell
		}
	}
}

// execFailure gives the exit code and the words for a program that could not
// be executed.
func execFailure(program string, err error) (int, error) {
	if c, ok := errors.AsType[confineError](err); ok {
		return wire.NoSandbox, c
	}
	if o, ok := errors.AsType[observeError](err); ok {
		return wire.NoSandbox, o
	}
	switch {
	case err == unix.ENOENT && unix.Access(program, unix.F_OK) == nil:
		return wire.NotFound, fmt.Errorf("%q: its interpreter or loader is not in the box", program)
	case err == unix.ENOENT || err == unix.ENOTDIR:
		return wire.NotFound, fmt.Errorf("%q: not found in the box", program)
	case err == unix.ENOEXEC:
		return wire.NotExecutable, fmt.Errorf("%q: not in an executable format", program)
	case err == unix.EACCES:
		return wire.NotExecutable, fmt.Errorf("%q: not executable in the box", program)
	default:
		return wire.NotExecutable, fmt.Errorf("%q: cannot be executed in the box: %w", program, err)
	}
}
