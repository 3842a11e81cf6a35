package launch

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// freshKeyring gives the calling thread, and with it the box forked from it, a
// new anonymous session keyring: keys of the login session stay outside
// (keyrings(7), session-keyring(7)). A kernel without keyrings, or a sandbox
// around inner that forbids them, has nothing to hide.
func freshKeyring() error {
	var err error
	for wait := time.Millisecond; wait < 500*time.Millisecond; wait *= 2 {
		// A null name makes it anonymous; an empty one would be joinable.
		_, err = unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0)
		switch err {
		case nil, unix.ENOSYS, unix.EPERM, unix.EACCES:
			return nil
		case unix.EINTR:
			continue
		case unix.EDQUOT, unix.ENOMEM:
			// Keyrings of runs that just ended are given back after an RCU
			// grace period, some milliseconds.
			time.Sleep(wait)
		default:
			return fmt.Errorf("cannot make a fresh session keyring: %w", err)
		}
	}
	return fmt.Errorf("cannot make a fresh session keyring: %w (see /proc/key-users)", err)
}
