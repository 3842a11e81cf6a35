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
	master := launch.RawFd(own)
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
			_ = cmd.Wait()
			copyReady(master, out)
			st, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
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
