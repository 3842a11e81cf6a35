package outside

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// A mask is a clone of the mount of an empty file, moved over the file that is hidden. The
// first one is bwrap's: the others have its flags, for a clone keeps them (nosuid, nodev,
// read-only). Ten microseconds each, where bwrap needs three hundred (measured with
// bwrap 0.8.0).
//
// The order, for each: open the file without following any link; make sure that it is
// the one that was found on the host; mount on that descriptor; look whether the name
// now shows the empty file. So a name that somebody replaces meanwhile is noticed,
// whenever that happens, and the program does not start.

// errReplaced has its words from those that make inner look at the host again.
var errReplaced = errors.New("was replaced while the sandbox was made")

// openCover opens the mask that the others are clones of, once it has made sure that it is what bwrap was asked for: this
// file, on a mount that the box can neither write nor use for anything.
func openCover(c wire.Mask) (int, error) {
	fd, err := openPlain(c.Path)
	if err != nil {
		return -1, fmt.Errorf("%q cannot be seen in the box: %w", c.Path, err)
	}
	var st unix.Stat_t
	var fs unix.Statfs_t
	if err = errors.Join(unix.Fstat(fd, &st), unix.Fstatfs(fd, &fs)); err == nil {
		const flags = unix.ST_RDONLY | unix.ST_NOSUID | unix.ST_NODEV
		if !is(st, c) || fs.Flags&flags != flags {
			err = errReplaced
		}
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("%q %w", c.Path, err)
	}
	return fd, nil
}

func is(st unix.Stat_t, m wire.Mask) bool { return st.Dev == m.Dev && st.Ino == m.Ino }

// mask makes the masks of the list.
func (l List) mask() error {
	if len(l.Masks) == 0 {
		return nil
	}
	from, err := openCover(l.Cover)
	if err != nil {
		return err
	}
	defer unix.Close(from)
	for _, m := range l.Masks {
		if err := cover(from, l.Cover, m); err != nil {
			return fmt.Errorf("%q %w", m.Path, err)
		}
	}
	return nil
}

// openPlain opens a name with no link in it, for nothing but mounting on it.
func openPlain(path string) (int, error) {
	return unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
}

// cover covers one file by a clone of the mount of from, which is that of the mask c.
func cover(from int, c, m wire.Mask) error {
	at, err := openPlain(m.Path)
	if err != nil {
		return fmt.Errorf("cannot be seen in the box: %w", err)
	}
	defer unix.Close(at)
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return err
	}
	if m.Ino != 0 && !is(st, m) {
		return errReplaced
	}
	tree, err := unix.OpenTree(from, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return fmt.Errorf("open_tree: %w", err)
	}
	defer unix.Close(tree)
	if err := unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("move_mount: %w", err)
	}
	now, err := openPlain(m.Path)
	if err != nil {
		return fmt.Errorf("cannot be seen in the box: %w", err)
	}
	defer unix.Close(now)
	if err := unix.Fstat(now, &st); err != nil {
		return err
	}
	if !is(st, c) {
		return errReplaced
	}
	return nil
}
