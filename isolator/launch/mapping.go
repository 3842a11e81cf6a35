package launch

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/userns"
)

// mappedNamespace makes a user namespace with a map and returns a descriptor of
// it, for bwrap to join.
//
// A namespace is made with a process in it. That is a bwrap which waits for
// its arguments, from a pipe nobody writes to: it ends when we end it, or when we
// are gone. bwrap could make the namespace itself and wait for the map
// (--userns-block-fd); but then it has tied its life to ours and not yet
// released its child, which waits for ever when we are killed meanwhile (bwrap
// 0.8.0, measured: three of 340 launchers killed at random left a process).
func mappedNamespace(bwrap string, ids userns.Map) (fd int, err error) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return -1, os.NewSyscallError("pipe2", err)
	}
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("/dev/null: %w", err)
	}
	defer unix.Close(null)
	pid, err := syscall.ForkExec(bwrap, []string{bwrap, "--args", "3"}, &syscall.ProcAttr{
		Dir:   "/",
		Env:   []string{},
		Files: []uintptr{uintptr(null), uintptr(null), uintptr(null), uintptr(pipe[0])},
		Sys:   &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return -1, fmt.Errorf("cannot make a user namespace: %w", err)
	}
	defer func() {
		_ = unix.Kill(pid, unix.SIGKILL)
		_, _ = wire.Wait(pid, nil, 0)
	}()
	if err := ids.Write(pid); err != nil {
		return -1, err
	}
	fd, err = unix.Open(fmt.Sprintf("/proc/%d/ns/user", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("user namespace: %w", err)
	}
	return fd, nil
}
