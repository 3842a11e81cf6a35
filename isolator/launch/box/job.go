package box

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// start starts a job, or says why it cannot be. fds are its Job and its standard streams.
func (b *box) start(id uint32, fds []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	j := &job{id: id}
	if code, err := b.fork(j, fds); err != nil {
		b.failed(id, code, err)
		if j.alone {
			os.Exit(code)
		}
		return
	}
	b.jobs[id] = j
	select {
	case b.born <- struct{}{}:
	default:
	}
}

func (b *box) fork(j *job, fds []int) (code int, err error) {
	if len(fds) != 4 {
		return wire.NoSandbox, errors.New("the first process of the box cannot open more files (sandbox.limits.files)")
	}
	var s wire.Job
	if err := wire.Unseal(fds[0], &s); err != nil {
		return wire.NoSandbox, fmt.Errorf("job: %w", err)
	}
	if j.alone = s.Alone; !s.Alone {
		if err := b.mark(j.id); err != nil {
			return wire.NoSandbox, err
		}
	}
	if err := chdir(&s); err != nil {
		return wire.NoSandbox, err
	}
	defer func() { _ = unix.Chdir("/") }()
	if code, err := find(&s); err != nil {
		return code, err
	}
	var files [3]uintptr
	for i, from := range s.Stdio {
		switch {
		case from == wire.FromLauncher:
			files[i] = uintptr(fds[i+1])
		case int(from) <= len(b.terminals) && j.id == wire.First:
			files[i] = uintptr(b.terminals[from-wire.FromPty])
		default:
			return wire.NoSandbox, errors.New("the program has no terminal in the box")
		}
	}
	sys := &syscall.SysProcAttr{Setsid: true}
	if j.front = b.spec.Terminals.Control && j.id == wire.First; j.front {
		// The fork leaves all signals blocked until the group is in the foreground, so that SIGTTOU does
		// not stop it there.
		sys = &syscall.SysProcAttr{Setpgid: true, Foreground: !s.Waits, Ctty: b.terminals[0]}
	}
	for n := syscall.Signal(1); n <= 64; n++ {
		if s.Ignored&(1<<(n-1)) != 0 {
			signal.Ignore(n)
		}
	}
	if err := b.confine(files); err != nil {
		return wire.NoSandbox, err
	}
	if err := b.say(wire.Msg{Kind: wire.Started, Job: j.id}); err != nil {
		return wire.NoSandbox, err
	}
	sys.Ptrace = s.Trial // stopped before its first instruction (ptrace(2), PTRACE_TRACEME)
	j.pid, err = syscall.ForkExec(s.Program, s.Argv, &syscall.ProcAttr{Env: s.Env, Files: files[:], Sys: sys})
	switch {
	case s.Trial && err == nil:
		_ = unix.Kill(j.pid, unix.SIGKILL)
	case s.Trial && err == unix.EPERM && executable(s.Program) == nil: // where nothing may be traced (Yama): as far as can be seen
		return 0, b.say(wire.Msg{Kind: wire.Ended, Job: j.id})
	}
	if err != nil {
		return execFailure(s.Program, err)
	}
	return 0, nil
}

// confine confines the calling thread, and with it what it forks, before the first job, whose streams are files. All
// jobs are of one domain of Landlock: with one for each, no call could end the server that a call before has started.
func (b *box) confine(files [3]uintptr) error {
	if !b.confined {
		b.confined = true
		b.refused = inOrder(dropBounding, func() error { return confine(b.spec.Landlock, files) }, b.filter, b.observe)
		dropOwn()
	}
	return b.refused
}

// apart runs f on a thread of its own: what confines the jobs that it forks does not confine all of us, and they
// cannot signal us. The domain of the first thread of a process is the one that the kernel asks about when somebody
// signals it (hook_task_kill of security/landlock/task.c). f does not return.
func apart(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		go apart(f)
		select {} // keeps the thread
	}
	f()
}

// chdir goes to where the job starts.
func chdir(s *wire.Job) error {
	err := unix.Chdir(s.Dir)
	if err != nil && s.DirElse != "" {
		for i, kv := range s.Env {
			if kv == "PWD="+s.Dir {
				s.Env[i] = "PWD=" + s.DirElse
			}
		}
		err = unix.Chdir(s.DirElse)
	}
	if err != nil {
		return fmt.Errorf("working folder %q: %w in the box", s.Dir, err)
	}
	return nil
}

