package copytree

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// NoRoomError is a copy that was not begun: there is no room for it.
type NoRoomError struct{ Need, Free int64 }

func (e *NoRoomError) Error() string {
	return fmt.Sprintf("%s are needed, %s are free", Size(e.Need), Size(e.Free))
}

// Size writes a number of bytes for people.
func Size(n int64) string {
	const units = "kMGTPE"
	if n < 1000 {
		return fmt.Sprintf("%d bytes", n)
	}
	f, u := float64(n)/1000, 0
	for ; f >= 999.5 && u < len(units)-1; u++ {
		f /= 1000
	}
	if f < 9.95 {
		return fmt.Sprintf("%.1f %cB", f, units[u])
	}
	return fmt.Sprintf("%.0f %cB", f, units[u])
}

// room looks whether the copy fits, unless blocks can be shared.
func (c *copier) room() error {
	var need int64
	var probe string
	var largest int64
	for _, d := range c.dirs {
		need += 4096
		for _, f := range d.files {
			need += max(f.room, 512)
			if f.kind == unix.S_IFREG && f.room > largest {
				largest, probe = f.room, join(d.rel, f.name)
			}
		}
	}
	if c.o.Progress != nil {
		c.o.Progress.Total.Store(c.res.Bytes)
	}
	if probe != "" {
		if fd, err := Open(c.src, probe, unix.O_RDONLY|unix.O_NONBLOCK); err == nil {
			c.res.Shared = c.shares(fd)
			unix.Close(fd)
		}
	}
	if c.res.Shared {
		return nil
	}
	return roomFor(c.dst, need)
}

// roomFor refuses what does not fit on the file system of fd.
func roomFor(fd int, need int64) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return nil // then writing tells
	}
	if free := int64(st.Bavail) * st.Bsize; need > free {
		return &NoRoomError{need, free}
	}
	return nil
}

// shares reports whether the copy can share the blocks of an open file.
func (c *copier) shares(fd int) bool {
	const name = ".inner-probe"
	to, err := unix.Openat(c.dst, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return false // the source has a folder of that name in its root
	}
	defer func() { _ = unix.Unlinkat(c.dst, name, 0) }()
	defer unix.Close(to)
	return unix.IoctlFileClone(to, fd) == nil
}
