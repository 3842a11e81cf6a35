package launch

import (
	"cmp"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/plan"
)

// Early is a bwrap that waits for its words. It is started before there is a plan, since that takes as long as to start
// two programs. The words come through a pipe with room for them, where it can be had: one write(2) gives bwrap
// all or, when we are killed, none. Of none it makes a box that has nothing in it, not even the first process,
// and ends; in any box that one runs no program but by our word.
//
// A thread of its own forks it, which lives as long as the run does: bwrap dies with that thread. It is killed together
// with the one that gives the program's word, see box.Run, which comes after bwrap has asked for that.
type Early struct {
	bwrap string
	s     *session // of which only the child, its connection and its descriptors are there; nil once it was taken
	words int      // where its words are written to
	data  []int    // files in memory for what its words name, from plan.FirstDataFD on

	forked chan error    // sends whether it is there
	over   chan struct{} // closed when its thread may end; nil when that is ours
}

// earlyData is how many files an early bwrap has for the data of a plan: most have two.
const earlyData = 8

// StartEarly starts one, to be given to Run with the same Supervisor and Done, or closed.
func StartEarly(bwrap string, o Options) *Early {
	e := &Early{bwrap: bwrap, s: newSession(o), words: -1, forked: make(chan error, 1), over: make(chan struct{})}
	go func() {
		runtime.LockOSThread() // and the thread ends with this: nothing else gets its keyring
		e.forked <- e.start(plan.Plan{Bwrap: bwrap}, earlyData)
		<-e.over
	}()
	return e
}

// start forks it, with so many files, for a plan of which it has to know as little as is looked at here.
func (e *Early) start(p plan.Plan, files int) error {
	s := e.s
	if err := s.prepare(); err != nil {
		return err
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	defer unix.Close(pipe[0]) // bwrap has its own: what we write to one that has ended is an error, and does not wait
	e.words = pipe[1]
	list, err := s.ends(pipe[0])
	if err != nil {
		return err
	}
	for range files {
		fd, err := s.owned.add(wire.Memory())
		if err != nil {
			return err
		}
		e.data, list = append(e.data, fd), append(list, uintptr(fd))
	}
	if p.Map != nil {
		fd, err := s.owned.add(mappedNamespace(p.Bwrap, *p.Map))
		if err != nil {
			return err
		}
		list = append(list, uintptr(fd))
	}
	group, err := s.groupOf(p.Limits)
	if err != nil {
		return err
	}
	argv, env := command(p.Limits, []string{p.Bwrap, "--args", strconv.Itoa(wire.FdArgs), "--", cmp.Or(p.Self, wire.Exe), wire.Word})
	err = s.child.fork(argv, env, list, syscall.SysProcAttr{
		// CLONE_INTO_CGROUP (Linux 5.7): not one process of the box is outside.
		UseCgroupFD: group >= 0,
		CgroupFD:    max(group, 0),
		// No Pdeathsig: it would kill bwrap before it has released its
		// child, which then waits for that for ever (bwrap 0.8.0, measured).
		// Until bwrap asks for it itself the first process looks after this.
	})
	if err != nil {
		return fmt.Errorf("cannot run %q: %w", argv[0], err)
	}
	return nil
}

// Close ends a bwrap that no run took.
func (e *Early) Close() {
	if e == nil || e.s == nil {
		return
	}
	if <-e.forked == nil {
		e.s.child.kill()
		e.s.child.wait(true)
	}
	e.s.child.close()
	e.s.owned.close()
	closeFds(&e.s.sock, &e.words)
	e.s = nil
	close(e.over)
}

// fits reports whether it is there, and can make the box of a plan.
func (e *Early) fits(p plan.Plan, supervisor string) bool {
	if e == nil || e.s == nil {
		return false
	}
	err := <-e.forked
	e.forked <- err
	group := p.Limits != nil && (p.Limits.Parent != "" || len(p.Limits.Scope) > 0)
	return err == nil && p.Bwrap == e.bwrap && supervisor == e.s.o.Supervisor && !group &&
		p.Map == nil && p.Self == "" && len(p.Given()) <= earlyData
}

// startBwrap has the bwrap that was started early make the box, or another one.
func (s *session) startBwrap(p plan.Plan) (err error) {
	e := s.o.Early
	if !e.fits(p, s.o.Supervisor) {
		e.Close()
		e = &Early{s: s, words: -1}
		if err = e.start(p, len(p.Given())); err != nil {
			closeFds(&e.words)
			return err
		}
	}
	s.child, s.sock, s.owned, s.forker = e.s.child, e.s.sock, e.s.owned, e.over
	e.s = nil
	for i, d := range p.Given() {
		if err == nil {
			err = wire.Fill(e.data[i], d)
		}
	}
	if err == nil {
		err = s.openDoor()
	}
	if err == nil {
		words := []byte(strings.Join(boxWords(p), "\x00") + "\x00")
		_, _ = unix.FcntlInt(uintptr(e.words), unix.F_SETPIPE_SZ, len(words)) // or it is read while it is written
		if err = wire.WriteAll(e.words, words); err == unix.EPIPE {
			err = nil // what has ended already says why
		}
	}
	closeFds(&e.words)
	if err != nil {
		s.child.kill()
		s.child.wait(true)
		return err
	}
	defer s.owned.close() // its end of the socket, too
	if err = s.describe(); err == nil {
		s.askAhead()
	}
	return err
}
