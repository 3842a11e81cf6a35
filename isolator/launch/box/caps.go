package box

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// capabilities of the calling thread, as capget(2) has them.
func capabilities() (unix.CapUserHeader, [2]unix.CapUserData, error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	err := unix.Capget(&header, &data[0])
	return header, data, err
}

// Capable reports whether the calling thread has a capability in force.
func Capable(c uint) bool {
	_, data, err := capabilities()
	return err == nil && data[c/32].Effective&(1<<(c%32)) != 0
}

// dropBounding empties the bounding set of the calling thread, and with that of what
// it executes or forks, and gives away what let it do so.
func dropBounding() error {
	if !Capable(unix.CAP_SETPCAP) {
		return nil
	}
	for c := uintptr(0); c <= 63; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err == unix.EINVAL && c > unix.CAP_SETPCAP {
			break // the kernel has no more
		} else if err != nil {
			return fmt.Errorf("the bounding set cannot be emptied: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("the ambient set cannot be emptied: %w", err)
	}
	header, _, _ := capabilities()
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("capabilities cannot be given away: %w", err)
	}
	return nil
}

// dropOwn gives away the capabilities of all threads of the supervisor, once the
// program is there. A build with cgo, as the race detector's, cannot.
func dropOwn() {
	if !Capable(unix.CAP_SETPCAP) {
		return
	}
	header, _, _ := capabilities()
	var none [2]unix.CapUserData
	_, _, _ = syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)),
		uintptr(unsafe.Pointer(&none)), 0)
}
