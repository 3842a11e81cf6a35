package stage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/owned"
)

// A file that the box must not create can only be mounted over, and a mount needs
// something to be mounted on: a placeholder in a folder of the host. The last run that
// needs it removes it; after a crash the next sweep does.

// MakePlaceholders creates each one that does not exist: a file with content, or an
// empty folder when content is nil. Its parent must be a real folder: no link
// is followed. A folder that cannot be written needs no protection and is left
// alone.
func (r *Run) MakePlaceholders(places ...host.Placeholder) error {
	if len(places) == 0 {
		return nil
	}
	gate, err := owned.Gate(records(r.home))
	if err != nil {
		return err
	}
	defer gate.Close()
	known, err := others(r.home, r.record.Path)
	if err != nil {
		return err
	}
	for _, e := range r.entries {
		known[e.Path] = other{entry: e}
	}
	var missing []host.Placeholder
	var list []entry
	for _, p := range places {
		there, err := r.dirs.exists(p.Path)
		if err != nil {
			return err
		}
		if !there {
			missing = append(missing, p)
		}
		if _, made := known[p.Path]; !there || made { // what another run made is kept for this run, too
			list = append(list, entryOf(p))
		}
	}
	if err := r.note(list...); err != nil {
		return err
	}
	for _, p := range missing {
		if err := r.dirs.make(p); err != nil {
			return err
		}
	}
	return nil
}

func entryOf(p host.Placeholder) entry {
	e := entry{Path: p.Path}
	if p.Content != nil {
		content := string(p.Content)
		e.Content = &content
	}
	return e
}

// KeepPlaceholders keeps every one below roots that another run has made until this run
// ends, too. Call it before the host is looked at: what is there then stays there, and
// a mount over it stays a mount (the kernel takes a mount off a folder that is
// removed, in every namespace).
func (r *Run) KeepPlaceholders(roots ...string) error {
	gate, err := owned.Gate(records(r.home))
	if err != nil {
		return err
	}
	defer gate.Close()
	known, err := others(r.home, r.record.Path)
	if err != nil {
		return err
	}
	var list []entry
	for path, e := range known {
		if slices.ContainsFunc(roots, func(root string) bool { return paths.Inside(root, path) }) {
			if there, err := r.dirs.exists(path); err == nil && there {
				list = append(list, e.entry)
			}
		}
	}
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.Path, b.Path) }) // a folder before what is in it
	return r.note(list...)
}

// others are the placeholders in the records of other runs than that of a folder.
func others(innerHome, dir string) (map[string]other, error) {
	dirs, err := os.ReadDir(records(innerHome))
	known := map[string]other{}
	for _, d := range dirs {
		at := filepath.Join(records(innerHome), d.Name())
		if !d.IsDir() || at == dir {
			continue
		}
		list, errRead := readRecord(at)
		err = errors.Join(err, errRead)
		lives := len(list) > 0 && owned.Alive(at)
		for _, e := range list {
			if !e.note() {
				known[e.Path] = other{e, lives || known[e.Path].lives}
			}
		}
	}
	return known, err
}

type other struct {
	entry
	lives bool // the run
}

// takeBack removes every placeholder of a record that no other run that lives needs, and has the
// record hold what is left. What is not as it was made, or not empty, stays: it is somebody's. One
// that cannot be removed stays in the record for the next sweep, and its error is in stuck. dirs are
// the open folders of placeholders, as far as the run has them.
func takeBack(innerHome, dir string, list []entry, dirs parents) (stuck []error, err error) {
	gate, err := owned.Gate(records(innerHome))
	if err != nil {
		return nil, err
	}
	defer gate.Close()
	known, err := others(innerHome, dir)
	if err != nil {
		return nil, err
	}
	var left []entry
	var failed []string
	inOther := slices.Collect(maps.Keys(known))
	// What was made in a placeholder is removed before it.
	for _, e := range slices.Backward(list) {
		inIt := func(p string) bool { return paths.Inside(e.Path, p) }
		switch {
		case known[e.Path].lives, slices.Contains(failed, e.Path):
		case e.note(), slices.ContainsFunc(failed, inIt), slices.ContainsFunc(inOther, inIt):
			left = append(left, e)
		default:
			if err := dirs.remove(e); err != nil {
				left, failed, stuck = append(left, e), append(failed, e.Path), append(stuck, err)
			}
		}
	}
	slices.Reverse(left)
	return stuck, rewriteRecord(dir, left)
}

// parents are the open folders that placeholders are in. A run keeps them open to its end: where
// somebody renames the project meanwhile, what was made in it is still found.
type parents map[string]int

func (d parents) of(path string) (int, error) {
	dir := filepath.Dir(path)
	if fd, ok := d[dir]; ok {
		return fd, nil
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("%q: %w", dir, err)
	}
	d[dir] = fd
	return fd, nil
}

func (d parents) close() {
	for _, fd := range d {
		unix.Close(fd)
	}
}

func (d parents) exists(path string) (bool, error) {
	parent, err := d.of(path)
	if errors.Is(err, unix.ENOENT) {
		return false, nil // its folder is to be made, too
	}
	if err != nil {
		return false, err
	}
	var st unix.Stat_t
	return unix.Fstatat(parent, filepath.Base(path), &st, unix.AT_SYMLINK_NOFOLLOW) == nil, nil
}

func (d parents) make(p host.Placeholder) error {
	parent, err := d.of(p.Path)
	if err != nil {
		return err
	}
	err = create(parent, filepath.Base(p.Path), p.Content)
	if err == nil || among(err, unix.EEXIST, unix.EACCES, unix.EROFS, unix.EPERM) {
		return nil
	}
	return fmt.Errorf("%q: %w", p.Path, err)
}

func create(parent int, name string, content []byte) error {
	if content == nil {
		return unix.Mkdirat(parent, name, 0o755)
	}
	fd, err := unix.Openat(parent, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	_, err = unix.Write(fd, content)
	return errors.Join(err, unix.Close(fd))
}

// remove removes one, unless nothing is in its place or it is somebody's by now. The error is one that
// may be over at the next try.
func (d parents) remove(e entry) error {
	parent, name := unix.AT_FDCWD, e.Path
	if fd, ok := d[filepath.Dir(e.Path)]; ok {
		parent, name = fd, filepath.Base(e.Path)
	}
	var err error
	if e.Content == nil {
		err = unix.Unlinkat(parent, name, unix.AT_REMOVEDIR)
	} else if err = holds(parent, name, *e.Content); err == nil {
		err = unix.Unlinkat(parent, name, 0)
	}
	nothing := among(err, unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.ENXIO)
	if err == nil || nothing || among(err, unix.ENOTEMPTY, unix.EEXIST, fs.ErrInvalid) {
		return nil
	}
	return &fs.PathError{Op: "remove", Path: e.Path, Err: err}
}

func among(err error, list ...error) bool {
	return slices.ContainsFunc(list, func(e error) bool { return errors.Is(err, e) })
}

// holds returns nil when a file that is no link, pipe or device has a content, or the beginning of it,
// which is what a killed run wrote.
func holds(parent int, name, content string) error {
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > int64(len(content)) {
		return fs.ErrInvalid
	}
	got, err := io.ReadAll(f)
	if err == nil && !strings.HasPrefix(content, string(got)) {
		err = fs.ErrInvalid
	}
	return err
}
