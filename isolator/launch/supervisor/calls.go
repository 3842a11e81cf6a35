package supervisor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// A box that runs calls has no program of its own: the supervisor, its first process, starts
// each call on the launcher's word and tells how it ended. What a call has started and left
// lives on, as children of the supervisor.
//
// To know later which process belongs to which call, whatever parents, groups and sessions it
// has had, each call has another number as the limit of RLIMIT_LOCKS, of which the kernel has
// taken no notice since Linux 2.4.25. A limit is inherited, and can only be lowered: so the
// numbers go down, and no process can look as if it were of an earlier call.

// boxCalls is the supervisor's state in such a box.
type boxCalls struct {
	spec *spec
	mark uint64 // of the call with the number 0

	starts chan func() // carried out by a thread that is confined as all calls are

	mu   sync.Mutex // held while one is started, so that the end of none is seen before its start
	pids map[int]uint32
	ids  map[uint32]int // calls whose program has not ended
}

const (
	firstMark = 1 << 50
	markStep  = 1 << 8
)

// runCalls is the rest of the supervisor's life.
func runCalls(s *spec) int {
	c := &boxCalls{spec: s, mark: firstMark, starts: make(chan func()), pids: map[int]uint32{}, ids: map[uint32]int{}}
	if err := inOrder(c.ready, c.nursery); err != nil {
		return new(box).fail(wire.NoSandbox, err.Error())
	}
	dropOwn()
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	runtime.UnlockOSThread()
	if err := wire.Send(wire.FdSocket, []byte{wire.MsgStart}); err != nil {
		return wire.NoSandbox
	}
	go func() {
		for range children {
			c.reap()
		}
	}()
	c.obey()
	KillRest() // the launcher is gone
	return 128 + int(syscall.SIGKILL)
}

// ready makes of the supervisor what a call inherits.
func (c *boxCalls) ready() error {
	if err := newSession(); err != nil {
		return err
	}
	unblockSignals()
	for i := range c.spec.Stdio {
		unix.Close(wire.FdStdio + i)
	}
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_LOCKS, &now); err != nil {
		return os.NewSyscallError("getrlimit", err)
	}
	if c.mark = min(c.mark, now.Max); c.mark < 1<<32 {
		return errors.New("the limit of file locks (ulimit -x) is too low to tell calls apart")
	}
	if err := limitSelf(c.spec.Rlimits, true); err != nil {
		return err
	}
	return unix.Chdir("/")
}

// nursery starts the thread that forks all calls. It is confined once and for all of them: with
// a domain of Landlock for each, no call could end the server that one before has started.
func (c *boxCalls) nursery() error {
	confined := make(chan error)
	go func() {
		runtime.LockOSThread()
		unblockSignals()
		err := c.spec.restrict([3]uintptr{wire.FdSocket, wire.FdSocket, wire.FdSocket}) // a call has pipes, too
		if confined <- err; err != nil {
			return
		}
		for f := range c.starts {
			f()
		}
	}()
	return <-confined
}

func (c *boxCalls) markOf(id uint32) uint64 { return c.mark - uint64(id)*markStep }

// obey carries out the launcher's messages until it is gone.
func (c *boxCalls) obey() {
	var buf [16]byte
	for {
		wire.Poll(wire.FdSocket, unix.POLLIN, -1)
		n, _, fds, err := wire.Receive(wire.FdSocket, buf[:])
		if err == unix.EAGAIN {
			continue
		}
		if err != nil || n == 0 {
			wire.CloseAll(fds)
			return
		}
		if n >= 5 {
			c.carryOut(buf[0], binary.LittleEndian.Uint32(buf[1:]), buf[5:n], fds)
		}
		wire.CloseAll(fds)
	}
}

// carryOut carries out a message about a call.
func (c *boxCalls) carryOut(kind byte, id uint32, more []byte, fds []int) {
	switch kind {
	case wire.MsgCall:
		if len(fds) != 4 || len(more) != 0 {
			c.failed(id, wire.NoSandbox, "the supervisor of the box cannot open more files (sandbox.limits.files)")
			return
		}
		c.start(id, fds)
	case wire.MsgCallSignal:
		if len(more) == 1 {
			c.signal(id, syscall.Signal(more[0]))
		}
	case wire.MsgCallKill:
		if len(more) == 0 {
			go c.kill(id)
		}
	}
}

// failed says why a call was not started.
func (c *boxCalls) failed(id uint32, code int, reason string) {
	reason = wire.Line(reason)
	tellCall(wire.MsgCallFailed, id, append([]byte{byte(code)}, reason[:min(len(reason), wire.MaxMessage-6)]...)...)
}

