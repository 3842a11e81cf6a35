package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/limits"
	"github.com/enr/inner/profile"
)

// openDescriptors lists the descriptors that came with the start of this
// process. One that is close-on-exec did not: the runtime made it.
func openDescriptors() (out []int) {
	var most unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &most)
	for fd := range int(min(max(most.Cur, 1<<10), 1<<16)) {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			out = append(out, fd)
		}
	}
	return out
}

func (i *inside) descriptors() (Result, string) {
	for _, fd := range i.open {
		if fd > 2 {
			return Fail, fmt.Sprintf("descriptor %d is open", fd)
		}
	}
	return Pass, ""
}

// kernelKeys checks that /proc/keys lists nothing (proc_keys(5)). A process may always view its own session keyring, so
// a file that is not hidden has at least one line.
func kernelKeys() (Result, string) {
	data, err := os.ReadFile("/proc/keys")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Pass, ""
	case err != nil:
		return Unknown, err.Error()
	case len(data) > 0:
		return Fail, fmt.Sprintf("/proc/keys lists %d", bytes.Count(data, []byte("\n")))
	}
	return Pass, ""
}

func (i *inside) keyring() (Result, string) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	id, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
	switch {
	case err != nil:
		return Pass, "out of reach: " + err.Error()
	case i.Host.Keyring == 0:
		return Skip, "the host's cannot be told"
	case id == i.Host.Keyring:
		return Fail, "it is the one of your session"
	}
	return Pass, ""
}

func (i *inside) noRoot() (Result, string) {
	if uid := os.Geteuid(); uid != 0 {
		return Pass, fmt.Sprintf("user %d", uid)
	}
	return Fail, "the user is root"
}

// status reads one field of /proc/self/status.
func status(field string) (string, bool) {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "", false
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if v, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(v), true
		}
	}
	return "", false
}

// statusIs wants fields of /proc/self/status to be a number; "" stands for nought.
func statusIs(fields []string, want string) (Result, string) {
	for _, f := range fields {
		v, ok := status(f)
		switch {
		case !ok:
			return Unknown, f + " cannot be read"
		case strings.TrimLeft(v, "0") != want:
			return Fail, f + " is " + v
		}
	}
	return Pass, ""
}

// nestedUserNS tries to make a user namespace, in a process of its own. The program to run there
// does not exist: when that is the error, the namespace was made before.
func nestedUserNS() (Result, string) {
	cmd := &exec.Cmd{Path: "/dev/null/none", Args: []string{"none"}, SysProcAttr: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}}
	return userNamespace(cmd.Run())
}

// userNamespace judges the error of starting a program that does not exist in a new user namespace.
func userNamespace(err error) (Result, string) {
	refusals := []error{unix.EPERM, unix.EACCES, unix.ENOSPC, unix.EUSERS, unix.ENOSYS, unix.EINVAL} // clone(2), user_namespaces(7)
	switch {
	case err == nil, errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ENOENT):
		return Fail, "one can be made"
	case slices.ContainsFunc(refusals, func(r error) bool { return errors.Is(err, r) }):
		return Pass, "refused"
	}
	return Unknown, err.Error()
}

func (i *inside) namespace(name string) (Result, string) {
	theirs, ok := i.Host.Namespaces[name]
	if !ok {
		return Skip, "this kernel has none"
	}
	ours, err := os.Readlink("/proc/self/ns/" + name)
	switch {
	case err != nil:
		return Unknown, err.Error()
	case ours == theirs:
		return Fail, "it is the host's, " + ours
	}
	return Pass, ours
}

// processes checks that /proc is of the box's own PID namespace and shows nothing
// but the box.
func (i *inside) processes() (Result, string) {
	if r, detail := i.namespace("pid"); r != Pass {
		return r, detail
	}
	self, err := os.Readlink("/proc/self")
	if err != nil {
		return Unknown, err.Error()
	}
	if self != strconv.Itoa(os.Getpid()) {
		return Fail, "/proc shows the processes of another namespace"
	}
	if m, _ := i.covering("/proc"); m.Type != "proc" || !i.hasOwn("/proc") {
		return Fail, "/proc is the host's"
	}
	return Pass, ""
}

func envName(kv string) string {
	name, _, _ := strings.Cut(kv, "=")
	return name
}

// envDeclared checks the environment, and that with which process 1 was started, which could be that of the process
// that started bwrap.
func envDeclared(names []string) (Result, string) {
	var bad []string
	for _, kv := range os.Environ() {
		if n := envName(kv); !slices.Contains(names, n) {
			bad = append(bad, n)
		}
	}
	if len(bad) > 0 {
		return Fail, "not declared: " + strings.Join(bad, ", ")
	}
	data, _ := os.ReadFile("/proc/1/environ") // what cannot be read shows nothing
	for kv := range bytes.SplitSeq(data, []byte{0}) {
		if n := envName(string(kv)); n != "" && n != "GOMAXPROCS" && n != "PWD" {
			return Fail, "the first process shows " + n
		}
	}
	return Pass, fmt.Sprintf("%d variables", len(os.Environ()))
}

