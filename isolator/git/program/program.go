// Package program runs the host's git where a box had a hand in what it reads.
package program

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// Command prepares a git that runs nothing which the settings of a repository name, takes no settings
// of a person or the system, and fetches nothing. Paths are taken as they are. Where it runs is the
// caller's to say, by variables or flags.
func Command(git string, args ...string) *exec.Cmd {
	ours := []string{"--literal-pathspecs", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"}
	cmd := exec.Command(git, append(ours, args...)...)
	cmd.Dir = "/"
	cmd.Env = []string{
		"PATH=/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_TRACE2=0", "GIT_ALLOC_LIMIT=2g",
	}
	return cmd
}

// Soon is how long git may take to say something: it may wait for a FIFO that a box has put where it reads. A test
// lowers it.
var Soon = 10 * time.Second

// Output is what a git prints that is ended when that takes too long.
func Output(within time.Duration, cmd *exec.Cmd) (string, error) {
	var out, bad strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &bad
	err := cmd.Start()
	if err == nil {
		defer time.AfterFunc(within, func() { _ = cmd.Process.Kill() }).Stop()
		err = cmd.Wait()
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, strings.Join(strings.Fields(bad.String()), " "))
	}
	return out.String(), err
}

// Contents has git cat-file --batch, which a command begins, look for objects by their names, and calls f with each
// that is there and has at most limit bytes, by its place in the list.
func Contents(cmd *exec.Cmd, names []string, limit int64, f func(i int, kind string, data []byte) error) error {
	cmd.Args = append(cmd.Args, "cat-file", "--batch")
	cmd.Stdin = strings.NewReader(strings.Join(names, "\n") + "\n")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	in := bufio.NewReader(out)
	for i := 0; i < len(names) && err == nil; i++ {
		var line, id, kind string
		var size int64
		if line, err = in.ReadString('\n'); err != nil {
			break
		}
		switch n, _ := fmt.Sscanf(line, "%s %s %d\n", &id, &kind, &size); {
		case n < 3: // it is missing, or no object
		case size > limit:
			_, err = io.CopyN(io.Discard, in, size+1)
		default:
			data := make([]byte, size+1) // and a line feed
			if _, err = io.ReadFull(in, data); err == nil {
				err = f(i, kind, data[:size])
			}
		}
	}
	if err != nil {
		_ = cmd.Process.Kill()
	}
	if errWait := cmd.Wait(); err == nil {
		err = errWait
	}
	if err != nil {
		return fmt.Errorf("git cat-file: %w", err)
	}
	return nil
}
