package launch

import (
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

	errors int // its standard error, a file in memory
}

const maxErrText = 4 << 10 // read of its messages

// errText is what it has written to its standard error.
func (c *child) errText() []byte {
	buf := make([]byte, maxErrText)
	n, _ := wire.ReadAt(c.errors, buf, 0)
	return buf[:max(n, 0)]
}

// fork starts it, in a session of its own.
func (c *child) fork(argv, env []string, files []uintptr, sys syscall.SysProcAttr) (err error) {
	sys.Setsid, sys.PidFD = true, &c.pidfd
	if c.pid, err = syscall.ForkExec(argv[0], argv,
		&syscall.ProcAttr{Dir: "/", Env: env, Files: files, Sys: &sys}); err != nil {
		c.pid = -1
	}
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

func (c *child) close() { closeFds(&c.errors, &c.pidfd) }
