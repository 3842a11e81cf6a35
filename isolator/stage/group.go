package stage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/enr/inner/isolator/limits"
)

// groupFile says, in the folder of a run, where its control group is.
const groupFile = "group"

// Group makes the control group of the run at dir by calling make. Close removes it, or
// the next sweep after a crash.
func (r *Run) Group(dir string, make func() error) error {
	if _, err := r.File(groupFile, []byte(dir), 0o600); err != nil {
		return err
	}
	r.group = true
	err := make()
	if err != nil {
		err = errors.Join(err, r.dropGroup())
	}
	return err
}

func (r *Run) dropGroup() error {
	if !r.group {
		return nil
	}
	r.group = false
	return dropGroup(r.Path)
}

// dropGroup removes the control group that the run of a staging folder made.
func dropGroup(run string) error {
	path := filepath.Join(run, groupFile)
	dir, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	if err := limits.Remove(string(dir)); err != nil {
		return err
	}
	return os.Remove(path)
}
