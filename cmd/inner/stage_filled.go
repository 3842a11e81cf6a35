package main

// What a box may write of settings and histories: folders in its own memory, with a
// size. Their contents go with the run, but for a login that was renewed.

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/limits"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/runlog"
)

// stageFilled gives each folder room for what is copied into it.
func stageFilled(j *journey) error {
	for i := range j.staged.Binds {
		b := &j.staged.Binds[i]
		if b.Room == 0 {
			continue
		}
		const page = 4096
		err := filepath.WalkDir(b.Host, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			fi, err := d.Info()
			if err == nil {
				b.Room += uint64(fi.Size()+page-1) / page * page
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// filled are the box's folders in memory, by what they were filled from. They can be
// read after the end of the box, and are untrusted.
type filled map[string]filledFolder

type filledFolder struct {
	plan.Fill
	dir *os.File
}

func (f *filled) take(fill plan.Fill, dir *os.File) {
	if *f == nil {
		*f = filled{}
	}
	if old, ok := (*f)[fill.Source]; ok { // of a box that did not start
		old.dir.Close()
	}
	(*f)[fill.Source] = filledFolder{fill, dir}
}

func (f filled) close() {
	for _, folder := range f {
		folder.dir.Close()
	}
}

// read reads a regular file of a folder. It follows no link, waits for nobody, and
// reads no more than limit bytes.
func (f filled) read(source, name string, limit int64) ([]byte, error) {
	folder, ok := f[source]
	if !ok {
		return nil, fs.ErrNotExist
	}
	fd, err := copytree.Open(int(folder.dir.Fd()), name, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), name)
	defer file.Close()
	fi, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !fi.Mode().IsRegular() || fi.Size() > limit:
		return nil, fmt.Errorf("%q is no regular file of at most %d KiB", name, limit>>10)
	}
	return io.ReadAll(io.LimitReader(file, limit))
}

// full reports whether there is no room in a folder.
func (f filledFolder) full() bool {
	var st unix.Statfs_t
	return unix.Fstatfs(int(f.dir.Fd()), &st) == nil && (st.Bavail == 0 || st.Files > 0 && st.Ffree == 0)
}

// sayFull names the folders that are full at the end of the run.
func (j *journey) sayFull() {
	for _, fill := range j.plan.Fills {
		f, ok := j.filled[fill.Source]
		if !ok || !f.full() {
			continue
		}
		text := fmt.Sprintf("%s in the sandbox was full (%s)", j.app.Short(f.Dest), limits.Size(f.Room))
		j.app.say("%s", text)
		if j.rc.Limits.Disk == "" {
			j.app.hint("disk = \"1G\" under [sandbox.limits] in profile %q makes it larger", j.rc.Name)
		}
		j.events = append(j.events, runlog.Event{Type: runlog.EventLimit, Run: j.id(), Profile: j.rc.Name, Reason: text})
	}
}
