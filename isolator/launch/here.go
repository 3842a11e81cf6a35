package launch

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/box"
	"github.com/enr/inner/isolator/launch/wire"
)

// A pod's container may be the box itself: no engine and no bwrap is started, and the launcher
// is the first process of the container, where nothing of the box can signal it. What runs first in
// every other box is its child.

// startHere starts that in this container. On an error nothing is running.
func (s *session) startHere() error {
	if os.Getpid() != 1 {
		return fmt.Errorf("this is process %d of the container and not the first: what the program leaves would not end with it", os.Getpid())
	}
	files, err := s.ends()
	if err != nil {
		return err
	}
	if err = s.child.fork([]string{wire.Exe, wire.Word}, []string{"GOMAXPROCS=1"}, files, syscall.SysProcAttr{}); err != nil {
		return fmt.Errorf("the first process of the box cannot be started: %w", err)
	}
	s.owned.close()
	s.contained.orphans = make(chan struct{})
	go func() {
		defer close(s.contained.orphans)
		reapOrphans(s.child.pid)
	}()
	return s.describe()
}

// reapOrphans waits for whatever loses its parent, until the program itself has ended, which is
// left for the launcher.
func reapOrphans(program int) {
	for {
		var info unix.Siginfo
		switch err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT, nil); {
		case err == unix.EINTR:
			continue
		case err != nil:
			return
		}
		// si_pid: after three numbers, in a union that is aligned as a pointer (siginfo_t).
		pid := int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), 8+unsafe.Sizeof(uintptr(0)))))
		if pid == program {
			return
		}
		_, _ = syscall.Wait4(pid, nil, 0, nil)
	}
}

// endOthers ends everything in the container but this process, once the program was started.
func (k *contained) endOthers() {
	if k.orphans == nil {
		return
	}
	box.KillRest()
	for {
		if _, err := wire.Wait(-1, nil, 0); err != nil {
			break
		}
	}
	<-k.orphans // whoever starts a process after this waits for it alone
}
