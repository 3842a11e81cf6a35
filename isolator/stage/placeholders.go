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
// needs it removes it; after a crash the next sweep does. Those of all runs are in one
// file, written before they are made: where there is none, as most of the time, a start asks
// nothing more, however many boxes live.
func placed(innerHome string) string { return filepath.Join(records(innerHome), "placed") }

// placedForm is a line of it: a path, what is there, and the runs that need it.
const placedForm = "%q %q %s\n"

// places are the placeholders of all runs, by path. They stay as they are until the gate is closed.
type places struct {
	list map[string]place
	home string
	gate *os.File
}

type place struct {
	host.Placeholder
	runs []string // their ids
}

func openPlaces(innerHome string) (p places, err error) {
	p = places{list: map[string]place{}, home: innerHome}
	if p.gate, err = owned.Gate(records(innerHome)); err != nil {
		return p, err
	}
	data, err := os.ReadFile(placed(innerHome))
	for line := range strings.Lines(string(data)) {
		var path, what, runs string
		if _, err := fmt.Sscanf(line, placedForm, &path, &what, &runs); err == nil {
			of := place{host.Placeholder{Path: path}, strings.Split(runs, ",")}
			if text, file := strings.CutPrefix(what, "file:"); file {
				of.Content = []byte(text)
			}
			p.list[path] = of
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.gate.Close()
		return p, err
	}
	return p, nil
}

func (p places) write() error {
	var b strings.Builder
	for path, of := range p.list {
		what := "dir"
		if of.Content != nil {
			what = "file:" + string(of.Content)
		}
		fmt.Fprintf(&b, placedForm, path, what, strings.Join(of.runs, ","))
	}
	if b.Len() > 0 {
		return files.Replace(placed(p.home), []byte(b.String()), 0o600)
	}
	return os.RemoveAll(placed(p.home))
}

// need notes that a run needs a placeholder.
func (p places) need(of place, run string) {
	if !slices.Contains(of.runs, run) {
		of.runs = append(of.runs, run)
	}
	p.list[of.Path] = of
}

// MakePlaceholders creates each one that does not exist: a file with content, or an
// empty folder when content is nil. Its parent must be a real folder: no link
// is followed. A folder that cannot be written needs no protection and is left
// alone.
func (r *Run) MakePlaceholders(list ...host.Placeholder) error {
	if r.dry() {
		r.Places = append(r.Places, list...)
		return nil
	}
	if len(list) == 0 {
		return nil
	}
	all, err := openPlaces(r.home)
	if err != nil {
		return err
	}
	defer all.gate.Close()
	var missing []host.Placeholder
	for _, p := range list {
		there, err := r.dirs.exists(p.Path)
		if err != nil {
			return err
		}
		of, made := all.list[p.Path]
		if !there {
			of.Placeholder, missing = p, append(missing, p)
		}
		if !there || made { // what another run made is kept for this run, too
			all.need(of, r.ID)
		}
	}
	if err := all.write(); err != nil {
		return err
	}
	for _, p := range missing {
		if err := r.dirs.make(p); err != nil {
			return err
		}
	}
	return nil
}

// KeepPlaceholders keeps every one below roots that another run has made until this run
// ends, too. Call it before the host is looked at: what is there then stays there, and
// a mount over it stays a mount (the kernel takes a mount off a folder that is
// removed, in every namespace).
func (r *Run) KeepPlaceholders(roots ...string) error {
	if !files.Exists(placed(r.home)) {
		return nil
	}
	all, err := openPlaces(r.home)
	if err != nil {
		return err
	}
	defer all.gate.Close()
	for path, of := range all.list {
		if slices.ContainsFunc(roots, func(root string) bool { return paths.Inside(root, path) }) {
			if there, err := r.dirs.exists(path); err == nil && there {
				all.need(of, r.ID)
			}
		}
	}
	return all.write()
}

// takeBack removes every placeholder that only runs need that are over. What is not as it was made, or not empty,
// stays: it is somebody's. One that cannot be removed is left for the next sweep, and its error is in stuck. dirs has
// the open folders of placeholders.
func takeBack(innerHome string, over func(run string) bool, dirs parents) (stuck []error, err error) {
	if !files.Exists(placed(innerHome)) {
		return nil, nil
	}
	all, err := openPlaces(innerHome)
	if err != nil {
		return nil, err
	}
	defer all.gate.Close()
	var remain []string
	// What was made in a placeholder is removed before it.
	for _, path := range slices.Backward(slices.Sorted(maps.Keys(all.list))) {
		of := all.list[path]
		inIt := slices.ContainsFunc(remain, func(other string) bool { return paths.Inside(path, other) })
		if lives := slices.DeleteFunc(slices.Clone(of.runs), over); len(lives) > 0 {
			all.list[path] = place{of.Placeholder, lives}
		} else if !inIt {
			err := dirs.remove(of.Placeholder)
			if err == nil {
				delete(all.list, path)
				continue
			}
			stuck = append(stuck, err)
		}
		remain = append(remain, path)
	}
	return stuck, all.write()
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
