package launch

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/outside"
	"github.com/enr/inner/isolator/launch/wire"
)

// The supervisor waits for the launcher's word meanwhile: the program does not start
// before every one of these mounts is there, and has been looked at.

// OutsideFailed begins the reason of a result when a mount cannot be made from outside.
const OutsideFailed = "a mount of the sandbox cannot be made from outside:"

// completed reports whether everything is mounted in the box. If not the run has failed.
func (s *session) completed() bool {
	if len(s.rest.Pins) > 0 || len(s.rest.Masks) > 0 {
		if err := s.mountFrom(s.rest); err != nil {
			s.fail(err.Error())
			return false
		}
	}
	if err := s.covered.follow(s.boxPid); err != nil {
		s.fail(err.Error())
		return false
	}
	return true
}

// mountFrom has something mounted in the box, from outside.
func (s *session) mountFrom(list outside.List) error {
	data, err := wire.Memfd(list.Encode())
	if err != nil {
		return err
	}
	defer unix.Close(data)
	mounts, err := unix.Open(fmt.Sprintf("/proc/%d/ns/mnt", s.boxPid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("the mounts of the box: %w", err)
	}
	defer unix.Close(mounts)
	user, err := unix.IoctlRetInt(mounts, unix.NS_GET_USERNS)
	if err != nil {
		return fmt.Errorf("the owner of the mounts of the box: %w", err)
	}
	defer unix.Close(user)
	exe, err := unix.Open(s.supervisor, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", s.supervisor, err)
	}
	defer unix.Close(exe)
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("/dev/null: %w", err)
	}
	defer unix.Close(null)
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	self := fmt.Sprintf("/proc/self/fd/%d", outside.FdExe)
	argv := []string{self, outside.Word}
	program := self
	if !ownNamespace(user) {
		program = s.nsenter
		argv = append([]string{s.nsenter, "--preserve-credentials", fmt.Sprintf("--user=/proc/self/fd/%d", outside.FdUser), "--"}, argv...)
	}
	pid, err := syscall.ForkExec(program, argv, &syscall.ProcAttr{
		Dir: "/", Env: []string{},
		Files: []uintptr{uintptr(null), uintptr(null), w.Fd(), outside.FdUser: uintptr(user), outside.FdExe: uintptr(exe), outside.FdMounts: uintptr(mounts), outside.FdList: uintptr(data)},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	w.Close()
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	said, _ := io.ReadAll(io.LimitReader(r, 4096))
	var st syscall.WaitStatus
	for {
		if _, err = syscall.Wait4(pid, &st, 0, nil); err != syscall.EINTR {
			break
		}
	}
	if err != nil || !st.Exited() || st.ExitStatus() != 0 || string(said) != outside.Done {
		return fmt.Errorf("%s %s", OutsideFailed, wire.Line(string(bytes.TrimSpace(said))))
	}
	return nil
}

// ownNamespace reports whether a user namespace is the one we are in.
func ownNamespace(fd int) bool {
	var a, b unix.Stat_t
	return unix.Fstat(fd, &a) == nil && unix.Stat("/proc/self/ns/user", &b) == nil && a.Ino == b.Ino && a.Dev == b.Dev
}
