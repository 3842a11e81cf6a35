// Package box is the first process in a box. It runs jobs: the program of a plan is one, calls of a
// session are others. The package above, launch, is the other end; package wire is what they say.
package box

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/deep"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/launch/wire"
)

// hangupGrace is how long jobs have after the launcher is gone.
const hangupGrace = 200 * time.Millisecond

// Is reports whether this process was started as the first of a box. main asks it before anything else.
func Is(args []string) bool {
	return len(args) == 2 && (args[0] == wire.Exe || args[0] == paths.BoxSelf) && args[1] == wire.Word
}

// Container is what is otherwise in a box that a container engine made (package container).
type Container struct {
	Dial func() (sock int, err error) // connects to the launcher
	Look func(*wire.Container) error  // makes sure that the container is what was asked for
}

// box is the state of the process.
type box struct {
	in    *Container // nil in a box of bwrap's
	sock  int
	spec  wire.Box
	born  chan struct{} // a job was forked
	marks uint64        // see mark; 0 before the first

	confined bool  // the thread that forks jobs is, or was refused that
	refused  error // why

	terminals []int // of the first job; the first of them may be the controlling one of our session

	mu   sync.Mutex // held while a job is started, so that the end of none is seen before its start
	jobs map[uint32]*job
}

// job is one that was started, and has not ended.
type job struct {
	id    uint32
	pid   int // leader of its process group
	alone bool
	front bool // it has the controlling terminal
}

// Run is the life of the process; it returns the exit code. The order, each step relied on by the next:
//
//  1. not dumpable: no job can trace it, nor reach its descriptors (its own binary among them) through /proc
//  2. it says that it is there, as early as can be: the launcher mounts what is made from outside meanwhile
//  3. everything from descriptor 3 up close-on-exec
//  4. what is mounted looked at
//  5. the launcher's word, which names the program; nothing here knows it before. It comes after step 2: by then bwrap
//     and this process have asked to die with who started them, and the thread that forked bwrap dies together with the
//     one that gives the word: so everything is tied to it. Killing the launcher in the first milliseconds left the box
//     alive in 28 of 60 tries without it
//  6. the word that the program is about to start, then the start: so that the launcher never says it has
//     not run when it has
func Run() int { return run(nil) }

// RunIn is Run in a container.
func RunIn(c Container) int { return run(&c) }

func run(in *Container) int {
	b, code, err := begin(in)
	if err != nil {
		os.Stderr.WriteString("inner: " + err.Error() + "\n")
		return code
	}
	if err := b.prepare(); err != nil {
		b.failed(0, wire.NoSandbox, err)
		return wire.NoSandbox
	}
	// Jobs may signal us, and the kernel does when a terminal is gone.
	shrugOff(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	if err := b.openTerminals(); err != nil {
		b.failed(0, wire.NoSandbox, err)
		return wire.NoSandbox
	}
	go b.reap()
	apart(func() {
		deep.Stack()
		unblockSignals()
		b.obey()
		b.hangUp()
		os.Exit(128 + int(syscall.SIGKILL))
	})
	return 0 // never
}

// begin finds the launcher at the other end of a socket, and tells whoever has typed the word that it is
// none for them.
func begin(in *Container) (b *box, code int, err error) {
	b = &box{in: in, sock: wire.FdSocket, born: make(chan struct{}, 1), jobs: map[uint32]*job{}}
	if in != nil {
		if b.sock, err = in.Dial(); err != nil {
			return nil, wire.NoSandbox, fmt.Errorf("the launcher cannot be reached: %w", err)
		}
	} else if t, err := unix.GetsockoptInt(b.sock, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || t != unix.SOCK_SEQPACKET {
		return nil, 2, fmt.Errorf("%s is for inner itself", wire.Word)
	}
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	name := [...]byte{'i', 'n', 'n', 'e', 'r', 0} // for ps(1): it would be "4"
	_, _, _ = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name)), 0)
	return b, wire.NoSandbox, b.say(wire.Msg{Kind: wire.Here})
}

func (b *box) say(m wire.Msg, fds ...int) error { return wire.SendPatiently(b.sock, m, fds...) }

// failed says why a job was not started, or, of job 0, the box was not made.
func (b *box) failed(id uint32, code int, err error) {
	_ = b.say(wire.Msg{Kind: wire.Failed, Job: id, N: uint32(code), Text: wire.Line(err.Error())})
}

