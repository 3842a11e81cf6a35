package launch

import (
	"os"
	"syscall"

	"github.com/enr/inner/isolator/launch/wire"
	"golang.org/x/sys/unix"
)

// child is the process that we have started: bwrap, the engine of a container, or the supervisor
// itself. What it writes to its standard error says why there is no box.
type child struct {
	pid    int // -1 before it is started
	pidfd  int // -1 where there is none
	reaped bool
	status syscall.WaitStatus // when reaped

	errPipe int // its stderr, -1 at its end
	errEnd  int // where it writes to that, -1 once it has been started
	errText []byte
}

const maxErrText = 4 << 10 // kept of its messages

// openErrors makes the pipe of its standard error.
func (c *child) openErrors() error {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return os.NewSyscallError("pipe2", err)
	}
	c.errPipe, c.errEnd = pipe[0], pipe[1]
	_ = unix.SetNonblock(c.errPipe, true)
	return nil
}

// fork starts it, in a session of its own.
func (c *child) fork(argv, env []string, files []uintptr, sys syscall.SysProcAttr) (err error) {
	sys.Setsid, sys.PidFD = true, &c.pidfd
	if c.pid, err = syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{Dir: "/", Env: env, Files: files, Sys: &sys}); err != nil {
		c.pid = -1
	}
	closeFds(&c.errEnd)
	return err
}

// there reports whether it was started and not waited for: then its number is its own.
func (c *child) there() bool { return c.pid > 0 && !c.reaped }

func (c *child) kill() { _ = unix.Kill(c.pid, unix.SIGKILL) }

// wait waits for its end, or looks whether it has come, and reports whether it has.
func (c *child) wait(block bool) bool {
	options := syscall.WNOHANG
	if block {
		options = 0
	}
	got, err := wire.Wait(c.pid, &c.status, options)
	c.reaped = err != nil || got == c.pid
	return c.reaped
}

// awaitChild waits for the end of a process of which there is no pidfd (before Linux 5.4).
func (s *session) awaitChild(pid int) {
	var info unix.Siginfo
	for unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	s.inbox.do(func() { s.reap(false) })
}

func (c *child) readErrors() {
	var buf [1024]byte
	for c.errPipe >= 0 {
		n, err := wire.Read(c.errPipe, buf[:])
		switch {
		case err == unix.EAGAIN:
			return
		case err != nil || n <= 0:
			closeFds(&c.errPipe)
		default:
			c.errText = append(c.errText, buf[:min(n, maxErrText-len(c.errText))]...)
		}
	}
}

func (c *child) close() { closeFds(&c.errPipe, &c.errEnd, &c.pidfd) }
