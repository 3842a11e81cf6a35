package objects

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of one git: its time, and the memory that it may allocate, apart from the files it maps.
const (
	patience  = 10 * time.Minute
	gitMemory = 3 << 30
)

// The descriptors that git finds: the host's objects and its git directory.
const (
	objectsFD = "/proc/self/fd/3"
	hostFD    = "/proc/self/fd/4"
)

// makeOwn makes the git directory that git is run with. Of the host's it has what says where history begins and which
// commits are named, and none of the settings: no hooks, helpers or promisors.
func (g *Gate) makeOwn() error {
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tprotectHFS = true\n\tprotectNTFS = true\n\tbigFileThreshold = 32m\n"
	for name, text := range map[string]string{"config": config, "HEAD": "ref: refs/inner/none\n"} {
		if err := os.WriteFile(filepath.Join(g.Own, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	for _, name := range []string{"refs", "packed-refs", "worktrees", "shallow"} {
		if err := os.Symlink(hostFD+"/"+name, filepath.Join(g.Own, name)); err != nil {
			return err
		}
	}
	return nil
}

// command prepares a git that looks for objects in folders of the host's folder of objects, "" being that itself.
func (g *Gate) command(ctx context.Context, store, further string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, g.Git, args...)
	cmd.Dir = g.Own
	cmd.Env = []string{
		"PATH=/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C", "GIT_DIR=" + g.Own,
		"GIT_OBJECT_DIRECTORY=" + filepath.Join(objectsFD, store), "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + further,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0",
		"GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_TRACE2=0", "GIT_ALLOC_LIMIT=2g",
	}
	cmd.ExtraFiles = []*os.File{g.objects, g.Host}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL} // no signal of a terminal reaches it, and it ends with us
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// bound limits the memory of a git that has started.
func bound(cmd *exec.Cmd) error {
	most := unix.Rlimit{Cur: gitMemory, Max: gitMemory}
	err := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_DATA, &most, nil)
	if err != nil && !errors.Is(err, unix.ESRCH) {
		_ = cmd.Process.Kill()
		return err
	}
	return nil
}

// run runs git to its end and returns what it prints.
func (g *Gate) run(store, further string, in io.Reader, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := g.command(ctx, store, further, args...)
	var out, said strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &said
	err := cmd.Start()
	if err == nil {
		err = errors.Join(bound(cmd), cmd.Wait())
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %q", args[0], err, said.String()[:min(said.Len(), 300)])
	}
	return out.String(), nil
}

// cats are two gits that stay: one says what objects are there, the other what is in them.
type cats struct {
	gate           *Gate
	store, further string
	packs          time.Time // when the host's packs changed last
	check, text    *cat
}

// host returns gits over the host's objects. They do not notice that a pack is gone which they have open: they are
// started again when packs have changed, until that is a while ago.
func (g *Gate) host() *cats {
	var changed time.Time
	if info, err := os.Stat(g.path("pack")); err == nil {
		changed = info.ModTime()
	}
	if g.asked == nil || !g.asked.packs.Equal(changed) {
		g.asked.close()
		g.asked = &cats{gate: g, packs: changed}
		if time.Since(changed) < time.Second {
			g.asked.packs = time.Unix(0, 0)
		}
	}
	return g.asked
}

func (c *cats) close() {
	if c != nil {
		c.check.close()
		c.text.close()
		c.check, c.text = nil, nil
	}
}

// kinds returns the kinds of objects, "" for those that are not there.
func (c *cats) kinds(list ...id) (kinds []string, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	if c.check == nil {
		if c.check, err = c.start("--batch-check"); err != nil {
			return nil, err
		}
	}
	c.check.ask(list...)
	for _, object := range list {
		kind, _, err := c.check.answer(object)
		if err != nil {
			c.close()
			return nil, err
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

// read returns the text of a commit, tree or tag.
func (c *cats) read(object id, kind string) (text []byte, err error) {
	if c.text == nil {
		if c.text, err = c.start("--batch"); err != nil {
			return nil, err
		}
	}
	c.text.ask(object)
	found, size, err := c.text.answer(object)
	switch {
	case err == nil && found == "":
		return nil, fmt.Errorf("%s %w", object, errMissing)
	case err == nil && (found != kind || size > maxText):
		err = fmt.Errorf("%s is named as a %s and is a %s of %d bytes", object, kind, found, size)
	case err == nil:
		text = make([]byte, size+1) // and a line feed
		_, err = io.ReadFull(c.text.out, text)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return text[:size], nil
}

// cat is one git cat-file.
type cat struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (c *cats) start(how string) (*cat, error) {
	cmd := c.gate.command(context.Background(), c.store, c.further, "cat-file", how)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &cat{cmd, in, bufio.NewReaderSize(out, 1<<16)}, bound(cmd)
}

// ask asks for objects, while the answers are read. If it fails, there are none.
func (c *cat) ask(list ...id) {
	var names strings.Builder
	for _, object := range list {
		names.WriteString(object.String() + "\n")
	}
	go io.WriteString(c.in, names.String())
}

// answer reads "NAME KIND SIZE" or "NAME missing".
func (c *cat) answer(object id) (kind string, size int64, err error) {
	line, err := c.out.ReadString('\n')
	if err != nil {
		return "", 0, fmt.Errorf("git cat-file: %w", err)
	}
	words := strings.Fields(line)
	switch {
	case len(words) == 2 && words[0] == object.String() && words[1] == "missing":
		return "", 0, nil
	case len(words) == 3 && words[0] == object.String():
		size, err = strconv.ParseInt(words[2], 10, 64)
		return words[1], size, err
	}
	return "", 0, fmt.Errorf("git cat-file: %q is no answer", line)
}

func (c *cat) close() {
	if c != nil {
		_ = c.cmd.Process.Kill()
		_ = c.in.Close()
		_ = c.cmd.Wait()
	}
}
