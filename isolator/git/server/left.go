package server

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Locks reports whether a server that was killed may have left lock files, by the private folder of its repository.
func Locks(private string) bool {
	left, err := Left(filepath.Join(private, "locks"))
	return err != nil || len(left) > 0
}

// Gone is the mark of a lock file that is not there any more.
const Gone = "0"

// Left reads the notes of a server: what it had made last and not removed, by its name.
func Left(at string) (map[string]string, error) {
	data, err := os.ReadFile(at)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	left := map[string]string{}
	for line := range strings.Lines(string(data)) {
		of, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case ok && of == Gone:
			delete(left, name)
		case ok:
			left[name] = of
		}
	}
	return left, nil
}

// Sweep has a binary of inner remove the lock files that a server has left which was killed. Another server may not have
// the private folder.
func Sweep(program, dir, private string) error {
	_, err := ask(program, WordSweep, dir, private)
	return err
}

// Stay names the settings in the private folder of a box that it changed and that stay with it.
func Stay(program, private string) (names []string) {
	out, _ := ask(program, WordStay, private)
	for line := range bytes.Lines(out) {
		if name, err := strconv.Unquote(string(bytes.TrimSpace(line))); err == nil {
			names = append(names, name)
		}
	}
	return names
}

func ask(program string, words ...string) ([]byte, error) {
	cmd := &exec.Cmd{
		Path: program, Args: append([]string{exe}, words...), Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/",
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	return cmd.Output()
}

// HalfDone says what a box has left unfinished in its private folder, "" for nothing.
func HalfDone(private string) string {
	for _, in := range []string{"own", "own/worktrees/*", "clone"} {
		for name, what := range map[string]string{"rebase-merge": "rebase", "rebase-apply": "rebase", "sequencer": "cherry-pick or revert", "BISECT_LOG": "bisection"} {
			if found, _ := filepath.Glob(filepath.Join(private, in, name)); len(found) > 0 {
				return what
			}
		}
	}
	return ""
}