// inOrder carries out steps until one fails.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// prepare does what goes before the first job.
func (b *box) prepare() error {
	wire.CloseOnExecFrom(wire.FdSocket)
	if b.in == nil { // in a container these numbers are the runtime's
		wire.CloseAll([]int{wire.FdExe, wire.FdArgs})
	}
	m, fds, err := wire.Await(b.sock)
	defer wire.CloseAll(fds)
	if err != nil {
		return err
	}
	if m.Kind != wire.Make || len(fds) != 1 {
		return fmt.Errorf("the launcher said %q first", m.Kind)
	}
	if err := wire.Unseal(fds[0], &b.spec); err != nil {
		return fmt.Errorf("box spec: %w", err)
	}
	// EPERM: bwrap was asked for a new session, and we lead it.
	if _, err := unix.Setsid(); err != nil && err != unix.EPERM {
		return os.NewSyscallError("setsid", err)
	}
	return inOrder(b.lookAround, b.lookAtContainer, func() error { return limitSelf(b.spec.Rlimits) })
}

// lookAtContainer makes sure that a container is what was asked for.
func (b *box) lookAtContainer() error {
	switch spec := b.spec.Container; {
	case (spec == nil) != (b.in == nil):
		return errors.New("box spec: it is for another kind of box")
	case spec == nil:
		return nil
	default:
		return b.in.Look(spec)
	}
}

// obey carries out what the launcher says, until it is gone.
func (b *box) obey() {
	for {
		m, fds, err := wire.Await(b.sock)
		if err != nil {
			return
		}
		switch m.Kind {
		case wire.Start:
			b.start(m.Job, fds)
		case wire.Signal:
			b.signal(m.Job, syscall.Signal(m.N&^wire.Front), m.N&wire.Front != 0)
		case wire.Kill:
			go b.kill(m.Job)
		case wire.Socket:
			b.socket(m)
		}
		wire.CloseAll(fds)
	}
}

// reap tells what became of the children: jobs, and orphans, which nobody asks for.
func (b *box) reap() {
	for {
		var st syscall.WaitStatus
		pid, err := wire.Wait(-1, &st, syscall.WUNTRACED)
		if err != nil { // there is none
			<-b.born
			continue
		}
		b.mu.Lock()
		for _, j := range b.jobs {
			if j.pid == pid {
				b.changed(j, st)
			}
		}
		b.mu.Unlock()
	}
}

// changed tells that a job has stopped or ended. The mutex is held.
func (b *box) changed(j *job, st syscall.WaitStatus) {
	if st.Stopped() {
		_ = b.say(wire.Msg{Kind: wire.Stopped, Job: j.id, N: uint32(st.StopSignal())})
		return
	}
	delete(b.jobs, j.id)
	if j.front { // or the kernel would hang the terminal up, and throw away output on its way
		_ = unix.IoctlSetInt(b.terminals[0], unix.TIOCNOTTY, 0)
	}
	if j.alone {
		killRest()
	}
	_ = b.say(wire.Msg{Kind: wire.Ended, Job: j.id, N: uint32(st)})
	if j.alone {
		os.Exit(wire.ExitCode(st))
	}
}

// signal sends a signal to the process group of a job. With front the terminal is the job's again, as
// by a shell's fg. SIGHUP is as the end of its terminal: what is in the foreground there gets it, too,
// awake or not.
func (b *box) signal(id uint32, sig syscall.Signal, front bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	j := b.jobs[id]
	if j == nil {
		return
	}
	groups := []int{j.pid}
	if j.front {
		slave := b.terminals[0]
		if front {
			_ = Quietly(func() error { return unix.IoctlSetPointerInt(slave, unix.TIOCSPGRP, j.pid) })
		}
		fg, err := unix.IoctlGetInt(slave, unix.TIOCGPGRP)
		if sig == syscall.SIGHUP && err == nil && fg != j.pid && fg != unix.Getpgrp() {
			groups = append(groups, fg)
		}
	}
	for _, g := range groups {
		_ = unix.Kill(-g, sig)
		if sig == syscall.SIGHUP && j.front {
			_ = unix.Kill(-g, syscall.SIGCONT)
		}
	}
}

// hangUp ends the box after the launcher is gone.
func (b *box) hangUp() {
	b.mu.Lock()
	ids := make([]uint32, 0, len(b.jobs))
	for id := range b.jobs {
		ids = append(ids, id)
	}
	b.mu.Unlock()
	for _, id := range ids {
		b.signal(id, syscall.SIGHUP, false)
		b.signal(id, syscall.SIGCONT, false)
	}
	if len(ids) > 0 {
		time.Sleep(hangupGrace)
	}
	for _, id := range ids {
		b.signal(id, syscall.SIGKILL, false)
	}
	killRest()
}

// killRest kills every process of the box but us. It does nothing unless we are the first process of
// a PID namespace.
func killRest() {
	if unix.Getpid() == 1 {
		_ = unix.Kill(-1, unix.SIGKILL)
	}
}
