package git

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// walk calls found for everything below a folder, folders before their content. A link counts as a file. What found
// returns fs.SkipDir for is left out. More than most entries are an error.
func (d *folder) walk(rel string, most int, found func(name string, dir bool) error) error {
	list, err := d.list(rel, most)
	if err != nil {
		return err
	}
	most -= len(list)
	var look func(rel string, list []fs.DirEntry) error
	look = func(rel string, list []fs.DirEntry) error {
		for _, e := range list {
			name := path.Join(rel, e.Name())
			err := found(name, e.IsDir())
			if errors.Is(err, fs.SkipDir) || err == nil && !e.IsDir() {
				continue
			}
			if err != nil {
				return err
			}
			below, err := d.list(name, most)
			if errors.Is(err, fs.ErrNotExist) {
				continue // it has just gone
			}
			if err != nil {
				return err
			}
			most -= len(below)
			if err := look(name, below); err != nil {
				return err
			}
		}
		return nil
	}
	return look(rel, list)
}

// copyTree makes a folder in another git directory, and calls copied for the files in it. Locks are left out.
func (d *folder) copyTree(rel string, to *folder, most int, copied func(name string) error) error {
	if err := to.mkdir(rel); err != nil {
		return err
	}
	return d.walk(rel, most, func(name string, dir bool) error {
		switch {
		case strings.HasSuffix(name, ".lock"):
			return fs.SkipDir
		case dir:
			return to.mkdir(name)
		}
		return copied(name)
	})
}

// modules calls found for each repository of a submodule, which lie in the repository's own. A name can have slashes.
func (d *folder) modules(found func(rel string) error) error {
	err := d.walk("modules", maxFiles, func(name string, dir bool) error {
		switch {
		case !dir:
			return nil
		case d.has(name + "/HEAD"):
			return cmp.Or(found(name), fs.SkipDir)
		case strings.Count(name, "/") > 6:
			return fs.SkipDir
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeTree removes a folder of files and folders.
func (d *folder) removeTree(rel string) error {
	list, err := d.list(rel, maxFiles)
	if err != nil {
		return err
	}
	for _, e := range list {
		remove := d.remove
		if e.IsDir() {
			remove = d.removeTree
		}
		if err := remove(rel + "/" + e.Name()); err != nil {
			return err
		}
	}
	return d.rmdir(rel)
}

// stats calls found with the status of everything below a folder, in the order of the names, until that returns an error.
// It also calls it with the error of what cannot be read, such as a folder of more than most entries.
func (d *folder) stats(rel string, most int, found func(name string, st unix.Stat_t, err error) error) error {
	list, err := d.list(".", most)
	if err != nil {
		return found(rel, unix.Stat_t{}, err)
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	for _, e := range list {
		name := path.Join(rel, e.Name())
		var st unix.Stat_t
		err := unix.Fstatat(d.fd, e.Name(), &st, unix.AT_SYMLINK_NOFOLLOW)
		if ferr := found(name, st, err); ferr != nil {
			return ferr
		}
		if err != nil || !e.IsDir() {
			continue
		}
		sub, err := d.sub(e.Name())
		if err == nil {
			err = sub.stats(name, most, found)
			sub.close()
		} else {
			err = found(name, unix.Stat_t{}, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
