package shim

import (
	"os"
	"os/signal"
	"syscall"
)

// AsFirst is what inner does as the first process of a container. Whatever loses its parent there
// becomes a child of the first process, and stays until that has waited for it: a dead process
// holds on to its session keyring, of which the kernel gives a user few. So inner starts itself
// once more, and does nothing but reap and pass signals on until that has ended. The kernel ends
// everything in the container with the first process.
//
// It returns the exit code, and false in every other process.
func AsFirst() (code int, first bool) {
	if os.Getpid() != 1 {
		return 0, false
	}
	signals, keys := make(chan os.Signal, 8), make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2)
	if tty, err := os.Open("/dev/tty"); err == nil {
		tty.Close()
		signal.Notify(keys, syscall.SIGINT, syscall.SIGQUIT) // they reach the child as well, and must not end this process
	} else {
		signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT)
	}
	child, err := syscall.ForkExec("/proc/self/exe", os.Args,
		&syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		os.Stderr.WriteString("inner: cannot start itself once more as the first process of a container: " + err.Error() + "\n")
		return 125, true
	}
	go func() {
		for s := range signals {
			_ = syscall.Kill(child, s.(syscall.Signal))
		}
	}()
	return reap(child), true
}

// reap waits for everything that ends, until that is the child, and returns its exit code.
func reap(child int) int {
	for {
		var st syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &st, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 125
		case pid == child && st.Signaled():
			return 128 + int(st.Signal())
		case pid == child:
			return st.ExitStatus()
		}
	}
}
