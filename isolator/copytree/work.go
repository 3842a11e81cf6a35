package copytree

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

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
		c.record(entry(d.rel, d.st))
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
	c.res.Bytes, c.need = st.Size, st.Blocks*512
	if err := c.room(); err != nil {
		return err
	}
	e, err := c.contents(c.src, to, filepath.Base(dst), st, make([]byte, buffer))
	if err != nil {
		return &fs.PathError{Op: "copy", Path: src, Err: err}
	}
	e.Path = "."
	c.record(e)
	return nil
}