// start starts a call, or says why it cannot be.
func (c *boxCalls) start(id uint32, fds []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var code int
	var err error
	done := make(chan struct{})
	c.starts <- func() {
		code, err = c.fork(id, fds)
		close(done)
	}
	if <-done; err != nil {
		c.failed(id, code, err.Error())
	}
}

func (c *boxCalls) fork(id uint32, fds []int) (code int, err error) {
	call, err := specIn(fds[0])
	if err != nil {
		return wire.NoSandbox, err
	}
	s := *c.spec // the rest is the box's
	s.Program, s.Dir, s.DirElse, s.Argv, s.Env = call.Program, call.Dir, call.DirElse, call.Argv, call.Env
	if err := s.chdir(); err != nil {
		return wire.NoSandbox, err
	}
	defer func() { _ = unix.Chdir("/") }()
	if code, err := s.find(); err != nil {
		return code, err
	}
	mark := syscall.Rlimit{Cur: c.markOf(id), Max: c.markOf(id)}
	if err := syscall.Setrlimit(unix.RLIMIT_LOCKS, &mark); err != nil {
		return wire.NoSandbox, fmt.Errorf("the call cannot be told from others: %w", err)
	}
	pid, err := syscall.ForkExec(s.Program, s.Argv, &syscall.ProcAttr{
		Env: s.Env, Files: []uintptr{uintptr(fds[1]), uintptr(fds[2]), uintptr(fds[3])}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return execFailure(s.Program, err)
	}
	c.pids[pid], c.ids[id] = id, pid
	tellCall(wire.MsgCallStart, id)
	return 0, nil
}

// signal sends a signal to the process group of a call whose program has not ended.
func (c *boxCalls) signal(id uint32, sig syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if pid := c.ids[id]; pid > 1 {
		_ = unix.Kill(-pid, sig)
	}
}

// reap waits for the children that have ended: programs of calls, and orphans.
func (c *boxCalls) reap() {
	for {
		var st syscall.WaitStatus
		pid, err := wire.Wait(-1, &st, syscall.WNOHANG)
		if err != nil || pid <= 0 {
			return
		}
		c.mu.Lock()
		id, known := c.pids[pid]
		if known { // else it is an orphan
			delete(c.pids, pid)
			delete(c.ids, id)
		}
		c.mu.Unlock()
		if known {
			tellCall(wire.MsgCallEnded, id, binary.LittleEndian.AppendUint32(nil, uint32(st))...)
		}
	}
}

// mostRounds is how often the processes of a call are looked for: one that has been killed
// forks no more, and each round meets those that were forked in the one before.
const mostRounds = 2000

// kill ends all processes of a call. When that cannot be done the box ends.
func (c *boxCalls) kill(id uint32) {
	for range mostRounds {
		if c.killOnce(id) == 0 {
			tellCall(wire.MsgCallKilled, id)
			return
		}
		time.Sleep(time.Millisecond) // who was killed has to be waited for
	}
	KillRest()
	os.Exit(128 + int(syscall.SIGKILL))
}

// killOnce kills the processes of a call that are seen, and returns how many they are.
func (c *boxCalls) killOnce(id uint32) (n int) {
	most, least := c.markOf(id), c.markOf(id+1)
	eachProcess(func(pid int) {
		var l unix.Rlimit
		if pid > 1 && unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &l) == nil && l.Max <= most && l.Max > least && unix.Kill(pid, unix.SIGKILL) == nil {
			n++
		}
	})
	return n
}

// mostPids is PID_MAX_LIMIT of the kernel.
const mostPids = 1 << 22

// eachProcess calls f with the number of each process of the box, and perhaps others. Without
// a /proc of the box's own all numbers are tried.
func eachProcess(f func(pid int)) {
	if self, err := os.Readlink("/proc/self"); err == nil && self == strconv.Itoa(unix.Getpid()) {
		if entries, err := os.ReadDir("/proc"); err == nil {
			for _, e := range entries {
				if pid, err := strconv.Atoi(e.Name()); err == nil {
					f(pid)
				}
			}
			return
		}
	}
	for pid := 2; pid < mostPids; pid++ {
		f(pid)
	}
}

func tellCall(kind byte, id uint32, more ...byte) {
	_ = wire.SendPatiently(wire.FdSocket, append(binary.LittleEndian.AppendUint32([]byte{kind}, id), more...))
}
