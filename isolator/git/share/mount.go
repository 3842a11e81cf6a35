package share

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/nsenter"
)

// Mounting is a process of one thread that makes the mounts in a box, and binds its stores over the folders of
// objects. It is there before the box is, and waits for a word: a fork takes some milliseconds, and who is confined
// mounts nothing (landlock(7)).
type Mounting struct {
	user, mounts int    // descriptors, which become those of the box's namespaces
	told         [2]int // a pipe: a byte for each mount that was made
	fuse         []int  // /dev/fuse of the host for each, opened by who owns the box's mounts: the box needs none
	servers      []*Server
	pid          int
}

// Prepare prepares the mounts of servers. They are made when there is something to read from a pipe, of which
// we do not have the other end, and never once that has ended.
func Prepare(word int, servers ...*Server) (*Mounting, error) {
	m := &Mounting{servers: servers}
	err := unix.Pipe2(m.told[:], unix.O_CLOEXEC)
	number := func() (fd int) { // that nothing else has
		if err == nil {
			fd, err = unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		}
		return fd
	}
	m.user, m.mounts = number(), number()
	begin := []nsenter.Call{transfer(unix.SYS_READ, word), nsenter.Owner(m.user), nsenter.Bound()}
	// It gives up what it has of a mount before it walks through that: it would wait for ever for a server that is
	// gone, whose mount ends with the last of its descriptors.
	calls := []nsenter.Call{nsenter.New(unix.SYS_UNSHARE, unix.CLONE_FILES), nsenter.Setns(m.mounts, unix.CLONE_NEWNS)}
	for _, s := range servers {
		fd, dir := number(), s.Dir
		m.fuse = append(m.fuse, fd)
		begin = append(begin, nsenter.Opens(fd, unix.SYS_OPENAT, unix.AT_FDCWD, "/dev/fuse", unix.O_RDWR))
		as := func(user, group int) nsenter.Call { // who we are in the box's user namespace: 0, but where that is somebody else
			options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d,max_read=%d", fd, user, group, maxRead)
			return nsenter.New(unix.SYS_MOUNT, "inner", dir, "fuse.inner",
				unix.MS_NODEV|unix.MS_NOSUID|unix.MS_NOATIME, options)
		}
		first := as(os.Getuid(), os.Getgid())
		first.May, first.Skip = true, 1
		calls = append(calls, first, as(0, 0), nsenter.New(unix.SYS_CLOSE_RANGE, fd, fd, 0), transfer(unix.SYS_WRITE, m.told[1]),
			nsenter.New(unix.SYS_MOUNT, s.Box, filepath.Join(dir, "objects"), "", unix.MS_BIND, ""))
	}
	if err == nil {
		m.pid, err = nsenter.Start(append(begin, calls...)...)
	}
	return m, err
}

// transfer is read(2) or write(2) of one byte.
func transfer(number uintptr, fd int) nsenter.Call {
	c := nsenter.New(uintptr(number), fd, unsafe.Pointer(new(byte)), 1)
	c.Some = true
	return c
}

// Enter says which box it is whose program does not run yet, before the word is given. user owns the mounts of
// the box, and may be our own user namespace; mounts are these. Both are descriptors.
func (m *Mounting) Enter(user, mounts int) error {
	err := unix.Dup3(mounts, m.mounts, unix.O_CLOEXEC)
	if err == nil {
		err = unix.Dup3(user, m.user, unix.O_CLOEXEC)
	}
	return err
}

// Serve serves what is mounted, and returns when all is.
func (m *Mounting) Serve() error {
	ended := make(chan error, 1)
	go func() {
		err := nsenter.Wait(m.pid)
		unix.Close(m.told[1])
		ended <- err
	}()
	served := 0
	for i, s := range m.servers {
		if n, err := unix.Read(m.told[0], make([]byte, 1)); n < 1 || err != nil {
			break // it has ended
		}
		if err := s.serve(m.fuse[i]); err != nil {
			return err
		}
		served++
	}
	err := <-ended
	if err == nil && served < len(m.servers) {
		err = errors.New("not all mounts are served")
	}
	if err != nil {
		return fmt.Errorf("the repository cannot be mounted in the sandbox: %w", err)
	}
	return nil
}
