package objects

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/git/program"
)

// Bounds of one git: the time in which it answers, and the memory that it may allocate, apart from
// the files it maps. One that stays has less: a few trees that are in each other in very many ways are very many files.
const (
	patience   = 10 * time.Minute
	gitMemory  = 3 << 30
	stayMemory = 256 << 20
)

// The descriptors that git finds: the host's objects and its git directory.
const (
	objectsFD = "/proc/self/fd/3"
	hostFD    = "/proc/self/fd/4"
)

// makeOwn makes the git directory that git is run with. Of the host's it has what says where history begins and which
// commits are named, and none of the settings: no hooks, helpers or promisors.
func (g *Gate) makeOwn() error {
	g.own = filepath.Join(g.Private, "gate")
	if err := os.MkdirAll(g.own, 0o700); err != nil {
		return err
	}
	links := map[string]string{"HEAD": "refs/inner/none"}
	for _, name := range []string{"refs", "packed-refs", "worktrees", "shallow"} {
		links[name] = hostFD + "/" + name
	}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(g.own, name)); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}

// command prepares a git whose objects are in a folder of the host's folder of objects, "" being that
// itself, and in that.
func (g *Gate) command(store string, args ...string) *exec.Cmd {
	ours := []string{
		"-c", "core.protectHFS=true", "-c", "core.protectNTFS=true",
		"-c", "core.bigFileThreshold=32m", "-c", "core.deltaBaseCacheLimit=32m",
	}
	cmd := program.Command(g.Git, append(ours, args...)...)
	cmd.Dir = g.own
	cmd.Env = append(cmd.Env, "GIT_DIR="+g.own,
		"GIT_OBJECT_DIRECTORY="+filepath.Join(objectsFD, store), "GIT_ALTERNATE_OBJECT_DIRECTORIES="+objectsFD)
	cmd.ExtraFiles = []*os.File{g.into, g.host}
	// No signal of a terminal reaches it, and it ends with us.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// start starts a git.
func start(cmd *exec.Cmd, memory uint64) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	most := unix.Rlimit{Cur: memory, Max: memory}
	err := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_DATA, &most, nil)
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	return nil
}

// within kills a git that has not ended, or answered, in time: until what it returns is called.
func within(cmd *exec.Cmd) (answered func() bool) {
	return time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }).Stop
}

// run runs git to its end and returns what it prints.
func (g *Gate) run(store string, in io.Reader, args ...string) (string, error) {
	cmd := g.command(store, args...)
	var out, said strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &said
	err := start(cmd, gitMemory)
	if err == nil {
		defer within(cmd)()
		err = cmd.Wait()
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %q", args[0], err, said.String()[:min(said.Len(), 300)])
	}
	return out.String(), nil
}

// asked is a git that stays, and answers lines.
type asked struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// ask asks a git, which it starts if there is none, and reads the answer. When that fails, the git ends.
func (g *Gate) ask(which **asked, lines string, answer func(*bufio.Reader) error, args ...string) error {
	if *which == nil {
		cmd := g.command(g.quarantine, args...)
		in, err := cmd.StdinPipe()
		out, errOut := cmd.StdoutPipe()
		if err := errors.Join(err, errOut); err != nil {
			return err
		}
		if err := start(cmd, stayMemory); err != nil {
			return err
		}
		*which = &asked{cmd, in, bufio.NewReaderSize(out, 1<<16)}
	}
	git := *which
	defer within(git.cmd)()
	go io.WriteString(git.in, lines)
	err := answer(git.out)
	if err != nil {
		g.endGits()
	}
	return err
}

// endGits ends the gits that stay. They do not notice that a pack is gone which they have open.
func (g *Gate) endGits() {
	for _, git := range []*asked{g.kinds, g.diffs} {
		if git != nil {
			_ = git.cmd.Process.Kill()
			_ = git.in.Close()
			_ = git.cmd.Wait()
		}
	}
	g.kinds, g.diffs = nil, nil
}

// found is what git has under a name, of no kind if it has none.
type found struct {
	kind, name string
}

// find asks git for objects. NAME^{} is what a tag leads to.
func (g *Gate) find(names []string) (list []found, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	err = g.ask(&g.kinds, strings.Join(names, "\n")+"\n", func(in *bufio.Reader) error {
		for _, name := range names {
			line, err := in.ReadString('\n')
			if err != nil {
				return fmt.Errorf("git cat-file: %w", err)
			}
			words := strings.Fields(line)
			switch {
			case line == name+" missing\n":
				list = append(list, found{})
			case len(words) == 3 && len(words[0]) == 40:
				list = append(list, found{words[1], words[0]})
			default:
				return fmt.Errorf("git cat-file: %q is no answer", line)
			}
		}
		return nil
	}, "cat-file", "--batch-check")
	return list, err
}

// change is an entry that a commit has and no parent of it.
type change struct {
	entry
	path string
	was  []string // the modes that the parents have there
}

const noTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904" // the empty one

// changes lets git compare commits with all of their parents, and trees with nothing.
func (g *Gate) changes(commits, trees []string, each func(change) error) error {
	var lines strings.Builder
	var heads []string
	for _, name := range commits {
		lines.WriteString(name + "\n")
		heads = append(heads, name)
	}
	for _, name := range trees {
		lines.WriteString(noTree + " " + name + "\n")
		heads = append(heads, noTree, name)
	}
	if len(heads) == 0 {
		return nil
	}
	return g.ask(&g.diffs, lines.String()+".\n", func(in *bufio.Reader) error {
		err := readChanges(in, heads, each)
		if errors.Is(err, io.EOF) {
			err = errors.New("git diff-tree cannot compare a tree, or one " + errMissing.Error())
		}
		return err
	}, "diff-tree", "--stdin", "--always", "-r", "-c", "--root", "--raw", "-z",
		"--no-renames", "--no-abbrev", "--ignore-submodules=none")
}

// readChanges reads what git diff-tree prints: heads, each with its changes, and the line that it does not know.
//
//	:MODE… MODE OBJECT… OBJECT STATUS NUL PATH NUL, with as many colons as parents
func readChanges(in *bufio.Reader, heads []string, each func(change) error) error {
	for {
		first, err := in.Peek(1)
		if err != nil {
			return err
		}
		switch first[0] {
		case '.':
			_, err = in.Discard(2)
			if len(heads) > 0 {
				err = fmt.Errorf("git diff-tree: %s is passed over", heads[0])
			}
			return err
		case ':':
			c, err := readChange(in)
			if err == nil && c.mode != "000000" {
				err = each(c)
			}
			if err != nil {
				return err
			}
		default:
			head := make([]byte, 41)
			if _, err := io.ReadFull(in, head); err != nil {
				return err
			}
			if len(heads) == 0 || string(head[:40]) != heads[0] {
				return fmt.Errorf("git diff-tree: %q is no answer", head)
			}
			heads = heads[1:]
		}
	}
}

func readChange(in *bufio.Reader) (c change, err error) {
	line, err := in.ReadString(0)
	if err != nil {
		return c, err
	}
	c.path, err = in.ReadString(0)
	if err != nil {
		return c, err
	}
	c.path = strings.TrimSuffix(c.path, "\x00")
	modes := strings.TrimLeft(line, ":")
	words, parents := strings.Fields(modes), len(line)-len(modes)
	if len(words) != 2*parents+3 {
		return c, fmt.Errorf("git diff-tree: %q is no answer", line)
	}
	c.was, c.mode, c.object = words[:parents], words[parents], words[2*parents+1]
	c.name = c.path[strings.LastIndexByte(c.path, '/')+1:]
	return c, nil
}
