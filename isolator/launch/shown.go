package launch

import (
	"fmt"

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
