package outside

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// coverAll hides and protects what the host has put into the place of something.
func (l List) coverAll() error {
	for _, p := range l.Protect {
		if err := coverPlace(p, readOnlyClone); err != nil {
			return fmt.Errorf("%q: %w", p, err)
		}
	}
	for _, p := range l.Hide {
		if err := coverPlace(p, emptyTree); err != nil {
			return fmt.Errorf("%q: %w", p, err)
		}
	}
	return nil
}

// coverPlace mounts what tree makes for a name in a folder on it. The name may be a link, which
// is not followed.
func coverPlace(p string, tree func(dir int, name string) (int, error)) error {
	dir, err := openPlain(filepath.Dir(p))
	if err == nil {
		defer unix.Close(dir)
		var fd int
		if fd, err = tree(dir, filepath.Base(p)); err == nil {
			defer unix.Close(fd)
			if err = unix.MoveMount(fd, "", dir, filepath.Base(p), unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
				err = fmt.Errorf("move_mount: %w", err)
			}
		}
	}
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) { // it is gone again, has become another, or is being renamed over
		return nil
	}
	return err
}

// readOnlyClone is what lies in a folder, as something that cannot be written.
func readOnlyClone(dir int, name string) (int, error) {
	fd, err := unix.OpenTree(dir, name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return -1, fmt.Errorf("open_tree: %w", err)
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("mount_setattr: %w", err)
	}
	return fd, nil
}

// emptyTree is an empty folder for a folder, and the box's /dev/null for everything else.
func emptyTree(dir int, name string) (int, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return -1, err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return emptyFolder()
	}
	null, err := openPlain("/dev/null")
	if err != nil {
		return -1, fmt.Errorf("/dev/null: %w", err)
	}
	defer unix.Close(null)
	fd, err := unix.OpenTree(null, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return -1, fmt.Errorf("open_tree: %w", err)
	}
	return fd, nil
}

// emptyFolder is a new folder in memory that nothing can be written to.
func emptyFolder() (int, error) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("fsopen: %w", err)
	}
	defer unix.Close(fs)
	if err := errors.Join(unix.FsconfigSetString(fs, "mode", "0555"), unix.FsconfigCreate(fs)); err != nil {
		return -1, fmt.Errorf("fsconfig: %w", err)
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return -1, fmt.Errorf("fsmount: %w", err)
	}
	return fd, nil
}
