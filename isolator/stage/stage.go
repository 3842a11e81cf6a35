// Package stage makes everything that a run needs on disk, and takes it away
// again. Each run has one folder, 0700, locked by its owner for as long as it
// lives; what a crashed run left is swept by the next one, which finds the
// lock free.
//
// The folder is below $XDG_RUNTIME_DIR/inner when that is the user's own
// private folder, else below /tmp/inner-UID. What may be large, the copies of
// safe-rw mounts, is in a second folder of the run, on the disk of INNER_HOME
// (see Disk). Placeholders in folders of the host are in a journal (see
// MakePlaceholders), and so are the folders and the lock of workspaces.
package stage

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/copytree"
)

// Run is the staged part of one run.
type Run struct {
	ID      string // YYYYMMDD-HHMMSS-xxxxxx, local time
	Path    string // its folder
	journal string // see MakePlaceholders
	lock    *os.File
	notes   []entry                  // see Watch
	stood   func() map[string]string // see Watch
	dirs    parents

	group      bool   // see Group
	disk       string // see Disk, "" when there is none
	diskLock   *os.File
	workspaces *os.File // the lock of Workspaces
}

// Base returns the folder that holds all staged runs of the user. runtimeDir
// is $XDG_RUNTIME_DIR, or "". Nothing is created yet.
func Base(runtimeDir string) string {
	if runtimeDir != "" && filepath.IsAbs(runtimeDir) && private(runtimeDir) == nil {
		return filepath.Join(runtimeDir, "inner")
	}
	return fmt.Sprintf("/tmp/inner-%d", os.Getuid())
}

// ensure creates base and makes sure that it is private.
func ensure(base string) error {
	if err := files.MkdirOwn(base); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("staging folder: %w", err)
	}
	if err := private(base); err != nil {
		return fmt.Errorf("staging folder %q: %w", base, err)
	}
	return nil
}

// private refuses a folder that somebody else owns or can enter.
func private(dir string) error {
	fi, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	switch {
	case !fi.IsDir():
		return errors.New("not a folder")
	case !ok || int(st.Uid) != os.Getuid():
		return errors.New("owned by somebody else")
	case fi.Mode().Perm()&0o077 != 0:
		return errors.New("open to others")
	}
	return nil
}

// New makes the folder of a run and locks it. journal is the user's one file of
// what runs make on the host.
func New(base, journal string) (*Run, error) {
	if err := ensure(base); err != nil {
		return nil, err
	}
	// Sweepers wait here, so they never see a folder whose lock is not held yet.
	gate, err := lockFile(filepath.Join(base, ".gate"), syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer gate.Close()
	var b [3]byte
	if _, err := rand.Read(b[:]); err != nil {
		return nil, err
	}
	id := time.Now().Format("20060102-150405-") + hex.EncodeToString(b[:])
	dir, lock, err := folder(base, id)
	if err != nil {
		return nil, err
	}
	return &Run{ID: id, Path: dir, journal: journal, lock: lock}, nil
}

// folder makes and locks a folder of base, whose gate is held.
func folder(base, name string) (string, *os.File, error) {
	dir := filepath.Join(base, name)
	if err := files.MkdirOwn(dir); err != nil {
		return "", nil, fmt.Errorf("staging folder: %w", err)
	}
	lock, err := lockFile(filepath.Join(dir, "lock"), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, lock, nil
}

// Close removes what was staged, and the placeholders when no other run
// needs it. It is safe on nil and to call twice.
func (r *Run) Close() error {
	if r == nil || r.lock == nil {
		return nil
	}
	stuck, err := removePlaceholders(r.journal, r.Path, r.dirs)
	errs := append(stuck, err)
	r.dirs.close()
	r.dirs = nil
	if err := r.dropGroup(); err != nil {
		errs = append(errs, err) // the folder stays: the next sweep tries again
	} else {
		errs = append(errs, copytree.Remove(r.Path))
	}
	if r.disk != "" {
		errs = append(errs, copytree.Remove(r.disk))
	}
	for _, lock := range []*os.File{r.lock, r.diskLock, r.workspaces} {
		if lock != nil {
			lock.Close()
		}
	}
	r.lock = nil
	return errors.Join(errs...)
}

// Dir makes a folder of the run.
func (r *Run) Dir(name string) (string, error) {
	p := filepath.Join(r.Path, name)
	return p, os.MkdirAll(p, 0o700)
}

// File writes a file of the run.
func (r *Run) File(name string, data []byte, mode fs.FileMode) (string, error) {
	p := filepath.Join(r.Path, name)
	f, err := os.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, mode)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	// The mode is a promise, whatever the umask.
	return p, errors.Join(err, f.Chmod(mode), f.Close())
}

// Sweep removes what crashed runs left below base, on the disk and in the
// journal. A live run holds its lock and is left alone. A base that is not the
// user's private folder is an error, and not touched. Copies and placeholders that
// cannot be removed are in nobody's way: the next sweep tries again. stuck has the
// errors of the placeholders, each with its path.
func Sweep(base, journal string) (stuck []error, err error) {
	err = sweep(base)
	_ = sweep(Copies(filepath.Dir(journal)))
	stuck, jerr := removePlaceholders(journal, "", nil)
	return stuck, errors.Join(err, jerr)
}

// sweep removes the folders of base that nobody holds the lock of.
func sweep(base string) error {
	if err := private(base); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("staging folder %q: %w", base, err)
	}
	entries, err := os.ReadDir(base)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(entries, fs.DirEntry.IsDir) {
		return nil
	}
	gate, err := lockFile(filepath.Join(base, ".gate"), syscall.LOCK_EX)
	if err != nil {
		return err
	}
	var dead []string
	for _, e := range entries {
		if dir := filepath.Join(base, e.Name()); e.IsDir() && !alive(dir) {
			dead = append(dead, dir)
		}
	}
	// Nobody comes back to a dead folder: new runs need not wait for this.
	gate.Close()
	var errs []error
	for _, dir := range dead {
		if dropGroup(dir) != nil {
			continue // it is in nobody's way: the next sweep tries again
		}
		errs = append(errs, copytree.Remove(dir))
	}
	return errors.Join(errs...)
}

// Uninstall removes base itself when no run has a folder in it. What is not there is removed.
func Uninstall(base string) error {
	if err := private(base); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("staging folder %q: %w", base, err)
	}
	gate, err := lockFile(filepath.Join(base, ".gate"), syscall.LOCK_EX)
	if err != nil {
		return err
	}
	defer gate.Close()
	entries, err := os.ReadDir(base)
	if err != nil || len(entries) > 1 { // a run began meanwhile
		return err
	}
	return copytree.Remove(base)
}

func lockFile(path string, how int) (*os.File, error) {
	// Not by os.OpenFile, which asks the poller about it and is told no: five calls.
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("staging lock: %w", &fs.PathError{Op: "open", Path: path, Err: err})
	}
	f := os.NewFile(uintptr(fd), path)
	err = files.Flock(f, how)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("staging lock: %w", err), f.Close())
	}
	return f, nil
}
