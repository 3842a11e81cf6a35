package wire

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Listen makes a socket at a path in a folder that is the user's alone, which only the user may connect to, and
// Dial connects to one. A socket that is there already has been left by somebody who was killed.
func Listen(path string, backlog int) (fd int, err error) {
	return socketAt(path, func(fd int, at *unix.SockaddrUnix) error {
		if err := unix.Unlink(at.Name); err != nil && err != unix.ENOENT {
			return err
		}
		// bind(2) gives the name the mode of the socket (unix_bind_bsd).
		err := unix.Fchmod(fd, 0o600)
		if err == nil {
			err = unix.Bind(fd, at)
		}
		if err == nil {
			err = unix.Listen(fd, backlog)
		}
		return err
	})
}

// Dial returns the connection. unix.ENOENT and unix.ECONNREFUSED say that nobody listens.
func Dial(path string) (fd int, err error) {
	return socketAt(path, func(fd int, at *unix.SockaddrUnix) error { return unix.Connect(fd, at) })
}

// socketAt makes a socket, and does something with a name of it that is short enough for an address,
// however long its path is.
func socketAt(path string, do func(fd int, at *unix.SockaddrUnix) error) (fd int, err error) {
	dir, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	if fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, err
	}
	if err = do(fd, &unix.SockaddrUnix{Name: "/proc/self/fd/" + strconv.Itoa(dir) + "/" + filepath.Base(path)}); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// Accept waits for a connection, and returns it with the process at its other end, of this user. With outside that
// is also in our own namespaces of processes and of users, where no process of a box is. Any other is closed.
func Accept(door int, outside bool) (fd, pid int, err error) {
	fd, _, err = unix.Accept4(door, unix.SOCK_CLOEXEC)
	if err != nil {
		return -1, 0, err
	}
	if pid = Peer(fd); pid == 0 || outside && !outsideBoxes(pid) {
		unix.Close(fd)
		return -1, 0, unix.EPERM
	}
	return fd, pid, nil
}

func outsideBoxes(pid int) bool {
	for _, kind := range []string{"pid", "user"} {
		theirs, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/" + kind)
		ours, oerr := os.Readlink("/proc/self/ns/" + kind)
		if err != nil || oerr != nil || theirs != ours {
			return false
		}
	}
	return true
}

// Peer is the process at the other end of a connection, or 0; of another user it is none.
func Peer(fd int) int {
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil || int(peer.Uid) != os.Getuid() {
		return 0
	}
	return int(peer.Pid)
}
