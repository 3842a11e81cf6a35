package launch

import (
	"errors"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/plan"
)

// Early is a bwrap that was started before there is a plan, since that takes as long as to start two programs. It waits
// for its words, which come through a pipe that has room for all of them: one write(2) gives it all or, when we are
// killed, none. Of none it makes a box that has nothing in it, not even the first process, and ends.
//
// A thread of its own forks it, which lives as long as the run does: bwrap dies with that thread. It is killed together
// with the one that gives the program's word, see box.Run, which comes after bwrap has asked for that.
type Early struct {
	bwrap string
	s     *session // of which only the child, its connection and its descriptors are there
	words int      // where its words are written to
	data  []int    // files in memory for what its words name, from plan.FirstDataFD on

	forked chan error    // sends whether it is there
	over   chan struct{} // closed when its thread may end
}

// earlyData is how many files an early bwrap has for the data of a plan: most have two.
const earlyData = 8

// StartEarly starts one, to be given to Run with the same options, or closed.
func StartEarly(bwrap string, o Options) *Early {
	e := &Early{bwrap: bwrap, s: newSession(o), words: -1, forked: make(chan error, 1), over: make(chan struct{})}
	go func() {
		runtime.LockOSThread() // and the thread ends with this: nothing else gets its keyring
		e.forked <- e.start()
		<-e.over
	}()
	return e
}

func (e *Early) start() error {
	if err := e.s.prepare(); err != nil {
		return err
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	e.words, e.s.owned = pipe[1], append(e.s.owned, pipe[0])
	files, err := e.s.ends(pipe[0])
	if err != nil {
		return err
	}
	for range earlyData {
		fd, err := e.s.owned.add(wire.Memory())
		if err != nil {
			return err
		}
		e.data, files = append(e.data, fd), append(files, uintptr(fd))
	}
	return e.s.child.fork(wordsFor(e.bwrap, wire.Exe), []string{}, files, syscall.SysProcAttr{})
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

// takeEarly has the bwrap that was started early make the box of a plan, and reports whether it can.
func (s *session) takeEarly(p plan.Plan) (took bool, err error) {
	e := s.o.Early
	if e == nil || e.s == nil {
		return false, nil
	}
	err = <-e.forked
	words := strings.Join(boxWords(p), "\x00") + "\x00"
	room, _ := unix.FcntlInt(uintptr(e.words), unix.F_GETPIPE_SZ, 0) // less than 64 KiB for who has many pipes (pipe(7))
	group := p.Limits != nil && (p.Limits.Parent != "" || len(p.Limits.Scope) > 0)
	other := p.Bwrap != e.bwrap || s.o.Supervisor != e.s.o.Supervisor
	if err != nil || other || group || p.Container != nil || p.Map != nil || p.Self != "" || len(p.Data) > earlyData || len(words) > room {
		e.forked <- err
		e.Close()
		return false, nil
	}
	s.child, s.sock, s.owned, s.forker = e.s.child, e.s.sock, e.s.owned, e.over
	e.s = nil
	for i, d := range p.Data {
		err = errors.Join(err, wire.Fill(e.data[i], d))
	}
	if err == nil {
		err = s.openDoor()
	}
	if err == nil {
		if _, err = unix.Write(e.words, []byte(words)); err == unix.EPIPE {
			err = nil // what has ended already says why
		}
	}
	closeFds(&e.words)
	if err != nil {
		s.child.kill()
		s.child.wait(true)
		return true, err
	}
	defer s.owned.close() // its end of the socket, too
	return true, s.describe()
}
