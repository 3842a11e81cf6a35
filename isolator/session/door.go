package session

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
)

// A session may have a box that its calls join. Its server, a process of its own, listens on a socket
// in the session's folder, which is the user's alone and which no box sees, and has the lock
// heldName for as long as it lives.
const (
	doorName  = "box"
	heldName  = "held"
	startName = "start"
)

// EndWord has the server of a box end it.
const EndWord = 'X'

// endWithin is how long the end of a box may take: what it left is looked at.
const endWithin = 30 * time.Second

// Hold says that this process holds a box of the session in dir, until the file is closed.
func Hold(dir string) (*os.File, error) { return lockFile(filepath.Join(dir, heldName), unix.LOCK_SH) }

// Starting waits until nobody else starts a box for the session, and returns what is closed
// when that is done.
func Starting(dir string) (*os.File, error) {
	return lockFile(filepath.Join(dir, startName), unix.LOCK_EX)
}

// Listen makes the socket of the box of a session. It removes one that is there, which a server
// that was killed has left: only a server that was started under the lock of Starting calls it.
func Listen(dir string) (*net.UnixListener, error) {
	var l *net.UnixListener
	err := at(dir, func(name string) (err error) {
		if err = os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		l, err = net.ListenUnix("unixpacket", &net.UnixAddr{Name: name, Net: "unixpacket"})
		return err
	})
	if l != nil {
		l.SetUnlinkOnClose(false) // by a name that is gone
	}
	return l, err
}

// Listens reports whether a session has a socket. Who listens on it cannot be seen.
func Listens(dir string) bool {
	fi, err := os.Lstat(filepath.Join(dir, doorName))
	return err == nil && fi.Mode()&os.ModeSocket != 0
}

// Unlisten takes the socket away. Whoever has not been answered yet finds the end of the
// connection.
func Unlisten(dir string, l *net.UnixListener) {
	_ = os.Remove(filepath.Join(dir, doorName))
	_ = l.Close()
}

// Dial connects to the server of the box of a session. Without one the error is ErrNoBox.
func Dial(dir string) (*net.UnixConn, error) {
	var c *net.UnixConn
	err := at(dir, func(name string) (err error) {
		c, err = net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: name, Net: "unixpacket"})
		return err
	})
	switch {
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ECONNREFUSED):
		return nil, ErrNoBox
	case err != nil:
		return nil, err
	}
	if peer, err := Peer(c); err != nil || int(peer.Uid) != os.Getuid() {
		return nil, errors.Join(err, c.Close(), errors.New("the socket of the session is not yours"))
	}
	return c, nil
}

// ErrNoBox says that a session has no box.
var ErrNoBox = errors.New("the session has no box")

// Peer is the process at the other end of a connection: of a server, the one that listens.
func Peer(c *net.UnixConn) (peer *unix.Ucred, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	if cerr := raw.Control(func(fd uintptr) { peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); cerr != nil {
		return nil, cerr
	}
	return peer, err
}

// at calls f with a name of the socket that is short enough for an address, however long the path
// of its folder is.
func at(dir string, f func(name string) error) error {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd)
	return f("/proc/self/fd/" + strconv.Itoa(fd) + "/" + doorName)
}

func hasBox(dir string) bool {
	if !files.Exists(filepath.Join(dir, heldName)) {
		return false
	}
	f, err := lockFile(filepath.Join(dir, heldName), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		f.Close()
	}
	return err != nil
}

// endBox ends the box of a session in which no call runs, and waits until its server is gone.
func endBox(dir string) error {
	if !hasBox(dir) {
		return nil
	}
	c, err := Dial(dir)
	if err != nil && !errors.Is(err, ErrNoBox) { // without a socket it is ending
		return err
	}
	var server int
	if c != nil {
		defer c.Close()
		peer, err := Peer(c)
		if err != nil {
			return err
		}
		server = int(peer.Pid)
		if _, err = c.Write([]byte{EndWord}); err != nil && !errors.Is(err, syscall.EPIPE) {
			return err
		}
	}
	for end := time.Now().Add(endWithin); hasBox(dir); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("its box does not end: kill -9 %d", server)
		}
	}
	return nil
}
