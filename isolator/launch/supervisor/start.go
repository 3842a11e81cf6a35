package supervisor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// chdir goes to where the program starts.
func (s *spec) chdir() error {
	err := unix.Chdir(s.Dir)
	if err != nil && s.DirElse != "" {
		for i, kv := range s.Env {
			if kv == "PWD="+s.Dir {
				s.Env[i] = "PWD=" + s.DirElse
			}
		}
		err = unix.Chdir(s.DirElse)
	}
	if err != nil {
		return fmt.Errorf("working folder %q: %w in the box", s.Dir, err)
	}
	return nil
}

// newSession makes us the leader of a session.
func newSession() error {
	// EPERM: bwrap was asked for a new session, and we lead it.
	if _, err := unix.Setsid(); err != nil && err != unix.EPERM {
		return os.NewSyscallError("setsid", err)
	}
	return nil
}

// startProgram starts the program in the box's session: as the leader of a
// process group in the foreground of the box's terminal, or, without one, in
// our place. It returns only in the first case, or with an error.
func (b *box) startProgram(s *spec) (code int, err error) {
	if err := inOrder(s.chdir, newSession, b.takeTerminal); err != nil {
		return wire.NoSandbox, err
	}
	setSignals(s.Ignored)
	if err := limitSelf(s.Rlimits, b.full); err != nil {
		return wire.NoSandbox, err
	}
	if code, err := s.find(); err != nil {
		return code, err
	}
	files := b.stdio(s)
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

// takeTerminal makes the box's first terminal the one that controls our session.
func (b *box) takeTerminal() error {
	if !b.full {
		return nil
	}
	return os.NewSyscallError("controlling terminal", unix.IoctlSetInt(b.slave, unix.TIOCSCTTY, 0))
}

// stdio returns the standard streams of the program.
func (b *box) stdio(s *spec) (files [3]uintptr) {
	for i, from := range s.Stdio {
		switch {
		case from == wire.FromLauncher:
			files[i] = uintptr(wire.FdStdio + i)
		case int(from) <= len(b.slaves):
			files[i] = uintptr(b.slaves[from-wire.FromPty])
		}
	}
	return files
}

// find looks for a program that is only a name, on the PATH of the box.
func (s *spec) find() (code int, err error) {
	if strings.Contains(s.Program, "/") {
		return 0, nil
	}
	failure := error(unix.ENOENT)
	for _, kv := range s.Env {
		list, _ := strings.CutPrefix(kv, "PATH=")
		for dir := range strings.SplitSeq(list, ":") {
			if list == kv || !strings.HasPrefix(dir, "/") {
				continue
			}
			p := dir + "/" + s.Program
			switch err := executable(p); err {
			case nil:
				s.Program = p
				return 0, nil
			case unix.EACCES:
				failure = err
			}
		}
	}
	return execFailure(s.Program, failure)
}

// executable returns nil for a regular file that may be executed, EACCES for another one,
// and ENOENT for everything else.
func executable(path string) error {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return unix.ENOENT
	}
	if unix.Access(path, unix.X_OK) != nil {
		return unix.EACCES
	}
	return nil
}

// restrict takes from the calling thread, and with that from what it executes or forks,
// what the program may not do, and has it observed.
func (s *spec) restrict(files [3]uintptr) error {
	return inOrder(
		dropBounding,
		func() error { return confine(s.Landlock, files) },
		s.filter,
		s.observe,
	)
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
		unblockSignals()
		err := s.restrict(files)
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
	if err := s.restrict([3]uintptr{0, 1, 2}); err != nil {
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
		if !initRuns() || wire.Poll(wire.FdSocket, unix.POLLRDHUP, 1) != 0 {
			return // when the launcher is gone, saying that we are ready will tell
		}
	}
}

// initRuns reports whether process 1 is seen, and does not sleep.
func initRuns() bool {
	var buf [512]byte
	fd, err := unix.Open("/proc/1/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	n, _ := unix.Read(fd, buf[:])
	_, state, ok := bytes.Cut(buf[:max(n, 0)], []byte(") "))
	return ok && len(state) > 0 && state[0] != 'S'
}

// execFailure gives the exit code and the words for a program that could not
// be executed.
func execFailure(program string, err error) (int, error) {
	if r, ok := errors.AsType[restrictError](err); ok {
		return wire.NoSandbox, r
	}
	switch err {
	case unix.ENOENT, unix.ENOTDIR:
		if unix.Access(program, unix.F_OK) == nil {
			return wire.NotFound, fmt.Errorf("%q: its interpreter or loader is not in the box", program)
		}
		return wire.NotFound, fmt.Errorf("%q: not found in the box", program)
	case unix.ENOEXEC:
		return wire.NotExecutable, fmt.Errorf("%q: not in an executable format", program)
	case unix.EACCES:
		return wire.NotExecutable, fmt.Errorf("%q: not executable in the box", program)
	default:
		return wire.NotExecutable, fmt.Errorf("%q: cannot be executed in the box: %w", program, err)
	}
}
