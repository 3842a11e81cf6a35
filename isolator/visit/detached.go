package visit

import (
	"io"
	"os"
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
	own, other, err := pty.Open()
	if err != nil {
		return "", launch.CodeNoSandbox, err
	}
	defer own.Close()
	master := int(own.Fd())
	w, err := unix.IoctlGetWinsize(launch.RawFd(size), unix.TIOCGWINSZ)
	if err != nil || w.Row == 0 {
		w = &unix.Winsize{Row: 24, Col: 80}
	}
	_ = unix.IoctlSetWinsize(master, unix.TIOCSWINSZ, w)
	r, said, err := os.Pipe()
	if err != nil {
		other.Close()
		return "", launch.CodeNoSandbox, err
	}
	defer r.Close()
	pid, err := syscall.ForkExec("/proc/self/exe", argv, &syscall.ProcAttr{
		Env:   append(env[:len(env):len(env)], detachedFD+"=3"),
		Files: []uintptr{other.Fd(), other.Fd(), other.Fd(), said.Fd()},
		// Its controlling terminal: the box reads no other.
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0},
	})
	other.Close()
	said.Close()
	if err != nil {
		return "", launch.CodeNoSandbox, os.NewSyscallError("fork", err)
	}
	text := make(chan string, 1)
	go func() {
		all, _ := io.ReadAll(r)
		text <- strings.TrimSpace(string(all))
	}()
	_ = unix.SetNonblock(master, true)
	for {
		select {
		case word = <-text:
			copyReady(master, out)
			if word != "" {
				return word, 0, nil
			}
			var st syscall.WaitStatus
			_, _ = wire.Wait(pid, &st, 0)
			copyReady(master, out)
			return "", wire.ExitCode(st), nil
		default:
		}
		if wire.Poll(master, unix.POLLIN, 20)&unix.POLLIN != 0 {
			copyReady(master, out)
		}
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
