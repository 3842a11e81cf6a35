package visit

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/launch/wire"
)

// detachedFD names the descriptor on which the launcher that StartDetached starts says that
// its program starts.
const detachedFD = "INNER_DETACHED_FD"

// NamesDetached reports whether KEY=VALUE is the variable that DetachedBy reads: no program
// needs it.
func NamesDetached(kv string) bool { return strings.HasPrefix(kv, detachedFD+"=") }

// DetachedBy reports whether this process was started by StartDetached, and returns where it
// is to write its word when the program starts. The variable is gone then.
func DetachedBy() *os.File {
	var st unix.Stat_t
	fd, err := strconv.Atoi(os.Getenv(detachedFD))
	_ = os.Unsetenv(detachedFD)
	if err != nil || fd < 3 || unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
		return nil
	}
	unix.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "word")
}

// StartDetached starts this program with the same arguments as the launcher of a box that
// stays: in a session of its own, on a terminal that is gone once the program has started.
// It returns what the launcher said then, or "" and the code it ended with. What it says
// before that goes to out.
func StartDetached(argv, env []string, size *os.File, out io.Writer) (word string, code int, err error) {
	w, err := pty.GetsizeFull(size)
	if err != nil || w.Rows == 0 {
		w = &pty.Winsize{Rows: 24, Cols: 80}
	}
	r, said, err := os.Pipe()
	if err != nil {
		return "", launch.CodeNoSandbox, err
	}
	defer r.Close()
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: argv, Env: append(env[:len(env):len(env)], detachedFD+"=3"), ExtraFiles: []*os.File{said}}
	own, err := pty.StartWithSize(cmd, w) // its controlling terminal: the box reads no other
	said.Close()
	if err != nil {
		return "", launch.CodeNoSandbox, err
	}
	defer own.Close()
	from, master := launch.RawFd(r), launch.RawFd(own)
	_ = unix.SetNonblock(master, true)
	for {
		set := []unix.PollFd{{Fd: int32(from), Events: unix.POLLIN}, {Fd: int32(master), Events: unix.POLLIN}}
		_, _ = unix.Poll(set, -1)
		copyReady(master, out) // what was said before the word
		if set[0].Revents == 0 {
			continue
		}
		var buf [256]byte // it is written at once
		if n, _ := wire.Read(from, buf[:]); n > 0 {
			return strings.TrimSpace(string(buf[:n])), 0, nil
		}
		_ = cmd.Wait()
		copyReady(master, out)
		st, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
		return "", wire.ExitCode(st), nil
	}
}

// copyReady copies what a terminal has to say now.
func copyReady(master int, out io.Writer) {
	var buf [4096]byte
	for {
		n, err := wire.Read(master, buf[:])
		if err != nil || n <= 0 {
			return
		}
		text, _, drawn := strings.Cut(strings.ReplaceAll(string(buf[:n]), "\r\n", "\n"), "\x1b")
		if _, _ = io.WriteString(out, text); drawn {
			return // that is the program, which draws
		}
	}
}
