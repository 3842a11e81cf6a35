package launch

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/plan"
)

// identified fills in what the sources of mounts are now. A source is canonical:
// a link in its path has come since.
func identified(list []plan.Shown) ([]plan.Shown, error) {
	out := make([]plan.Shown, len(list))
	for i, sh := range list {
		if out[i] = sh; sh.Ino != 0 || sh.Source == "" {
			continue
		}
		st, err := statUnlinked(sh.Source)
		if err != nil {
			return nil, fmt.Errorf("%q was replaced while the sandbox was made: %w", sh.Source, err)
		}
		out[i].Dev, out[i].Ino = st.Dev, st.Ino
	}
	return out, nil
}

// statUnlinked is stat(2) that follows no link, neither the last name nor one
// before it.
func statUnlinked(path string) (unix.Stat_t, error) {
	var st unix.Stat_t
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err == unix.ENOSYS || err == unix.EPERM { // before Linux 5.6, or an older filter around inner
		if err = unix.Lstat(path, &st); err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
			err = unix.ELOOP
		}
		return st, err
	}
	if err != nil {
		return st, err
	}
	defer unix.Close(fd)
	return st, unix.Fstat(fd, &st)
}

// lookAround makes sure that the mounts are there and show what was probed:
// bwrap resolves their paths again, and a link may have taken the place of a
// folder since.
func lookAround(s *spec) error {
	for _, sh := range s.Shown {
		var st unix.Statx_t
		err := unix.Statx(unix.AT_FDCWD, sh.Path, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, unix.STATX_TYPE|unix.STATX_INO, &st)
		if err == unix.EACCES && sh.Source == "" {
			continue // what the box cannot enter it cannot read
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
	}
	return nil
}
