package supervisor

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/launch/wire"
)

// IsContainer reports whether this process was started as the first of a container. main asks
// it before anything else.
func IsContainer(args []string) bool {
	return len(args) == 2 && args[0] == paths.BoxSelf && args[1] == wire.ContainerWord
}

// Container is the first process of a container, in the place that bwrap's own has in a box: it
// starts the supervisor, waits for whatever loses its parent, hands on the exit code, and ends,
// and with it the container, when the launcher is gone.
func Container() int {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	line, handed, err := handedOver()
	if err != nil {
		os.Stderr.WriteString("inner: the launcher cannot be reached: " + err.Error() + "\n")
		return wire.NoSandbox
	}
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		os.Stderr.WriteString("inner: /dev/null: " + err.Error() + "\n")
		return wire.NoSandbox
	}
	// In the places where the supervisor looks for them, see wire.go.
	files := []uintptr{0, 1, 2, uintptr(handed[0]), uintptr(null), uintptr(null), uintptr(handed[1])}
	for _, fd := range handed[2:] {
		files = append(files, uintptr(fd))
	}
	pid, err := syscall.ForkExec(paths.BoxSelf, []string{paths.BoxSelf, wire.Word}, &syscall.ProcAttr{Dir: "/", Env: []string{"GOMAXPROCS=1"}, Files: files})
	if err != nil {
		os.Stderr.WriteString("inner: the supervisor cannot be started: " + err.Error() + "\n")
		return wire.NoSandbox
	}
	wire.CloseAll(handed) // their other ends see the program alone
	go func() {
		var buf [1]byte
		for {
			if n, err := unix.Read(line, buf[:]); err != unix.EINTR && n <= 0 {
				os.Exit(128 + int(syscall.SIGKILL))
			}
		}
	}()
	for {
		var st syscall.WaitStatus
		got, err := syscall.Wait4(-1, &st, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return wire.NoSandbox
		case got == pid:
			return wire.ExitCode(st)
		}
	}
}

// handedOver connects to the launcher and takes what is for the supervisor.
func handedOver() (line int, handed []int, err error) {
	if line, err = unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, nil, err
	}
	if err = unix.Connect(line, &unix.SockaddrUnix{Name: wire.ContainerSocket}); err != nil {
		return -1, nil, err
	}
	wire.Poll(line, unix.POLLIN, -1)
	var buf [1]byte
	n, _, handed, err := wire.Receive(line, buf[:])
	if err == nil && (n != 1 || buf[0] != wire.MsgGo || len(handed) != 5) {
		err = unix.EPROTO
	}
	return line, handed, err
}

// find looks for a program that is only a name, on the PATH of the box.
func (s *spec) find() (code int, err error) {
	if strings.Contains(s.Program, "/") {
		return 0, nil
	}
	name, code, failure := s.Program, 0, error(unix.ENOENT)
	for _, kv := range s.Env {
		list, ok := strings.CutPrefix(kv, "PATH=")
		for dir := range strings.SplitSeq(list, ":") {
			var st unix.Stat_t
			p := dir + "/" + name
			if !ok || !strings.HasPrefix(dir, "/") || unix.Stat(p, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
				continue
			}
			if unix.Access(p, unix.X_OK) == nil {
				s.Program = p
				return 0, nil
			}
			failure = unix.EACCES
		}
	}
	code, err = execFailure(name, failure)
	return code, err
}

// filter puts the filter of system calls on the calling thread, and with that on what it
// executes or forks. In a box of bwrap's it is there already.
func (s *spec) filter() error {
	if s.Container == nil || len(s.Container.Filter) == 0 {
		return nil
	}
	code := s.Container.Filter
	filter := make([]unix.SockFilter, len(code)/8)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&filter[0])), len(code)), code)
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return confineError{fmt.Errorf("the filter of system calls: %w", errno)}
	}
	return nil
}
