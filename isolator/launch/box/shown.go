package box

import (
	"fmt"
	"path/filepath"

	"github.com/enr/inner/isolator/launch/wire"
	"golang.org/x/sys/unix"
)

// lookAround makes sure that the mounts are there and show what was probed:
// bwrap resolves their paths again, and a link may have taken the place of a
// folder since.
func (b *box) lookAround() error {
	for _, sh := range b.spec.Shown {
		if err := lookAt(sh); err != nil {
			return err
		}
	}
	return nil
}

// openable reports whether the program could enter what keeps us from a path now: that folder
// is the user's own.
func openable(path string) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		var st unix.Stat_t
		switch err := unix.Lstat(dir, &st); {
		case err == nil:
			return int(st.Uid) == unix.Geteuid()
		case err != unix.EACCES || dir == "/":
			return true
		}
	}
}

func lookAt(sh wire.Shown) error {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, sh.Path, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT,
		unix.STATX_TYPE|unix.STATX_INO, &st)
	if err == unix.EACCES && sh.Ino == 0 && !openable(sh.Path) {
		return nil // it is made for the box, and what the box cannot enter it cannot read
	}
	if err != nil {
		return fmt.Errorf("%q cannot be seen in the box: %w", sh.Path, err)
	}
	other := sh.Ino != 0 && (st.Ino != sh.Ino || unix.Mkdev(st.Dev_major, st.Dev_minor) != sh.Dev)
	// Linux 5.8 says whether something is mounted there.
	bare := st.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 && st.Attributes&unix.STATX_ATTR_MOUNT_ROOT == 0
	if other || bare {
		return fmt.Errorf("%q was replaced while the sandbox was made", filepath.Clean(sh.Path))
	}
	return nil
}
