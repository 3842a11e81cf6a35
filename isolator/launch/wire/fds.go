package wire

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// CloseAll closes descriptors.
func CloseAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// OpenNull opens /dev/null for reading and writing.
func OpenNull() (int, error) {
	fd, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("/dev/null: %w", err)
	}
	return fd, nil
}

// CloseOnExecFrom marks every open descriptor from first up close-on-exec. A
// real close could hit one of the Go runtime's own.
func CloseOnExecFrom(first int) {
	// close_range(2), Linux 5.9; the flag since 5.11.
	if unix.CloseRange(uint(first), ^uint(0)>>1&0xffffffff, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
		for _, e := range entries {
			if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= first {
				unix.CloseOnExec(fd)
			}
		}
		return
	}
	limit := unix.Rlimit{Max: 65536}
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	for fd := first; fd < int(min(limit.Max, 1<<20)); fd++ {
		unix.CloseOnExec(fd)
	}
}

// WriteAll writes all of p to a descriptor that may be blocking or not, and
// whose mode is not ours to change.
func WriteAll(fd int, p []byte) error {
	for len(p) > 0 {
		n, err := unix.Write(fd, p)
		if n > 0 {
			p = p[n:]
		}
		switch err {
		case nil, unix.EINTR:
		case unix.EAGAIN:
			Poll(fd, unix.POLLOUT, -1)
		default:
			return err
		}
	}
	return nil
}

// Poll waits until fd is ready and returns what it is ready for; timeout is
// in milliseconds, negative for none.
func Poll(fd int, events int16, timeout int) int16 {
	set := [1]unix.PollFd{{Fd: int32(fd), Events: events}}
	for {
		_, err := unix.Poll(set[:], timeout)
		if err != unix.EINTR {
			return set[0].Revents
		}
	}
}

// Memory returns a close-on-exec, in-memory file.
func Memory() (int, error) {
	fd, err := unix.MemfdCreate("inner", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err == unix.EACCES {
		// vm.memfd_noexec=2 insists on the flag, which older kernels refuse.
		fd, err = unix.MemfdCreate("inner", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_NOEXEC_SEAL)
	}
	return fd, os.NewSyscallError("memfd_create", err)
}

// Memfd returns one that is sealed, with that content, positioned at its start.
func Memfd(content []byte) (int, error) {
	fd, err := Memory()
	if err != nil {
		return -1, err
	}
	if err := Fill(fd, content); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// Fill makes one that is empty so.
func Fill(fd int, content []byte) error {
	err := WriteAll(fd, content)
	if err == nil {
		_, err = unix.Seek(fd, 0, unix.SEEK_SET)
	}
	if err == nil { // nobody writes to it again, whoever gets hold of it
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS,
			unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	}
	return os.NewSyscallError("memfd", err)
}
