package supervisor

import (
	"os"
	"runtime"
	"syscall"

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
		return noContainer("the launcher cannot be reached", err)
	}
	null, err := wire.OpenNull()
	if err != nil {
		return noContainer("the supervisor cannot be started", err)
	}
	// In the places where the supervisor looks for them, see package wire.
	files := []uintptr{0, 1, 2, uintptr(handed[0]), uintptr(null), uintptr(null), uintptr(handed[1])}
	for _, fd := range handed[2:] {
		files = append(files, uintptr(fd))
	}
	pid, err := syscall.ForkExec(paths.BoxSelf, []string{paths.BoxSelf, wire.Word}, &syscall.ProcAttr{Dir: "/", Env: []string{"GOMAXPROCS=1"}, Files: files})
	if err != nil {
		return noContainer("the supervisor cannot be started", err)
	}
	wire.CloseAll(handed) // their other ends see the program alone
	go endWith(line)
	for {
		var st syscall.WaitStatus
		switch got, err := wire.Wait(-1, &st, 0); {
		case err != nil:
			return wire.NoSandbox
		case got == pid:
			return wire.ExitCode(st)
		}
	}
}

// noContainer says why the container ends before the supervisor runs in it.
func noContainer(what string, err error) int {
	os.Stderr.WriteString("inner: " + what + ": " + err.Error() + "\n")
	return wire.NoSandbox
}

// endWith ends the container when nobody holds the other end of the line any more.
func endWith(line int) {
	var buf [1]byte
	for {
		if n, _ := wire.Read(line, buf[:]); n <= 0 {
			os.Exit(128 + int(syscall.SIGKILL))
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
