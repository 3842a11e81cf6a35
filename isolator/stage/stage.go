// Package stage makes everything that a run needs on disk, and takes it away again. All of it is in folders
// that the run owns (package owned), and what a crashed run left is swept by the next one:
//
//	$XDG_RUNTIME_DIR/inner/ID   what is staged, when that is the user's own private folder; else /tmp/inner-UID/ID
//	INNER_HOME/runs/ID          what the run has in folders of the host, and what is to be looked at (record.go)
//	INNER_HOME/copies/ID        what may be large: the copies of safe-rw mounts (Disk)
//
// The second one is not where the first is, since that goes when the machine does.
package stage

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/limits"
	"github.com/enr/inner/isolator/owned"
)

// Run is the staged part of one run.
type Run struct {
	ID   string // YYYYMMDD-HHMMSS-xxxxxx, local time
	Path string // its folder

	// What a dry stage would make: files by their names, and placeholders.
	Files  map[string][]byte
	Places []host.Placeholder

	home       string // INNER_HOME
	staged     *owned.Folder
	disk, kept *owned.Folder // nil when there is none, see Disk and Keep
	record     *owned.Folder
	dirs       parents
	workspaces *os.File // the lock of Workspaces
}

// DryMark begins the paths of what a dry stage would make.
const DryMark = "\x00staged:"

// Dry is the stage of a preview: what would be made has a path and is noted, and nothing is made.
func Dry() *Run { return &Run{ID: "dry-run", Path: DryMark, Files: map[string][]byte{}} }

func (r *Run) dry() bool { return r.Files != nil }

// At is the path of something in the folder of the run.
func (r *Run) At(name string) string {
	if r.dry() {
		return DryMark + name
	}
	return filepath.Join(r.Path, name)
}

// Base returns the folder that holds all staged runs of the user. runtimeDir
// is $XDG_RUNTIME_DIR, or "". Nothing is created yet.
func Base(runtimeDir string) string {
	if filepath.IsAbs(runtimeDir) && owned.Private(runtimeDir) == nil {
		return filepath.Join(runtimeDir, "inner")
	}
	return fmt.Sprintf("/tmp/inner-%d", os.Getuid())
}

// Copies is the folder below INNER_HOME that holds the copies of all runs.
func Copies(innerHome string) string { return filepath.Join(innerHome, "copies") }

// Kept is the folder below INNER_HOME that holds the copies that outlived
// their runs, see Keep.
func Kept(innerHome string) string { return filepath.Join(innerHome, "changes") }

// New makes the folder of a run below base and holds it. INNER_HOME is there.
func New(base, innerHome string) (*Run, error) {
	var b [3]byte
	if _, err := rand.Read(b[:]); err != nil {
		return nil, err
	}
	r := &Run{ID: time.Now().Format("20060102-150405-") + hex.EncodeToString(b[:]), home: innerHome, dirs: parents{}}
	var err error
	if r.staged, err = owned.New(base, r.ID); err == nil {
		if r.record, err = owned.New(records(innerHome), r.ID); err != nil {
			err = errors.Join(err, r.staged.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("staging folder: %w", err)
	}
	r.Path = r.staged.Path
	return r, nil
}

// Close removes what was staged, and the placeholders when no other run
// needs them. It is safe on nil and to call twice.
func (r *Run) Close() error {
	if r == nil || r.staged == nil {
		return nil
	}
	staged := make(chan error, 1) // meanwhile: to remove a folder can be to wait for the disk
	go func() {
		group := dropGroup(r.Path)
		if group != nil { // the next sweep tries again
			r.staged.Leave()
			staged <- group
			return
		}
		staged <- r.staged.Close()
	}()
	errs, err := takeBack(r.home, func(run string) bool { return run == r.ID }, r.dirs)
	r.dirs.close()
	errs = append(errs, err, Watched{}.write(r.record.Path), r.record.Spare(), <-staged, r.disk.Close())
	r.kept.Leave()
	if r.workspaces != nil {
		r.workspaces.Close()
	}
	r.staged = nil
	return errors.Join(errs...)
}

// Dir makes a folder of the run.
func (r *Run) Dir(name string) (string, error) {
	p := r.At(name)
	if r.dry() {
		return p, nil
	}
	return p, os.MkdirAll(p, 0o700)
}

// File writes a file of the run.
func (r *Run) File(name string, data []byte, mode fs.FileMode) (string, error) {
	p := r.At(name)
	if r.dry() {
		r.Files[name] = data
		return p, nil
	}
	f, err := os.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, mode)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	// The mode is a promise, whatever the umask.
	return p, errors.Join(err, f.Chmod(mode), f.Close())
}

// Disk makes a second folder for the run, for what may be large: 0700, on the
// disk of INNER_HOME, and gone with the run.
func (r *Run) Disk() (dir string, err error) {
	if r.disk == nil {
		if r.disk, err = owned.New(Copies(r.home), r.ID); err != nil {
			return "", err
		}
	}
	return r.disk.Path, nil
}

// Keep moves the folder of Disk to where it outlives the run, and returns its new path. It is held, see
// owned.Alive, as long as the run lives.
func (r *Run) Keep() (string, error) {
	if err := r.disk.Move(Kept(r.home)); err != nil {
		return "", err
	}
	r.kept, r.disk = r.disk, nil
	return r.kept.Path, nil
}

// Discard removes a folder of INNER_HOME that nobody uses. What a crash leaves of it is removed by the
// next sweep, with the copies.
func Discard(innerHome, dir string) error {
	free, err := owned.Discard(dir, Copies(innerHome))
	if err != nil {
		return err
	}
	return free()
}

// groupFile says, in the folder of a run, where its control group is.
const groupFile = "group"

// Group makes the control group of the run at dir by calling make. Close removes it, or
// the next sweep after a crash.
func (r *Run) Group(dir string, make func() error) error {
	if _, err := r.File(groupFile, []byte(dir), 0o600); err != nil {
		return err
	}
	err := make()
	if err != nil {
		err = errors.Join(err, dropGroup(r.Path))
	}
	return err
}

// dropGroup removes the control group that the run of a staging folder made, if it made one.
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

// Sweep removes what crashed runs left below base and INNER_HOME, and calls look for each that had
// something to watch. A live run holds its folders and is left alone. A base that is not the user's
// private folder is an error, and not touched. Groups, copies and placeholders that cannot be removed
// are in nobody's way: the next sweep tries again. stuck has the errors of the placeholders, each with
// its path.
func Sweep(base, innerHome string, look func(Watched)) (stuck []error, err error) {
	_ = owned.Sweep(Copies(innerHome), nil)
	err = owned.Sweep(base, func(dir string) bool { return dropGroup(dir) == nil })
	// Who begins waits until what killed runs left was looked at.
	if unlock, errLock := files.LockFolder(records(innerHome)); errLock == nil {
		defer unlock()
	}
	errFormer := takeOver(innerHome)
	dirs := parents{}
	defer dirs.close()
	stuck, errPlaces := takeBack(innerHome, func(run string) bool { return !Lives(innerHome, run) }, dirs)
	errRecords := owned.Sweep(records(innerHome), func(dir string) bool {
		w, former, errOf := readRecord(dir)
		again := false // by the next sweep
		for _, p := range former {
			if errPlace := dirs.remove(p); errPlace != nil {
				stuck, again = append(stuck, errPlace), true
			}
		}
		if errOf == nil && len(w.Roots) > 0 {
			look(w)
		}
		err = errors.Join(err, errOf)
		return errOf == nil && !again
	})
	return stuck, errors.Join(err, errFormer, errPlaces, errRecords)
}
