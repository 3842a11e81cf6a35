// Package helper runs a program of the host to ask it something: an agent to renew its login, git for
// what a box has left.
//
// It promises that such a program
//
//   - cannot ask on the terminal,
//   - ends when its context does, with everything in its session, and when inner is killed,
//   - makes only files that nobody but the user can read, whatever the umask.
//
// The last one matters where it works in the folder of a run: after inner was killed and the next
// run has removed that folder, such a program, in the milliseconds it has left, may make it again with
// all its parents.
//
// In a container where no thread can have a umask of its own, Run fails unless the umask of
// the whole process is 077.
//
// It does not promise that what such a program leaves in another session ends. What is only asked for a word
// goes by Ask.
package helper

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Run runs cmd, made by exec.CommandContext, to its end. The error is that of [exec.Cmd.Run], or
// says that the program was not started. It sets SysProcAttr, Cancel and WaitDelay of cmd.
func Run(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	done := make(chan error)
	go func() {
		// A thread of its own, which ends with this function: with CLONE_FS undone
		// (unshare(2)) its umask is not the process's. It has to live as long as the
		// program, too: PR_SET_PDEATHSIG looks at the thread, not at the process.
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_FS)
		if old := unix.Umask(0o077); err != nil && old != 0o077 {
			unix.Umask(old) // it was the process's
			done <- fmt.Errorf("%s cannot be given a umask of its own, and that of inner is not 077: %w", cmd.Path, err)
			return
		}
		done <- cmd.Run()
	}()
	return <-done
}

// Ask runs a program in the root folder with that environment and no other, and returns what it
// prints. It is killed when that takes too long.
func Ask(within time.Duration, env []string, path string, args ...string) (out, complaint string, err error) {
	ctx, stop := context.WithTimeout(context.Background(), within)
	defer stop()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = append([]string{}, env...), "/", time.Second
	var said, bad bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &bad
	err = cmd.Run()
	return said.String(), bad.String(), err
}
