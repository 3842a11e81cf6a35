package git

import (
	"bytes"
	"context"
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
)

// plumbing runs the host's git on the host's objects and refs, with a git directory,
// a configuration and an environment of inner's own.
//
// The git directory is a folder of links to descriptors: refs, logs and packed-refs lead
// to the host's repository as it was opened, whatever has its path by now. No
// configuration of the host's, the user's or the box's is read, so there are no hooks, no
// file system monitors, no helpers and no promisors; there is no work tree, so there are no
// attributes and filters. Replaced objects and grafts are not obeyed.
type plumbing struct {
	git   string
	clean string // the git directory
	host  *folder
	store *folder // the host's objects
	lock  *os.File
	who   [2]string
}

// patience is how long one git may take. One that writes into the host's repository is not interrupted before.
const patience = 10 * time.Minute

// gitMemory is the most memory that one git may allocate, apart from the files it maps: what a box stored in a few
// bytes may unpack to any size.
const gitMemory = 3 << 30

// newPlumbing makes a new git directory, since a killed inner may have left locks in the old one.
func (c *Copy) newPlumbing(u *unit, host *folder) (*plumbing, error) {
	store, err := host.sub("objects")
	if err != nil {
		return nil, err
	}
	rel := fmt.Sprintf("plumbing.%d", u.N)
	p := &plumbing{
		git: c.meta.Git, clean: filepath.Join(c.path, stateFolder, rel), host: host, store: store, lock: c.lock,
		who: [2]string{c.meta.Name, c.meta.Email},
	}
	if err := c.makePlumbing(u, rel, host.shared); err != nil {
		store.close()
		return nil, err
	}
	return p, nil
}

func (c *Copy) makePlumbing(u *unit, rel string, shared sharing) error {
	if err := removeAll(c.state, rel); err != nil {
		return err
	}
	if err := c.state.mkdir(rel + "/objects"); err != nil {
		return err
	}
	config := "[core]\n\trepositoryformatversion = 1\n\tbare = true\n\tlogAllRefUpdates = true\n\tfsync = objects,reference\n" +
		"\tsharedRepository = " + shared.setting() + "\n" +
		"\tbigFileThreshold = 32m\n\tprotectHFS = true\n\tprotectNTFS = true\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n" +
		"[extensions]\n\tobjectFormat = " + map[int]string{40: "sha1", 64: "sha256"}[u.Digits] + "\n"
	if err := c.state.create(rel+"/config", []byte(config)); err != nil {
		return err
	}
	if err := c.state.create(rel+"/HEAD", []byte("ref: refs/inner/none\n")); err != nil {
		return err
	}
	for _, name := range []string{"refs", "logs", "packed-refs", "shallow"} {
		if err := os.Symlink(fmt.Sprintf("/proc/self/fd/%d/%s", hostFD, name), filepath.Join(c.path, stateFolder, rel, name)); err != nil {
			return err
		}
	}
	return nil
}

// removeAll removes a folder of inner's own.
func removeAll(d *folder, rel string) error {
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return err
	}
	defer root.Close()
	return root.RemoveAll(rel)
}

// The descriptors that git finds: the host's git directory, its objects, and the lock of the
// copy, so that nobody takes the copy for a dead run's while a git of it is at work.
const (
	hostFD  = 3
	storeFD = 4
)

func hostObjects() string { return fmt.Sprintf("/proc/self/fd/%d", storeFD) }

// call is one run of git.
type call struct {
	args    []string
	in      io.Reader
	out     io.Writer
	store   string   // where objects are written, and looked for first; "" is the host's
	further []string // where objects are looked for next
	index   string   // the index that is read, if any

	syncLater bool // the caller syncs the refs to the disk
}

// errGit is a git that failed, and what it printed.
type errGit struct {
	command string
	err     error
	said    string
}

func (e *errGit) Error() string {
	if e.said == "" {
		return "git " + e.command + ": " + e.err.Error()
	}
	return "git " + e.command + ": " + e.said
}

func (e *errGit) Unwrap() error { return e.err }

