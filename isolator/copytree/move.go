package copytree

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Move moves src, which nobody else can write, into the open folder to, as name. Whatever comes to the
// place of that folder, or of what is written in it, nothing is written or read elsewhere. What has
// the name stays, and is fs.ErrExist, unless over is given: then it is replaced if over returns nil.
func Move(ctx context.Context, src string, to *os.File, name string, over func() error) error {
	put := func(at int, old string) error {
		if over == nil {
			return renameNew(at, old, int(to.Fd()), name)
		}
		if err := over(); err != nil {
			return err
		}
		return unix.Renameat(at, old, int(to.Fd()), name)
	}
	err := put(unix.AT_FDCWD, src)
	if !errors.Is(err, unix.EXDEV) {
		return err
	}
	temp := ".inner-" + rand.Text()
	at := fmt.Sprintf("/proc/self/fd/%d/%s", to.Fd(), temp)
	if target, errLink := os.Readlink(src); errLink == nil {
		err = unix.Symlinkat(target, int(to.Fd()), temp)
	} else {
		_, err = Copy(ctx, src, at, Options{})
	}
	if err != nil {
		return err
	}
	if err := put(int(to.Fd()), temp); err != nil {
		return errors.Join(err, Remove(at))
	}
	return Remove(src)
}

// renameNew renames to a name that is free, also where the file system cannot look and rename in one step.
func renameNew(from int, old string, to int, name string) error {
	err := unix.Renameat2(from, old, to, name, unix.RENAME_NOREPLACE)
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	var st unix.Stat_t
	if unix.Fstatat(to, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		return fs.ErrExist
	}
	return unix.Renameat(from, old, to, name)
}
