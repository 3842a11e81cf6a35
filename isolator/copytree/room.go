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

// room looks whether a file fits into the copy that to is of, where the file system does not share its blocks
// with the original.
func room(to int, st unix.Stat_t) error {
	var disk unix.Statfs_t
	if unix.Fstatfs(to, &disk) != nil || disk.Type == unix.BTRFS_SUPER_MAGIC || disk.Type == unix.XFS_SUPER_MAGIC { // then writing tells
		return nil
	}
	if need, free := st.Blocks*512, int64(disk.Bavail)*disk.Bsize; need > free {
		return &NoRoomError{need, free}
	}
	return nil
}
