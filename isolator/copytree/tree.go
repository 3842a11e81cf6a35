package copytree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
)

// folder copies one folder with the files in it, and returns the folders in it.
func (c *copier) folder(rel string) (below []string, err error) {
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
		err = In(c.dst, rel, func(dir int, name string) error { return unix.Mkdirat(dir, name, 0o700) })
	}
	to := -1
	if err == nil {
		to, err = Open(c.dst, rel, unix.O_RDONLY|unix.O_DIRECTORY)
	}
	if err != nil {
		return nil, c.fault("mkdir", rel, err)
	}
	defer unix.Close(to)
	c.mu.Lock()
	c.dirs = append(c.dirs, d)
	c.mu.Unlock()
	for _, name := range names {
		at := join(rel, name)
		if c.exclude[at] {
			continue
		}
		if err := c.ctx.Err(); err != nil {
			return nil, err
		}
		isDir, err := c.one(fd, to, name, at)
		if err != nil {
			return nil, err
		}
		if isDir {
			below = append(below, at)
		}
	}
	return below, nil
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
	if errors.Is(err, files.ErrNotRegular) || errors.Is(err, unix.ELOOP) || errors.Is(err,
		unix.ENOTDIR) || errors.Is(err, unix.EXDEV) {
		why = "replaced while it was copied"
	}
	c.miss(rel, why)
	return nil
}

func (c *copier) miss(rel, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.res.Left = append(c.res.Left, Left{rel, why})
}

func (c *copier) fault(op, rel string, err error) error {
	return &fs.PathError{Op: op, Path: rel, Err: err}
}

// record notes what was copied, where that is asked for.
func (c *copier) record(e Entry) {
	if c.o.Record {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.res.Entries = append(c.res.Entries, e)
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
func (c *copier) single(from *os.File, dst string) error {
	to, err := unix.Open(filepath.Dir(dst)+"/.", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) // it may be one by descriptor
	if err != nil {
		return &fs.PathError{Op: "open", Path: filepath.Dir(dst), Err: err}
	}
	defer unix.Close(to)
	c.dst = to
	e, err := c.contents(from, to, filepath.Base(dst))
	if err != nil {
		return &fs.PathError{Op: "copy", Path: from.Name(), Err: err}
	}
	e.Path = "."
	c.record(e)
	return nil
}