func shimsActive(dir string, names []string) (Result, string) {
	for _, n := range names {
		p, err := exec.LookPath(n)
		if err != nil {
			return Fail, n + " is not found"
		}
		if filepath.Dir(p) != dir {
			return Fail, n + " is " + p
		}
	}
	return Pass, fmt.Sprintf("%d commands", len(names))
}

// terminal checks that no descriptor is a terminal of the host, and that neither the
// controlling terminal nor /dev/pts is the host's.
func (i *inside) terminal() (Result, string) {
	var st unix.Stat_t
	var own uint64
	for fd := range 3 {
		if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err != nil {
			continue
		}
		if unix.Fstat(fd, &st) != nil || uint64(st.Dev) == i.Host.Terminals {
			return Fail, fmt.Sprintf("descriptor %d is a terminal of the host", fd)
		}
		own = st.Rdev
	}
	if unix.Stat("/dev/pts", &st) == nil && uint64(st.Dev) == i.Host.Terminals {
		return Fail, "/dev/pts is the host's"
	}
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Pass, "no controlling terminal"
	}
	defer unix.Close(fd)
	// TIOCGDEV says which terminal /dev/tty stands for.
	dev, err := unix.IoctlGetUint32(fd, unix.TIOCGDEV)
	switch {
	case own == 0:
		return Fail, "there is a controlling terminal"
	case err != nil || uint64(dev) != own:
		return Fail, "the controlling terminal is not the box's"
	}
	return Pass, "a terminal of the box's own"
}

func markerIs(want string) (Result, string) {
	data, err := os.ReadFile(marker)
	switch {
	case err != nil:
		return Fail, err.Error()
	case string(data) != want:
		return Fail, marker + " says something else"
	}
	if canWrite(marker) {
		return Fail, marker + " can be written"
	}
	if err := os.Remove(marker); err == nil {
		return Fail, marker + " can be removed"
	}
	return Pass, ""
}

// landlock tries to signal the box's first process. It belongs to the same user, so only
// Landlock can forbid that.
func landlock() (Result, string) {
	switch err := unix.Kill(1, 0); err {
	case nil:
		return Fail, "signals are not confined"
	case unix.EPERM:
		return Pass, "signals are confined"
	default:
		return Unknown, err.Error()
	}
}

// limitsHold checks the limits that can be seen from inside. Those of a control group cannot:
// the box's view begins at its own group. inner compares them from outside before the
// program starts, and does not start it when they differ.
func limitsHold(c Check) (Result, string) {
	var files, size, pids, disk uint64
	if _, err := fmt.Sscanf(c.Want, "%d %d %d %d", &files, &size, &pids, &disk); err != nil {
		return Unknown, err.Error()
	}
	for _, l := range []struct {
		name     string
		resource int
		want     uint64
	}{{"files", unix.RLIMIT_NOFILE, files}, {"file_size", unix.RLIMIT_FSIZE, size}, {"pids", unix.RLIMIT_NPROC, pids}} {
		if l.want == 0 {
			continue
		}
		if l.name == "pids" {
			l.want += limits.Own
		}
		var r unix.Rlimit
		if err := unix.Getrlimit(l.resource, &r); err != nil {
			return Unknown, err.Error()
		}
		if r.Max > l.want {
			return Fail, fmt.Sprintf("%s is %d, not %d", l.name, r.Max, l.want)
		}
	}
	for _, p := range c.Places {
		var st unix.Statfs_t
		if disk == 0 {
			break
		}
		if err := unix.Statfs(p.Path, &st); err != nil {
			return Unknown, err.Error()
		}
		const page = 64 << 10 // the largest there is: the kernel rounds up
		if held := st.Blocks * uint64(st.Bsize); held > disk+page {
			return Fail, fmt.Sprintf("%s holds %d bytes, not %d", p.Path, held, disk)
		}
	}
	return Pass, strings.Join(c.Names, ", ")
}

// custom runs one check of the profile: sh -c, in the box's own environment and with the variable UID, which dash does
// not set itself. Exit code 0 is a pass; the last line that it printed is the detail.
func custom(c profile.Check, uid int) (Result, string) {
	ctx, stop := context.WithTimeout(context.Background(), CustomTime)
	defer stop()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", c.Cmd)
	cmd.Args[0], cmd.Env, cmd.WaitDelay = "sh", append(os.Environ(), "UID="+strconv.Itoa(uid)), time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	out, err := cmd.CombinedOutput()
	if cmd.Process == nil {
		return Unknown, err.Error()
	}
	_ = cmd.Cancel() // what it left running
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	switch {
	case ctx.Err() != nil:
		return Fail, fmt.Sprintf("not done after %s", CustomTime)
	case err != nil:
		return Fail, strings.TrimPrefix(last+" ("+err.Error()+")", " ")
	}
	return Pass, last
}
