package supervisor

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// DispenserWord is the argument that makes a supervisor a dispenser: a
// process in the box that makes TCP sockets, which it hands to the launcher one
// by one. Only the box has its network namespace, and after the start only the
// program is left of it, where there is no terminal.
const DispenserWord = "__sockets"

// backlog is how many connections may wait for the launcher; the kernel takes
// its own limit when that is lower (listen(2)).
const backlog = 1024

// network opens what the box listens on and sends it away: the program finds a
// port that is taken, and no descriptor of it.
func (s *spec) network() error {
	if len(s.Listen) == 0 && !s.Dispense {
		return nil
	}
	for i, port := range s.Listen {
		if err := listenOnLoopback(i, int(port)); err != nil {
			return err
		}
	}
	if !s.Dispense {
		return wire.Send(wire.FdSocket, []byte{wire.MsgNetwork})
	}
	end, err := startDispenser()
	if err != nil {
		return fmt.Errorf("cannot start what makes sockets in the box: %w", err)
	}
	defer unix.Close(end)
	return wire.Send(wire.FdSocket, []byte{wire.MsgNetwork}, end)
}

// listenOnLoopback listens on one port of both families, and sends both sockets away.
func listenOnLoopback(index, port int) error {
	fd, err := listenOn(unix.AF_INET, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	if err == nil {
		err = sendListener(index, fd)
	}
	if err != nil {
		return fmt.Errorf("cannot listen on 127.0.0.1:%d in the box: %w", port, err)
	}
	fd, err = listenOn(unix.AF_INET6, &unix.SockaddrInet6{Port: port, Addr: [16]byte{15: 1}})
	if err != nil {
		return nil // without IPv6 in the kernel there is no ::1 to listen on
	}
	if err := sendListener(index, fd); err != nil {
		return fmt.Errorf("cannot listen on [::1]:%d in the box: %w", port, err)
	}
	return nil
}

func listenOn(family int, at unix.Sockaddr) (int, error) {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err = unix.Bind(fd, at); err == nil {
		err = unix.Listen(fd, backlog)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func sendListener(index, fd int) error {
	defer unix.Close(fd)
	return wire.Send(wire.FdSocket, []byte{wire.MsgListen, byte(index)}, fd)
}

// startDispenser starts the dispenser and returns our end of its socket, once it
// is out of reach of what starts next.
func startDispenser() (int, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	null, err := wire.OpenNull()
	if err != nil {
		wire.CloseAll(pair[:])
		return -1, err
	}
	sys := &syscall.SysProcAttr{Setsid: true}
	if unix.Getpid() != 1 {
		// Where the program takes our place it must not find a child it never had:
		// the child is our parent's, bwrap's pid 1, which waits for any. A pid 1 may
		// not do so (clone(2)), and is not replaced.
		sys.Cloneflags = unix.CLONE_PARENT
	}
	_, err = syscall.ForkExec(os.Args[0], []string{os.Args[0], DispenserWord}, &syscall.ProcAttr{
		Env: []string{"GOMAXPROCS=1"}, Files: []uintptr{uintptr(null), uintptr(null), uintptr(null), uintptr(pair[1])}, Sys: sys,
	})
	unix.Close(null)
	unix.Close(pair[1])
	if err != nil {
		unix.Close(pair[0])
		return -1, err
	}
	var buf [8]byte
	if n, err := wire.Read(pair[0], buf[:]); err != nil || n != 1 || buf[0] != wire.MsgReady {
		unix.Close(pair[0])
		return -1, errors.New("it did not start")
	}
	return pair[0], nil
}

// dispense hands out a socket for each message, which names the family, until
// the launcher is gone. What comes back is one letter and the socket, or
// wire.MsgFailed and the error.
func dispense() int {
	runtime.LockOSThread()
	if !calledByInner(DispenserWord) {
		return 2
	}
	// What can be traced can be told to accept for others.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	nameProcess()
	if err := wire.Send(wire.FdSocket, []byte{wire.MsgReady}); err != nil {
		return wire.NoSandbox
	}
	var buf [8]byte
	for {
		if n, err := wire.Read(wire.FdSocket, buf[:]); err != nil || n != 1 {
			return 0
		}
		fd, err := unix.Socket(int(buf[0]), unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			errno, _ := err.(unix.Errno)
			_ = wire.Send(wire.FdSocket, []byte{wire.MsgFailed, byte(errno)})
			continue
		}
		_ = wire.Send(wire.FdSocket, []byte{wire.MsgReady}, fd)
		unix.Close(fd)
	}
}
