package why

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// entry is what was found at a path.
type entry struct {
	kind  byte   // 'd' folder, 'f' file, 'l' link, 's' special; '-' nothing there, '?' it cannot be looked at
	text  string // of a link
	rule  int    // which decides about it
	host  string // its path on the host; "" for what is made for the box
	perms fs.FileMode
	read  bool
	write bool // by its permissions alone
}

// disk looks at the host as the program of a box would, which has no capabilities: lstat, and what access(2)
// says, or for root, whom that lets do everything, the permissions.
func disk(p string) entry {
	fi, err := os.Lstat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ENAMETOOLONG):
		return entry{kind: '-'}
	case err != nil:
		return entry{kind: '?'}
	}
	e := entry{kind: kindOf(fi.Mode()), perms: fi.Mode().Perm(), host: p}
	switch {
	case e.kind == 'l':
		if e.text, err = os.Readlink(p); err != nil {
			e.kind = '?'
		}
	case os.Geteuid() == 0:
		e.read, e.write = byPermissions(p)
	default:
		e.read = unix.Faccessat(unix.AT_FDCWD, p, unix.R_OK, unix.AT_EACCESS) == nil
		e.write = unix.Faccessat(unix.AT_FDCWD, p, unix.W_OK, unix.AT_EACCESS) == nil
	}
	return e
}

func kindOf(m fs.FileMode) byte {
	switch {
	case m.IsDir():
		return 'd'
	case m.IsRegular():
		return 'f'
	case m&fs.ModeSymlink != 0:
		return 'l'
	}
	return 's'
}

// byPermissions returns what a process without capabilities may do with a file.
func byPermissions(p string) (r, w bool) {
	var st unix.Stat_t
	if unix.Lstat(p, &st) != nil {
		return false, false
	}
	bits := st.Mode & 7
	groups, _ := os.Getgroups()
	switch {
	case int(st.Uid) == os.Geteuid():
		bits = st.Mode >> 6 & 7
	case int(st.Gid) == os.Getegid() || slices.Contains(groups, int(st.Gid)):
		bits = st.Mode >> 3 & 7
	}
	return bits&4 != 0, bits&2 != 0
}
