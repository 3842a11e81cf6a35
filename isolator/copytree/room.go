package copytree

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/visible"
)

// NoRoomError is a copy that was not begun: there is no room for it.
type NoRoomError struct{ Need, Free int64 }

func (e *NoRoomError) Error() string {
	return fmt.Sprintf("%s are needed, %s are free", visible.Size(e.Need), visible.Size(e.Free))
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
