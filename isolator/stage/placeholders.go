package stage

import (
	"bytes"
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

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/copytree"
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
	if r.dry() {
		r.Places = append(r.Places, places...)
		return nil
	}
	if len(places) == 0 {
		return nil
	}
	known, gate, err := others(r.home, r.record.Path)
	if err != nil {
		return err
	}
	defer gate.Close()
	var missing, list []host.Placeholder
	for _, p := range places {
		there, err := r.dirs.exists(p.Path)
		if err != nil {
			return err
		}
		if !there {
			missing = append(missing, p)
		}
		if _, made := known[p.Path]; !there || made { // what another run made is kept for this run, too
			list = append(list, p)
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

// note writes placeholders down, each once.
func (r *Run) note(list ...host.Placeholder) error {
	for _, p := range list {
		if !slices.ContainsFunc(r.noted.places, func(q host.Placeholder) bool { return q.Path == p.Path }) {
			r.noted.places = append(r.noted.places, p)
		}
	}
	return r.noted.write(r.record.Path)
}

// KeepPlaceholders keeps every one below roots that another run has made until this run
// ends, too. Call it before the host is looked at: what is there then stays there, and
// a mount over it stays a mount (the kernel takes a mount off a folder that is
// removed, in every namespace).
func (r *Run) KeepPlaceholders(roots ...string) error {
	known, gate, err := others(r.home, r.record.Path)
	if err != nil {
		return err
	}
	defer gate.Close()
	var list []host.Placeholder
	for path, p := range known {
		if slices.ContainsFunc(roots, func(root string) bool { return paths.Inside(root, path) }) {
			if there, err := r.dirs.exists(path); err == nil && there {
				list = append(list, p.Placeholder)
			}
		}
	}
	return r.note(list...)
}

// other is a placeholder in the record of another run.
type other struct {
	host.Placeholder
	lives bool // one of the runs that have it
}

// others are the placeholders in the records of other runs than that of a folder. They stay as they are
// until the gate is closed.
func others(innerHome, dir string) (known map[string]other, gate *os.File, err error) {
	if gate, err = owned.Gate(records(innerHome)); err != nil {
		return nil, nil, err
	}
	known = map[string]other{}
	dirs, err := os.ReadDir(records(innerHome))
	for _, d := range dirs {
		at := filepath.Join(records(innerHome), d.Name())
		if !d.IsDir() || at == dir {
			continue
		}
		rec, errRead := readRecord(at, true)
		err = errors.Join(err, errRead)
		lives := len(rec.places) > 0 && owned.Alive(at)
		for _, p := range rec.places {
			known[p.Path] = other{p, lives || known[p.Path].lives}
		}
	}
	if err != nil {
		gate.Close()
	}
	return known, gate, err
}

// takeBack removes every placeholder of a list, that of the record in dir, that no other run that lives
// needs. What is not as it was made, or not empty, stays: it is somebody's. One that cannot be removed is
// left for the next sweep, and its error is in stuck. dirs has the open folders of placeholders.
func takeBack(innerHome, dir string, list []host.Placeholder, dirs parents) (left []host.Placeholder, stuck []error, err error) {
	known, gate, err := others(innerHome, dir)
	if err != nil {
		return list, nil, err
	}
	defer gate.Close()
	remain := slices.Collect(maps.Keys(known))
	// What was made in a placeholder is removed before it.
	slices.SortFunc(list, func(a, b host.Placeholder) int { return strings.Compare(b.Path, a.Path) })
	for _, p := range list {
		inIt := slices.ContainsFunc(remain, func(other string) bool { return paths.Inside(p.Path, other) })
		if known[p.Path].lives {
			continue
		} else if !inIt {
			if err = dirs.remove(p); err == nil {
				continue
			}
			stuck = append(stuck, err)
		}
		left, remain = append(left, p), append(remain, p.Path)
	}
	return left, stuck, nil
}

// parents are the open folders that placeholders are in. A run keeps them open to its end: where
// somebody renames the project meanwhile, what was made in it is still found.
type parents map[string]int

func (d parents) of(path string) (int, error) {
	dir := filepath.Dir(path)
	if fd, ok := d[dir]; ok {
		return fd, nil
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
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
	if p.Content == nil {
		err = unix.Mkdirat(parent, filepath.Base(p.Path), 0o755)
	} else {
		err = copytree.New(parent, filepath.Base(p.Path), p.Content, 0o644)
	}
	if err == nil || among(err, unix.EEXIST, unix.EACCES, unix.EROFS, unix.EPERM) {
		return nil
	}
	return fmt.Errorf("%q: %w", p.Path, err)
}

// remove removes one, unless nothing is in its place or it is somebody's by now. The error is one that
// may be over at the next try.
func (d parents) remove(p host.Placeholder) error {
	parent, err := d.of(p.Path)
	name := filepath.Base(p.Path)
	switch {
	case err != nil:
	case p.Content == nil:
		err = unix.Unlinkat(parent, name, unix.AT_REMOVEDIR)
	default:
		if err = holds(parent, name, p.Content); err == nil {
			err = unix.Unlinkat(parent, name, 0)
		}
	}
	nothing := among(err, unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.ENXIO)
	if err == nil || nothing || among(err, unix.ENOTEMPTY, unix.EEXIST, fs.ErrInvalid, files.ErrNotRegular) {
		return nil
	}
	return &fs.PathError{Op: "remove", Path: p.Path, Err: err}
}

func among(err error, list ...error) bool {
	return slices.ContainsFunc(list, func(e error) bool { return errors.Is(err, e) })
}

// holds returns nil when a file that is no link, pipe or device has a content, or the beginning of it,
// which is what a killed run wrote.
func holds(parent int, name string, content []byte) error {
	f, _, err := copytree.Regular(parent, name)
	if err != nil {
		return err
	}
	defer f.Close()
	got, err := io.ReadAll(io.LimitReader(f, int64(len(content))+1))
	if err == nil && !bytes.HasPrefix(content, got) {
		err = fs.ErrInvalid
	}
	return err
}
