package why

import (
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// entry is what was found at a path.
type entry struct {
	kind  byte   // 'd' folder, 'f' file, 'l' link, 's' special; '-' nothing there, '?' it cannot be looked at
	text  string // of a link
	op    int    // which decides about it
	host  string // its path on the host; "" for what is made for the box
	perms fs.FileMode
	read  bool
	write bool // by its permissions alone
}

// disk looks at the host as the program of a box would, which has no capabilities: lstat, and what access(2)
// says, or for root, whom that lets do everything, the permissions.
func disk(p string) entry {
	var st unix.Stat_t
	switch err := unix.Lstat(p, &st); err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR, unix.ENAMETOOLONG, unix.EINVAL: // the last for what a run would make
		return entry{kind: '-'}
	default:
		return entry{kind: '?'}
	}
	e := entry{kind: 's', perms: fs.FileMode(st.Mode & 0o777), host: p}
	if kind, ok := map[uint32]byte{unix.S_IFDIR: 'd', unix.S_IFREG: 'f', unix.S_IFLNK: 'l'}[st.Mode&unix.S_IFMT]; ok {
		e.kind = kind
	}
	switch groups, _ := os.Getgroups(); {
	case e.kind == 'l':
		text, err := os.Readlink(p)
		if e.text = text; err != nil {
			e.kind = '?'
		}
	case os.Geteuid() != 0:
		e.read = unix.Faccessat(unix.AT_FDCWD, p, unix.R_OK, unix.AT_EACCESS) == nil
		e.write = unix.Faccessat(unix.AT_FDCWD, p, unix.W_OK, unix.AT_EACCESS) == nil
	default:
		bits := st.Mode
		if st.Uid == 0 {
			bits >>= 6
		} else if st.Gid == 0 || slices.Contains(groups, int(st.Gid)) {
			bits >>= 3
		}
		e.read, e.write = bits&4 != 0, bits&2 != 0
	}
	return e
}
