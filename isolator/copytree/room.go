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

// room looks whether the copy fits, unless it can share the blocks of an open file.
func (c *copier) room(probe int) error {
	const name = ".inner-probe"
	shared := false
	to, err := unix.Openat(c.dst, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err == nil { // else the source has that name
		shared = unix.IoctlFileClone(to, probe) == nil
		unix.Close(to)
		_ = unix.Unlinkat(c.dst, name, 0)
	}
	var st unix.Statfs_t
	if shared || unix.Fstatfs(c.dst, &st) != nil { // then writing tells
		return nil
	}
	if free := int64(st.Bavail) * st.Bsize; c.need > free {
		return &NoRoomError{c.need, free}
	}
	return nil
}
