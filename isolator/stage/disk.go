package stage

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Copies is the folder below INNER_HOME that holds the copies of all runs.
func Copies(innerHome string) string { return filepath.Join(innerHome, "copies") }

// Kept is the folder below INNER_HOME that holds the copies that outlived
// their runs, see Keep.
func Kept(innerHome string) string { return filepath.Join(innerHome, "changes") }

// GitCopies is the folder below INNER_HOME in which the version before kept the git directories of boxes.
func GitCopies(innerHome string) string { return filepath.Join(innerHome, "git") }

// Disk makes a second folder for the run, for what may be large: 0700, on the
// disk of INNER_HOME, locked like the first one, and gone with the run.
func (r *Run) Disk() (string, error) {
	if r.disk != "" {
		return r.disk, nil
	}
	base := Copies(filepath.Dir(r.journal))
	gate, err := gateOf(base)
	if err != nil {
		return "", err
	}
	defer gate.Close()
	r.disk, r.diskLock, err = folder(base, r.ID)
	return r.disk, err
}

// Keep moves the folder of Disk to where it outlives the run, and returns its new path.
// Its lock tells whether the run is still alive.
func (r *Run) Keep() (string, error) {
	base := Kept(filepath.Dir(r.journal))
	gate, err := gateOf(base)
	if err != nil {
		return "", err
	}
	defer gate.Close()
	kept := filepath.Join(base, r.ID)
	if err := os.Rename(r.disk, kept); err != nil {
		return "", err
	}
	r.disk = ""
	return kept, nil
}

// Unkeep undoes Keep: the folder is removed with the run again.
func (r *Run) Unkeep(kept string) error {
	base := Copies(filepath.Dir(r.journal))
	gate, err := gateOf(base)
	if err != nil {
		return err
	}
	defer gate.Close()
	disk := filepath.Join(base, r.ID)
	if err := os.Rename(kept, disk); err != nil {
		return err
	}
	r.disk = disk
	return nil
}

// Discard removes a folder of Kept. What a crash leaves of it is removed by the next sweep,
// with the copies.
func Discard(innerHome, kept string) error {
	base := Copies(innerHome)
	gate, err := gateOf(base)
	if err != nil {
		return err
	}
	dead := filepath.Join(base, filepath.Base(kept))
	err = os.Rename(kept, dead)
	gate.Close()
	if err != nil {
		return err
	}
	return sweep(base)
}

// gateOf makes base, a folder of INNER_HOME, and holds sweepers of it back.
func gateOf(base string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(base), 0o700); err != nil {
		return nil, err
	}
	if err := ensure(base); err != nil {
		return nil, err
	}
	gate, err := lockFile(filepath.Join(base, ".gate"), syscall.LOCK_EX)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", base, err)
	}
	return gate, nil
}

// Alive reports whether the run that made dir, one of Kept, still lives.
func Alive(dir string) bool { return alive(dir) }
