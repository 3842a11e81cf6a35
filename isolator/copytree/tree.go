package copytree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// folder makes one folder in the copy, and returns what is to be done for what is in it.
func (c *copier) folder(rel string) (jobs []job, err error) {
	fd, err := Open(c.src, rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, c.leave(rel, err)
	}
	f := os.NewFile(uintptr(fd), rel)
	defer f.Close()
	d := dir{rel: rel}
	names, err := f.Readdirnames(-1)
	if err = errors.Join(err, unix.Fstat(fd, &d.st)); err != nil {
		return nil, c.leave(rel, err)
	}
	if rel != "." {
		err := In(c.dst, rel, func(dir int, name string) error { return unix.Mkdirat(dir, name, 0o700) })
		if err != nil {
			return nil, c.fault("mkdir", rel, err)
		}
	}
	var files []file
	var left []Left
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
			jobs = append(jobs, job{rel: at})
		case unix.S_IFREG, unix.S_IFLNK:
			files = append(files, file{name, kind})
		default:
			left = append(left, Left{at, kindName(kind)})
		}
	}
	for files := range slices.Chunk(files, 64) { // so that one large folder keeps all busy
		jobs = append(jobs, job{rel, files})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dirs, c.res.Left = append(c.dirs, d), append(c.res.Left, left...)
	return jobs, nil
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

// batch copies some files of a folder.
func (c *copier) batch(rel string, files []file) error {
	from, err := Open(c.src, rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		for _, f := range files {
			if err := c.leave(join(rel, f.name), err); err != nil {
				return err
			}
		}
		return nil
	}
	defer unix.Close(from)
	to, err := Open(c.dst, rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return c.fault("open", rel, err)
	}
	defer unix.Close(to)
	buf := make([]byte, buffer)
	var entries []Entry
	for _, f := range files {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		e, left, err := c.one(from, to, f, buf)
		e.Path = join(rel, f.name)
		switch {
		case err != nil:
			return c.fault("copy", e.Path, err)
		case left == nil:
			entries = append(entries, e)
		default:
			if err := c.leave(e.Path, left); err != nil {
				return err
			}
		}
	}
	c.record(entries...)
	return nil
}

// record notes what was copied, where that is asked for.
func (c *copier) record(list ...Entry) {
	if c.o.Record {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.res.Entries = append(c.res.Entries, list...)
	}
}

// finish gives the folders their modes, times and attributes, the deepest
// first: a folder may be one that nothing can be looked up in.
func (c *copier) finish() error {
	for _, d := range slices.Backward(c.dirs) {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		to, err := Open(c.dst, d.rel, unix.O_RDONLY|unix.O_DIRECTORY)
		if err == nil {
			times := []unix.Timespec{d.st.Atim, d.st.Mtim}
			err = errors.Join(unix.UtimesNanoAt(to, ".", times, 0), unix.Fchmod(to, keptMode(d.st.Mode)))
			unix.Close(to)
		}
		if err != nil {
			return c.fault("copy", d.rel, err)
		}
		c.record(Entry{Path: d.rel, State: StateOf(d.st)})
	}
	return nil
}

// single copies a source that is one file.
func (c *copier) single(src, dst string, st unix.Stat_t) error {
	to, err := unix.Open(filepath.Dir(dst)+"/.", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) // it may be one by descriptor
	if err != nil {
		return &fs.PathError{Op: "open", Path: filepath.Dir(dst), Err: err}
	}
	defer unix.Close(to)
	c.dst = to
	e, err := c.contents(c.src, to, filepath.Base(dst), st, make([]byte, buffer))
	if err != nil {
		return &fs.PathError{Op: "copy", Path: src, Err: err}
	}
	e.Path = "."
	c.record(e)
	return nil
}
