package copytree

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// scan makes one folder in the copy, notes what is in it, and returns the folders there.
func (c *copier) scan(rel string) ([]string, error) {
	d, subs, left, err := c.list(rel)
	if err != nil {
		return nil, c.leave(rel, err)
	}
	if rel != "." {
		err := In(c.dst, rel, func(dir int, name string) error { return unix.Mkdirat(dir, name, 0o700) })
		if err != nil {
			return nil, c.fault("mkdir", rel, err)
		}
	}
	c.mu.Lock()
	c.dirs = append(c.dirs, d)
	c.res.Left = append(c.res.Left, left...)
	c.need += 4096
	for _, f := range d.files {
		c.res.Bytes += f.size
		c.need += max(f.room, 512)
	}
	c.mu.Unlock()
	return subs, nil
}

// list returns what is in one folder, and the folders there apart.
func (c *copier) list(rel string) (d *dir, subs []string, left []Left, err error) {
	fd, err := Open(c.src, rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, nil, nil, err
	}
	f := os.NewFile(uintptr(fd), rel)
	defer f.Close()
	d = &dir{rel: rel}
	names, err := f.Readdirnames(-1)
	if err = errors.Join(err, unix.Fstat(fd, &d.st)); err != nil {
		return nil, nil, nil, err
	}
	for _, name := range names {
		at := join(rel, name)
		var st unix.Stat_t
		if c.exclude[at] {
			continue
		} else if err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			if !errors.Is(err, unix.ENOENT) {
				left = append(left, Left{at, err.Error()})
			}
			continue
		}
		switch kind := st.Mode & unix.S_IFMT; kind {
		case unix.S_IFDIR:
			subs = append(subs, at)
		case unix.S_IFREG:
			d.files = append(d.files, file{name, kind, st.Blocks * 512, st.Size})
		case unix.S_IFLNK:
			d.files = append(d.files, file{name, kind, 0, 0})
		default:
			left = append(left, Left{at, kindName(kind)})
		}
	}
	return d, subs, left, nil
}

// leave leaves something out that cannot be read. What is gone was never
// there; the source itself must be readable. A fault of the disk, or of this process, is none
// of a file.
func (c *copier) leave(rel string, err error) error {
	switch {
	case rel == "." || slices.ContainsFunc([]error{unix.EIO, unix.EMFILE, unix.ENFILE, unix.ENOMEM}, func(e error) bool { return errors.Is(err, e) }):
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
