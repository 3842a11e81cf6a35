package terminal

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// DefaultSignals lets what this process starts have SIGHUP and SIGINT at their
// default, also where they were ignored when it was started: by nohup, by make, or
// because a script put it into the background. A signal that is caught is at its
// default after an exec, one that is ignored stays ignored (execve(2)), and Go
// keeps these two ignored (os/signal). Programs that are tested for what they do on
// SIGHUP would do nothing. This process itself goes on ignoring both.
func DefaultSignals() {
	ignored := slices.DeleteFunc([]os.Signal{syscall.SIGHUP, syscall.SIGINT},
		func(s os.Signal) bool { return !signal.Ignored(s) })
	if len(ignored) > 0 {
		signal.Notify(make(chan os.Signal, 1), ignored...)
	}
}
