package launch

import (
	"fmt"
	"os"
	"syscall"

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
	defer s.owned.close() // its end of the socket, too: what has ended already is no error here
	return s.describe()
}

// endOthers ends everything in the container but this process.
func endOthers() {
	box.KillRest()
	for {
		if _, err := wire.Wait(-1, nil, 0); err != nil {
			return
		}
	}
}
