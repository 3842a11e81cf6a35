package copytree

import (
	"errors"

	"golang.org/x/sys/unix"
)

// one copies a file or a link from one folder to another, and reports whether it is a folder instead. A fault
// of the source leaves it out, and the copy goes on.
func (c *copier) one(from, to int, name, at string, buf []byte) (isDir bool, err error) {
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
		return false, c.file(from, to, name, at, buf)
	default:
		c.miss(at, kindName(kind))
		return false, nil
	}
	c.record(e)
	return false, nil
}

// file copies what was a file a moment ago.
func (c *copier) file(from, to int, name, at string, buf []byte) error {
	f, _, err := Regular(from, name)
	if err != nil {
		return c.leave(at, err)
	}
	defer f.Close()
	e, err := c.contents(int(f.Fd()), to, name, buf)
	if err != nil {
		return c.fault("copy", at, err)
	}
	e.Path = at
	c.record(e)
	return nil
}

// contents makes a file of the copy from an open one of the source.
func (c *copier) contents(fd, dir int, name string, buf []byte) (Entry, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Entry{}, err
	}
	to, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return Entry{}, err
	}
	defer unix.Close(to)
	if err = room(to, st); err == nil {
		err = c.data(fd, to, st, buf)
	}
	if err != nil {
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
func (c *copier) data(fd, to int, st unix.Stat_t, buf []byte) error {
	if st.Blocks*512 >= st.Size || st.Blocks == 0 && st.Size < 4096 { // tiny ones may live in the inode
		return c.span(fd, to, 0, st.Size, buf)
	}
	for at := int64(0); at < st.Size; {
		begin, err := unix.Seek(fd, at, unix.SEEK_DATA)
		switch {
		case errors.Is(err, unix.ENXIO): // a hole to the end
			begin = st.Size
		case err != nil:
			begin = at
		}
		end, err := unix.Seek(fd, begin, unix.SEEK_HOLE)
		if err != nil || end > st.Size {
			end = st.Size
		}
		if err := c.span(fd, to, begin, end, buf); err != nil {
			return err
		}
		at = end
	}
	return unix.Ftruncate(to, st.Size)
}

// span copies the bytes from at to end, in the kernel where it can: there blocks are shared if the
// file system does that. Little is read more quickly. A file that became shorter meanwhile ends where
// it ends.
func (c *copier) span(fd, to int, at, end int64, buf []byte) error {
	for inKernel := end-at > int64(len(buf)); at < end; {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		var n int
		var err error
		if inKernel {
			from, dest := at, at
			n, err = unix.CopyFileRange(fd, &from, to, &dest, int(min(end-at, 16<<20)), 0)
		} else if n, err = unix.Pread(fd, buf[:min(end-at, int64(len(buf)))], at); n > 0 {
			n, err = unix.Pwrite(to, buf[:n], at)
		}
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil && inKernel:
			inKernel = false // reading and writing says whether that is a fault
		case err != nil:
			return err
		case n <= 0:
			return nil
		default:
			at += int64(n)
		}
	}
	return nil
}

// buffer is how much is read at once.
const buffer = 128 << 10
