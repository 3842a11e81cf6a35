package copytree

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/visible"
)

// one copies a file or a link from one folder to another, and reports whether it is a folder instead. A fault
// of the source leaves it out, and the copy goes on.
func (c *copier) one(from, to int, name, at string) (isDir bool, err error) {
	var st unix.Stat_t
	e := Entry{Path: at}
	if err := unix.Fstatat(from, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return false, c.leave(at, err)
	}
	switch kind := st.Mode & unix.S_IFMT; kind {
	case unix.S_IFDIR:
		return true, nil
	case unix.S_IFLNK:
		target := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(from, name, target)
		if err != nil {
			return false, c.leave(at, err)
		}
		e.State, e.Link = StateOf(st), string(target[:n])
		err = unix.Symlinkat(e.Link, to, name)
		if err = errors.Join(err, unix.UtimesNanoAt(to, name, []unix.Timespec{st.Atim, st.Mtim}, unix.AT_SYMLINK_NOFOLLOW)); err != nil {
			return false, c.fault("copy", at, err)
		}
	case unix.S_IFREG:
		return false, c.file(from, to, name, at)
	default:
		c.miss(at, kindName(kind))
		return false, nil
	}
	c.record(e)
	return false, nil
}

// file copies what was a file a moment ago.
func (c *copier) file(from, to int, name, at string) error {
	f, _, err := Regular(from, name)
	if err != nil {
		return c.leave(at, err)
	}
	defer f.Close()
	e, err := c.contents(f, to, name)
	if err != nil {
		return c.fault("copy", at, err)
	}
	e.Path = at
	c.record(e)
	return nil
}

// contents makes a file of the copy from an open one of the source.
func (c *copier) contents(from *os.File, dir int, name string) (Entry, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(from.Fd()), &st); err != nil {
		return Entry{}, err
	}
	to, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return Entry{}, err
	}
	file := os.NewFile(uintptr(to), name)
	defer file.Close()
	if err := c.data(from, file, st); err != nil {
		return Entry{}, err
	}
	var copied unix.Stat_t
	e := Entry{State: StateOf(st)}
	if c.o.Record {
		err = unix.Fstat(to, &copied)
		e.Copy = copied.Ino
	}
	errMode := unix.Fchmod(to, keptMode(st.Mode))
	errTimes := unix.UtimesNanoAt(dir, name, []unix.Timespec{st.Atim, st.Mtim}, unix.AT_SYMLINK_NOFOLLOW)
	return e, errors.Join(err, errMode, errTimes)
}

// data copies what is in a file, holes as holes.
func (c *copier) data(from, to *os.File, st unix.Stat_t) error {
	if st.Blocks*512 >= st.Size || st.Blocks == 0 && st.Size < 4096 { // tiny ones may live in the inode
		return c.span(from, to, 0, st.Size)
	}
	for at := int64(0); at < st.Size; {
		begin, err := unix.Seek(int(from.Fd()), at, unix.SEEK_DATA)
		switch {
		case errors.Is(err, unix.ENXIO): // a hole to the end
			begin = st.Size
		case err != nil:
			begin = at
		}
		end, err := unix.Seek(int(from.Fd()), begin, unix.SEEK_HOLE)
		if err != nil || end > st.Size {
			end = st.Size
		}
		if err := c.span(from, to, begin, end); err != nil {
			return err
		}
		at = end
	}
	return to.Truncate(st.Size)
}

// room says at once that a large file does not fit on the disk. Btrfs and XFS share blocks: there writing tells.
func room(fd int, need int64) error {
	var disk unix.Statfs_t
	if need < 64<<20 || unix.Fstatfs(fd, &disk) != nil ||
		disk.Type == unix.BTRFS_SUPER_MAGIC || disk.Type == unix.XFS_SUPER_MAGIC {
		return nil
	}
	if free := int64(disk.Bavail) * disk.Bsize; need > free {
		return fmt.Errorf("%s are needed, %s are free: %w", visible.Size(need), visible.Size(free), unix.ENOSPC)
	}
	return nil
}

// span copies the bytes from at to end. Where the kernel can do that Go has it do so (copy_file_range(2)): there
// blocks are shared if the file system does that. A file that became shorter meanwhile ends where it ends.
func (c *copier) span(from, to *os.File, at, end int64) error {
	_, errFrom := from.Seek(at, io.SeekStart)
	_, errTo := to.Seek(at, io.SeekStart)
	err := cmp.Or(errFrom, errTo)
	if err == nil {
		err = room(int(to.Fd()), end-at)
	}
	for n := int64(0); at < end && err == nil; at += n {
		if n, err = io.CopyN(to, from, min(end-at, 16<<20)); err == nil {
			err = c.ctx.Err()
		}
	}
	if err == io.EOF {
		return nil
	}
	return err
}
