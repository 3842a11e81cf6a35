package box

import (
	"fmt"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/limits"
)

// limitSelf puts the limits of the first process in force, for the program to inherit.
// They are hard, and never above what was there.
func limitSelf(v limits.Values) error {
	if v.Pids > 0 {
		spareThreads()
	}
	for _, l := range []struct {
		name     string
		resource int
		value    uint64
	}{
		{"open files", unix.RLIMIT_NOFILE, v.Files},
		{"file size", unix.RLIMIT_FSIZE, v.FileSize},
		{"processes", unix.RLIMIT_NPROC, v.Pids},
	} {
		if l.value == 0 {
			continue
		}
		if l.resource == unix.RLIMIT_NPROC {
			l.value += limits.Own // counted in the box's user namespace, which is ours too
		}
		var now syscall.Rlimit
		err := syscall.Getrlimit(l.resource, &now)
		if err == nil {
			n := min(l.value, now.Max)
			// Not by package unix: syscall must forget the number of open files
			// that it would restore for the program.
			err = syscall.Setrlimit(l.resource, &syscall.Rlimit{Cur: n, Max: n})
		}
		if err != nil {
			return fmt.Errorf("the limit of %s cannot be set: %w", l.name, err)
		}
	}
	return nil
}

// spareThreads has the Go runtime start some threads now and keep them: once the
// program has used up its processes there are none to be had, and the runtime
// gives up when it needs one.
func spareThreads() {
	const spare = 4
	var up, done sync.WaitGroup
	up.Add(spare)
	for range spare {
		done.Go(func() {
			runtime.LockOSThread() // a thread for each, at once
			up.Done()
			up.Wait()
			runtime.UnlockOSThread() // and it stays
		})
	}
	done.Wait()
}