// run runs git to its end. git gets a session of its own, so a signal to inner's process group does
// not reach it, and it finishes what it began.
func (p *plumbing) run(ctx context.Context, c call) error {
	if c.args[0] == "update-ref" { // an interrupted write of objects does no harm: no ref needs them yet
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.git, c.args...)
	said := &capped{most: 4096}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.in, c.out, said
	cmd.Dir = p.clean
	cmd.Env = p.environment(c)
	cmd.WaitDelay = 5 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	host, store := os.NewFile(uintptr(dup(p.host.fd)), "host"), os.NewFile(uintptr(dup(p.store.fd)), "store")
	defer host.Close()
	defer store.Close()
	cmd.ExtraFiles = []*os.File{host, store, p.lock}
	err := cmd.Start()
	if err == nil {
		most := unix.Rlimit{Cur: gitMemory, Max: gitMemory}
		if lerr := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_DATA, &most, nil); lerr != nil && !errors.Is(lerr, unix.ESRCH) {
			_ = cmd.Process.Kill()
			err = lerr
		}
		err = errors.Join(err, cmd.Wait())
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return late(ctx)
	}
	return &errGit{c.args[0], err, said.line()}
}

// errLate is the error of what was not checked within the time of an exchange.
var errLate = errors.New("looking at it takes longer than an exchange may take")

// late returns the error for a context that has ended.
func late(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errLate
	}
	return fmt.Errorf("%w: %w", errLate, context.Cause(ctx))
}

// portion limits one part of an exchange to half of the time that is left, so that the others have some, too.
func portion(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		return context.WithTimeout(ctx, time.Until(end)/2)
	}
	return context.WithCancel(ctx)
}

func dup(fd int) int {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 10)
	if err != nil {
		return -1
	}
	return n
}

// environment returns the whole environment of git. GIT_ALLOC_LIMIT limits the memory for one object: a
// compressed object of a few bytes may claim any size.
func (p *plumbing) environment(c call) []string {
	store := c.store
	if store == "" {
		store = hostObjects()
	}
	var quoted []string
	for _, p := range c.further {
		if strings.ContainsAny(p, ":\"") {
			p = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(p) + `"`
		}
		quoted = append(quoted, p)
	}
	env := []string{
		"PATH=/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C", "TZ=UTC0",
		"GIT_DIR=" + p.clean, "GIT_OBJECT_DIRECTORY=" + store, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + strings.Join(quoted, ":"),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1",
		"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_TRACE2=0",
		"GIT_COMMITTER_NAME=" + p.who[0], "GIT_COMMITTER_EMAIL=" + p.who[1], "GIT_ALLOC_LIMIT=2g",
		"GIT_AUTHOR_NAME=" + p.who[0], "GIT_AUTHOR_EMAIL=" + p.who[1],
	}
	if c.syncLater {
		env = append(env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsync", "GIT_CONFIG_VALUE_0=objects")
	}
	if c.index != "" {
		env = append(env, "GIT_INDEX_FILE="+c.index)
	}
	return env
}

// text runs git and returns what it prints.
func (p *plumbing) text(ctx context.Context, c call) (string, error) {
	var out bytes.Buffer
	c.out = &out
	err := p.run(ctx, c)
	return out.String(), err
}

// capped keeps the first bytes of what is written.
type capped struct {
	kept []byte
	most int
}

func (c *capped) Write(p []byte) (int, error) {
	c.kept = append(c.kept, p[:min(len(p), c.most-len(c.kept))]...)
	return len(p), nil
}

// line returns the line that says why git failed, fit for a terminal: the first "error:", else the last "fatal:",
// else the first line.
func (c *capped) line() string {
	var last string
	for line := range strings.Lines(string(c.kept)) {
		if line = strings.TrimSpace(line); line != "" && (last == "" || strings.HasPrefix(line, "fatal:") || strings.HasPrefix(line, "error:")) {
			if last == "" || !strings.HasPrefix(last, "error:") {
				last = line
			}
		}
	}
	return plainText(last, 300)
}