// find looks for a program that is only a name, on the PATH of the box.
func find(s *wire.Job) (code int, err error) {
	if strings.Contains(s.Program, "/") {
		return 0, nil
	}
	failure := error(unix.ENOENT)
	for _, kv := range s.Env {
		list, _ := strings.CutPrefix(kv, "PATH=")
		for dir := range strings.SplitSeq(list, ":") {
			if list == kv || !strings.HasPrefix(dir, "/") {
				continue
			}
			p := dir + "/" + s.Program
			switch err := executable(p); err {
			case nil:
				s.Program = p
				return 0, nil
			case unix.EACCES:
				failure = err
			}
		}
	}
	return execFailure(s.Program, failure)
}

// executable returns nil for a regular file that may be executed, EACCES for another one,
// and ENOENT for everything else.
func executable(path string) error {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return unix.ENOENT
	}
	if unix.Access(path, unix.X_OK) != nil {
		return unix.EACCES
	}
	return nil
}

// execFailure gives the exit code and the words for a program that could not
// be executed.
func execFailure(program string, err error) (int, error) {
	switch err {
	case unix.ENOENT, unix.ENOTDIR:
		if unix.Access(program, unix.F_OK) == nil {
			return wire.NotFound, fmt.Errorf("%q: its interpreter or loader is not in the box", program)
		}
		return wire.NotFound, fmt.Errorf("%q: not found in the box", program)
	case unix.ENOEXEC:
		return wire.NotExecutable, fmt.Errorf("%q: not in an executable format", program)
	case unix.EACCES:
		return wire.NotExecutable, fmt.Errorf("%q: not executable in the box", program)
	default:
		return wire.NotExecutable, fmt.Errorf("%q: cannot be executed in the box: %w", program, err)
	}
}

// To know later which process belongs to which job, whatever parents, groups and sessions it has had,
// each job that is not alone has another number as the limit of RLIMIT_LOCKS, of which the kernel has
// taken no notice since Linux 2.4.25. A limit is inherited, and can only be lowered: so the numbers go
// down, and no process can look as if it were of an earlier job.
const (
	firstMark = 1 << 50
	markStep  = 1 << 8
)

// mark marks what is forked from here on as of that job.
func (b *box) mark(id uint32) error {
	if b.marks == 0 {
		var now unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_LOCKS, &now); err != nil {
			return os.NewSyscallError("getrlimit", err)
		}
		if b.marks = min(firstMark, now.Max); b.marks < 1<<32 {
			return errors.New("the limit of file locks (ulimit -x) is too low to tell calls apart")
		}
	}
	l := syscall.Rlimit{Cur: b.markOf(id), Max: b.markOf(id)}
	if err := syscall.Setrlimit(unix.RLIMIT_LOCKS, &l); err != nil {
		return fmt.Errorf("the call cannot be told from others: %w", err)
	}
	return nil
}

func (b *box) markOf(id uint32) uint64 { return b.marks - uint64(id)*markStep }

// mostRounds is how often the processes of a job are looked for: one that has been killed
// forks no more, and each round meets those that were forked in the one before.
const mostRounds = 2000

// kill ends all processes of a job. When that cannot be done the box ends.
func (b *box) kill(id uint32) {
	for range mostRounds {
		if b.killOnce(id) == 0 {
			_ = b.say(wire.Msg{Kind: wire.Killed, Job: id})
			return
		}
		time.Sleep(time.Millisecond) // who was killed has to be waited for
	}
	killRest()
	os.Exit(128 + int(syscall.SIGKILL))
}

// killOnce kills the processes of a job that are seen, and returns how many they are.
func (b *box) killOnce(id uint32) (n int) {
	most, least := b.markOf(id), b.markOf(id+1)
	eachProcess(func(pid int) {
		var l unix.Rlimit
		if pid > 1 && unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &l) == nil && l.Max <= most && l.Max > least && unix.Kill(pid, unix.SIGKILL) == nil {
			n++
		}
	})
	return n
}

// mostPids is PID_MAX_LIMIT of the kernel.
const mostPids = 1 << 22

// eachProcess calls f with the number of each process of the box, and perhaps others. Without
// a /proc of the box's own all numbers are tried.
func eachProcess(f func(pid int)) {
	if self, err := os.Readlink("/proc/self"); err == nil && self == strconv.Itoa(unix.Getpid()) {
		if entries, err := os.ReadDir("/proc"); err == nil {
			for _, e := range entries {
				if pid, err := strconv.Atoi(e.Name()); err == nil {
					f(pid)
				}
			}
			return
		}
	}
	for pid := 2; pid < mostPids; pid++ {
		f(pid)
	}
}
