package launch

import (
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// inbox is how everything else reaches the loop: a pipe that takes one byte each from the
// signals, the relays, an Asker, and whoever waits for Options.Done. A byte below wakeChild is a
// signal.
type inbox struct {
	r, w int

	mu   sync.Mutex
	todo []func() // for the loop, see do

	over    chan struct{} // closed when the run is over
	awaited chan struct{} // closed when nobody waits for signals, or Done, any more
}

// Bytes in the inbox that are not signals.
const (
	wakeChild  = 200 // bwrap has ended
	wakeRelay  = 201 // a relay has ended
	wakeIdle   = 202 // a relay has written all there was
	wakeCaught = 203 // signals are caught
	wakeHeld   = 204 // a relay holds what it reads
	wakeAsk    = 205 // there is a question
	wakeDone   = 206 // Options.Done was closed
	wakeDo     = 207 // there is something to do
)

func (i *inbox) open() error {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return os.NewSyscallError("pipe2", err)
	}
	i.r, i.w = pipe[0], pipe[1]
	return nil
}

// put reaches the loop, from any goroutine.
func (i *inbox) put(bytes ...byte) { _, _ = unix.Write(i.w, bytes) }

// do has the loop do something. There must be one.
func (i *inbox) do(f func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.todo = append(i.todo, f)
	i.put(wakeDo)
}

// doAll does it.
func (i *inbox) doAll() {
	i.mu.Lock()
	todo := i.todo
	i.todo = nil
	i.mu.Unlock()
	for _, f := range todo {
		f()
	}
}

// take returns what is there.
func (i *inbox) take() []byte {
	var buf [64]byte
	n, _ := unix.Read(i.r, buf[:])
	return buf[:max(n, 0)]
}

// awaitDone tells the loop when done is closed.
func (i *inbox) awaitDone(done <-chan struct{}) {
	i.over, i.awaited = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(i.awaited)
		select {
		case <-done:
			i.put(wakeDone)
		case <-i.over:
		}
	}()
}

// catch starts catching signals. That happens on another thread, with
// wakeCaught at its end: each signal costs some handing over between threads,
// which this one, being locked, cannot afford while bwrap works. A signal that
// was ignored when inner started stays ignored, as nohup(1) and background
// jobs of scripts want it.
func (i *inbox) catch() {
	i.over, i.awaited = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(i.awaited)
		// SIGURG is the Go runtime's own; SIGTTIN and SIGTTOU must stop us.
		wanted := slices.DeleteFunc([]os.Signal{
			syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2,
			syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGWINCH,
		}, signal.Ignored)
		signal.Notify(caught, wanted...)
		i.put(wakeCaught)
		for {
			select {
			case sig := <-caught:
				if n, ok := sig.(syscall.Signal); ok {
					i.put(byte(n))
				}
			case <-i.over:
				return
			}
		}
	}()
}

// caught are the signals of this process. What comes when a try of a run is over waits for the next one, if there is one.
var caught = make(chan os.Signal, 64)

// awaitChild tells the loop when a child has ended of which there is no pidfd (before Linux 5.4).
func (i *inbox) awaitChild(pid int) {
	go func() {
		var info unix.Siginfo
		for unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
		i.put(wakeChild)
	}()
}

// close lets go of both ends, of the writing one when nobody else has it: alone says that no relay and nobody of
// awaitChild does. Signals stay caught while the caller cleans up after the run and exits.
func (i *inbox) close(alone bool) {
	if i.over != nil {
		close(i.over)
		<-i.awaited
		if alone {
			unix.Close(i.w)
		}
	}
	closeFds(&i.r)
}
