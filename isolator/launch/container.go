package launch

import (
	"fmt"
	"syscall"
	"time"

	"github.com/enr/inner/internal/helper"
	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/plan"
)

// A container is started by its engine, which passes no descriptors. What runs first in it
// connects to a socket that is mounted there. From then on everything goes as with bwrap. That
// connection is what the container's life hangs on: when its end here is closed, the first process
// ends, and with it, by the kernel, every other one.

// startContainer starts the engine. On an error nothing is running.
func (s *session) startContainer(p plan.Plan) error {
	c := p.Container
	if s.o.Observe != nil {
		return fmt.Errorf("what a program asks for cannot be observed in a container of %s", c.Engine)
	}
	s.container = c
	if err := s.prepare(); err != nil {
		return err
	}
	n, err := s.owned.add(wire.OpenNull())
	if err != nil {
		return err
	}
	if s.listener, err = wire.Listen(c.Socket, 1); err != nil {
		return fmt.Errorf("%s: %w", c.Socket, err)
	}
	null := uintptr(n)
	files := []uintptr{null, null, uintptr(s.child.errors)}
	err = s.child.fork(append([]string{c.Path}, c.Args...), c.Env, files, syscall.SysProcAttr{})
	if err != nil {
		return fmt.Errorf("cannot run %q: %w", c.Path, err)
	}
	s.owned.close()
	return nil
}

// connected takes the container's connection. Only the first is taken, and only one of this user.
func (s *session) connected() {
	fd, pid, err := wire.Accept(s.listener, false)
	if err != nil {
		return
	}
	closeFds(&s.listener)
	s.sock, s.first = fd, pid
	if err := s.describe(); err != nil {
		s.fail("the container: " + err.Error())
	}
}

// hangUpContainer ends the container. It says whether it was still there to be ended so.
func (s *session) hangUpContainer() bool {
	if s.listener < 0 && s.sock < 0 {
		s.engineKilled = true
		return false
	}
	closeFds(&s.listener)
	s.hangUpChannel()
	return true
}

// removeWithin is how long an engine may take to remove a container.
const removeWithin = 10 * time.Second

// leaveContainer ends what is left, and has a container removed whose engine did not live to do so.
func (s *session) leaveContainer() {
	c := s.container
	if c == nil || !s.engineKilled && !s.child.status.Signaled() {
		return
	}
	_, _, _ = helper.Ask(removeWithin, c.Env, c.Path, c.Remove...)
}
