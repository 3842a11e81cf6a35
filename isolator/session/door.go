package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/owned"
)

// A session may have a box that its calls join. Its keeper, a process of its own, listens on a socket
// in the session's folder, which is the user's alone and which no box sees, and has the lock
// heldName for as long as it lives.
const (
	doorName  = "box"
	heldName  = "held"
	startName = "start"
)

// endWithin is how long the end of a box may take: what it left is looked at.
const endWithin = 30 * time.Second

// Hold says that this process keeps a box of the session in dir, until the file is closed.
func Hold(dir string) (*os.File, error) {
	return owned.Lock(filepath.Join(dir, heldName), unix.LOCK_SH)
}

// Starting waits until nobody else starts a box for the session, and returns what is closed
// when that is done.
func Starting(dir string) (*os.File, error) {
	return owned.Lock(filepath.Join(dir, startName), unix.LOCK_EX)
}

// Door is the socket of the box of a session. Only a keeper that was started under the lock of Starting
// makes it.
func Door(dir string) string { return filepath.Join(dir, doorName) }

// Dial connects to the keeper of the box of a session. Without one the error is ErrNoBox.
func Dial(dir string) (fd int, err error) {
	switch fd, err = wire.Dial(Door(dir)); {
	case err == unix.ENOENT, err == unix.ECONNREFUSED:
		return -1, ErrNoBox
	case err == nil && wire.Peer(fd) == 0:
		unix.Close(fd)
		return -1, errors.New("the socket of the session is not yours")
	}
	return fd, err
}

// ErrNoBox says that a session has no box.
var ErrNoBox = errors.New("the session has no box")

func hasBox(dir string) bool { return owned.Held(filepath.Join(dir, heldName)) }

// endBox ends the box of a session in which no call runs, and waits until its keeper is gone.
func endBox(dir string) error {
	if !hasBox(dir) {
		return nil
	}
	keeper := 0
	switch fd, err := Dial(dir); {
	case err == nil:
		defer unix.Close(fd)
		keeper = wire.Peer(fd)
		if err := wire.Send(fd, wire.Msg{Kind: wire.End}); err != nil && err != unix.EPIPE {
			return err
		}
	case !errors.Is(err, ErrNoBox): // without a socket it is ending
		return err
	}
	for end := time.Now().Add(endWithin); hasBox(dir); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("its box does not end: kill -9 %d", keeper)
		}
	}
	return nil
}
