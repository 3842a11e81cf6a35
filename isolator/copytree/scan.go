package copytree

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// scan makes one folder in the copy and lists what is in it.
func (c *copier) scan(rel string, more func(string)) error {
	fd, err := Open(c.src, rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return c.leave(rel, err)
	}
	defer unix.Close(fd)
	d := &dir{rel: rel}
	if err := unix.Fstat(fd, &d.st); err != nil {
		return c.fault("stat", rel, err)
	}
	names, err := list(fd)
	if err != nil {
		return c.leave(rel, err)
	}
	if rel != "." {
		if err := unix.Mkdirat(c.dst, rel, 0o700); err != nil {
			return c.fault("mkdir", rel, err)
		}
	}
	var left []Left
	var subs []string
	var room, size int64
	for _, name := range names {
		at := join(rel, name)
		if c.exclude[at] {
			continue
		}
		var st unix.Stat_t
		switch err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); {
		case errors.Is(err, unix.ENOENT):
			continue
		case err != nil:
			left = append(left, Left{at, err.Error()})
			continue
		}
		switch kind := st.Mode & unix.S_IFMT; kind {
		case unix.S_IFDIR:
			subs = append(subs, at)
		case unix.S_IFREG:
			if st.Nlink > 1 {
				who := inode{st.Dev, st.Ino}
				c.mu.Lock()
				c.links[who] = append(c.links[who], at)
				another := len(c.links[who]) > 1
				c.mu.Unlock()
				if another {
					continue
				}
			}
			d.files = append(d.files, file{name, kind, st.Blocks * 512, st.Size})
			room += st.Blocks * 512
			size += st.Size
		case unix.S_IFLNK:
			d.files = append(d.files, file{name, kind, 0, 0})
		default:
			left = append(left, Left{at, kindName(kind)})
		}
	}
	c.mu.Lock()
	c.dirs = append(c.dirs, d)
	c.res.Left = append(c.res.Left, left...)
	c.res.Files += len(d.files)
	c.res.Bytes += size
	c.mu.Unlock()
	for _, at := range subs {
		more(at)
	}
	return nil
}

// leave leaves something out that cannot be read. What is gone was never
// there; the source itself must be readable.
func (c *copier) leave(rel string, err error) error {
	switch {
	case rel == "." || errors.Is(err, unix.EIO):
		return c.fault("open", rel, err)
	case errors.Is(err, unix.ENOENT):
		return nil
	}
	why := err.Error()
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EXDEV) {
		why = "replaced while it was copied"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.res.Left = append(c.res.Left, Left{rel, why})
	return nil
}

func (c *copier) fault(op, rel string, err error) error {
	return &fs.PathError{Op: op, Path: rel, Err: err}
}
