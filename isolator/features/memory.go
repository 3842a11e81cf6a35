package features

// What a box may write of settings and histories: folders in its own memory, with a
// size. Their contents go with the run, but for a login that was renewed.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/limits"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/runlog"
)

// roomFor is how much memory the files of a folder take.
func roomFor(dir string) (uint64, error) {
	const page = 4096
	var room uint64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		fi, err := d.Info()
		if err == nil {
			room += uint64(fi.Size()+page-1) / page * page
		}
		return err
	})
	return room, err
}

// memory are the box's folders in memory, by what they were filled from. They can be
// read after the end of the box, and are untrusted.
type memory map[string]filledFolder

// feature keeps the folders for whoever reads them, and names those that are full at the end.
func (m *memory) feature() Feature {
	return Feature{
		Name: "folders in memory", Keys: []string{"capabilities", "entrypoint.history", "sandbox.limits"},
		Start: func(run *Run, o *launch.Options) {
			if run.Mode == Program {
				o.Filled = func(i int, folder *os.File) { m.take(run.Plan.Fills[i], folder) }
			}
		},
		Make: func(run *Run) error {
			run.Undo(m.close)
			return nil
		},
		Finish: func(run *Run, o *Outcome) error {
			m.sayFull(run, o)
			return nil
		},
	}
}

type filledFolder struct {
	plan.Fill
	dir *os.File
}

func (m *memory) take(fill plan.Fill, dir *os.File) {
	if *m == nil {
		*m = memory{}
	}
	if old, ok := (*m)[fill.Source]; ok { // of a box that did not start
		old.dir.Close()
	}
	(*m)[fill.Source] = filledFolder{fill, dir}
}

func (m *memory) close() {
	for _, folder := range *m {
		folder.dir.Close()
	}
}

// read reads a regular file of a folder. It follows no link, waits for nobody, and
// reads no more than limit bytes.
func (m memory) read(source, name string, limit int64) ([]byte, error) {
	folder, ok := m[source]
	if !ok {
		return nil, fs.ErrNotExist
	}
	file, fi, err := copytree.Regular(int(folder.dir.Fd()), name)
	if err == nil {
		defer file.Close()
	}
	if errors.Is(err, files.ErrNotRegular) || err == nil && fi.Size() > limit {
		err = fmt.Errorf("%q is not a regular file of at most %d KiB", name, limit>>10)
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(file, limit))
}

// full reports whether there is no room in a folder.
func (f filledFolder) full() bool {
	var st unix.Statfs_t
	return unix.Fstatfs(int(f.dir.Fd()), &st) == nil && (st.Bavail == 0 || st.Files > 0 && st.Ffree == 0)
}

// sayFull names the folders that are full at the end of the run.
func (m memory) sayFull(run *Run, o *Outcome) {
	for _, fill := range run.Plan.Fills {
		f, ok := m[fill.Source]
		if !ok || !f.full() {
			continue
		}
		text := fmt.Sprintf("%s in the sandbox was full (%s)", run.Short(f.Dest), limits.Size(f.Room))
		run.Say("%s", text)
		if run.Spec.Limits.Disk == "" {
			run.Hint("disk = \"1G\" under [sandbox.limits] in profile %q makes it larger", run.Spec.Name)
		}
		o.Events = append(o.Events, runlog.Event{Type: runlog.EventLimit, Run: run.ID(), Profile: run.Spec.Name, Reason: text})
	}
}
