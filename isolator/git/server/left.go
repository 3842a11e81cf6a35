package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/lazy"
	"github.com/enr/inner/isolator/copytree"
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

// Sweep removes what servers that are gone have left: lock files that are still theirs, but for the log of a
// branch that was being renamed, and what they were about to rename. Another server may not have the private
// folder.
func Sweep(dir, private string) error {
	notes := filepath.Join(private, "locks")
	left, err := Left(notes)
	if err != nil {
		return err
	}
	for _, at := range []string{dir, filepath.Join(private, "own")} {
		in, err := os.Open(at)
		if err != nil {
			return err
		}
		defer in.Close()
		for name, of := range left {
			_ = copytree.In(int(in.Fd()), name, func(parent int, last string) error {
				if last == ".tmp-renamed-log" || files.Identity(parent, last) != of {
					return nil
				}
				return unix.Unlinkat(parent, last, 0)
			})
		}
		names, _ := in.Readdirnames(-1)
		for _, name := range names {
			var pid, n int
			if _, err := fmt.Sscanf(name, Ours+"%d-%d", &pid, &n); err == nil && unix.Kill(pid, 0) == unix.ESRCH {
				_ = unix.Unlinkat(int(in.Fd()), name, 0)
			}
		}
	}
	return os.RemoveAll(notes)
}

// Ours begins the names of what a server writes before it is renamed into place; the number of its process follows.
const Ours = ".inner-"

// HalfDone says what a box has left unfinished in its private folder, "" for nothing, and which commit has the changes
// that it put aside for that, if the host has it.
func HalfDone(private string) (what, aside string) {
	for _, in := range []string{"own", "own/worktrees/*", "clone"} {
		for _, half := range [][2]string{{"rebase-merge", "rebase"}, {"rebase-apply", "rebase"}, {"sequencer", "cherry-pick or revert"}, {"BISECT_LOG", "bisection"}} {
			if found, _ := filepath.Glob(filepath.Join(private, in, half[0])); len(found) > 0 {
				text, _ := files.Read(filepath.Join(found[0], "autostash"), files.NoLinks, 100)
				if in != "clone" {
					aside = commit().FindString(string(text))
				}
				return half[1], aside
			}
		}
	}
	return "", ""
}

var commit = lazy.Regexp(`^[0-9a-f]{40}\b`)
