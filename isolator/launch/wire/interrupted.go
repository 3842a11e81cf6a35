package wire

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Read is read(2), again when a signal interrupts it.
func Read(fd int, p []byte) (int, error) {
	return uninterrupted(func() (int, error) { return unix.Read(fd, p) })
}

// ReadAt is pread(2), again when a signal interrupts it.
func ReadAt(fd int, p []byte, offset int64) (int, error) {
	return uninterrupted(func() (int, error) { return unix.Pread(fd, p, offset) })
}

// Wait is wait4(2), again when a signal interrupts it. st may be nil.
func Wait(pid int, st *syscall.WaitStatus, options int) (int, error) {
	return uninterrupted(func() (int, error) { return syscall.Wait4(pid, st, options, nil) })
}

func uninterrupted(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); err != unix.EINTR {
			return n, err
		}
	}
}
