package repos

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/copytree"
)

// How something is moved aside, or written, in the folders of a search and nowhere else.

// inside reports whether the box could write a place: it lies in a root, and in no folder of that root that was covered.
func (w *sweep) inside(p string) bool {
	return slices.ContainsFunc(w.roots, func(r root) bool {
		return paths.Below(r.path, p) && !slices.ContainsFunc(w.Covered, func(c string) bool { return paths.Below(r.path, c) && paths.Below(c, p) })
	})
}

// found is something below a root, by its open folder: no link is on the way to it, and none comes
// there any more. Other boxes may still be running in these folders, and exchange a folder for a link.
type found struct {
	at  string // the same place, by way of the folder
	dir *os.File
}

func (f found) close() { _ = f.dir.Close() }

// find finds something, or the place for it, below a root.
func (w *sweep) find(p string) (found, error) {
	for _, r := range w.roots {
		rest, ok := paths.Rest(r.path, p)
		if !ok || rest == "" {
			continue
		}
		fd, err := copytree.Open(int(r.fd.Fd()), filepath.Dir(rest), unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			return found{}, err
		}
		return found{fmt.Sprintf("/proc/self/fd/%d/%s", fd, filepath.Base(rest)), os.NewFile(uintptr(fd), p)}, nil
	}
	return found{}, fs.ErrPermission
}

// enter opens a root. One that is gone, or a file, has nothing in it.
func (w *sweep) enter(p string) error {
	real, err := filepath.EvalSymlinks(p)
	if err != nil {
		return unlessGone(err)
	}
	fd, err := unix.Open(real, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return unlessGone(&fs.PathError{Op: "open", Path: real, Err: err})
	}
	place := os.NewFile(uintptr(fd), real)
	defer place.Close()
	fi, err := place.Stat()
	if err != nil {
		return err
	}
	w.timed[deviceOf(fi)] = !slices.Contains(w.Timeless, p)
	if fi.Mode().Perm()&0o500 != 0o500 && w.recent(real, fi) {
		if err := allow(place, fi, 0o700); err != nil {
			return err
		}
	}
	dir, err := os.OpenRoot(real)
	if err != nil {
		return err
	}
	open, err := dir.Open(".")
	if err != nil {
		dir.Close()
		return err
	}
	w.roots = append(w.roots, root{real, dir, open})
	return nil
}

// unlessGone returns an error unless it says that a folder is not there, or is none.
func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	return err
}

// leave closes the roots.
func (w *sweep) leave() {
	for _, r := range w.roots {
		_, _ = r.fd.Close(), r.dir.Close()
	}
}

// A program in the box can close a folder (chmod 0) with what it made there, and a person opens it again. So a folder that
// was closed since the run began is opened to be looked into.

// lstat is os.Lstat for something that may lie in closed folders.
func (w *sweep) lstat(p string) (fs.FileInfo, error) {
	fi, err := os.Lstat(p)
	if errors.Is(err, fs.ErrPermission) && w.reopen(filepath.Dir(p)) {
		return os.Lstat(p)
	}
	return fi, err
}

func (w *sweep) has(p string) bool {
	_, err := w.lstat(p)
	return err == nil
}

// deepest is the longest path of a folder that is searched, in bytes. The kernel takes no path of PATH_MAX, but
// programs go into any folder by its name alone, and what is looked at in one has a longer path.
const deepest = unix.PathMax - 512

// readDir is os.ReadDir for a folder that may be closed. One that is there and cannot be read is noted.
func (w *sweep) readDir(dir string) ([]fs.DirEntry, error) {
	if len(dir) > deepest {
		w.Unseen = append(w.Unseen, dir)
		return nil, unix.ENAMETOOLONG
	}
	if unix.Access(dir, unix.R_OK|unix.X_OK) != nil {
		w.reopen(dir)
	}
	entries, err := os.ReadDir(dir)
	if unlessGone(err) != nil && !w.closedBefore(dir, err) {
		w.Unseen = append(w.Unseen, dir)
	}
	return entries, err
}

// closedBefore reports whether the user may not read a folder, and could not before the run.
func (w *sweep) closedBefore(dir string, err error) bool {
	fi, gone := os.Lstat(dir)
	return errors.Is(err, fs.ErrPermission) && gone == nil && !w.recent(dir, fi)
}

// reopen opens a folder that was closed since the run began, and reports whether it is open.
func (w *sweep) reopen(dir string) bool {
	fi, err := w.lstat(dir)
	return err == nil && fi.IsDir() && w.recent(dir, fi) && w.open(dir, 0o700) == nil
}

// away renames something of a repository, and notes what it was.
func (w *sweep) away(p string, h *Held, what ...string) bool {
	to, ok := w.rename(p)
	if !ok {
		return false
	}
	h.What, h.Aside = append(h.What, what...), append(h.Aside, Moved{p, to, "git"})
	if len(h.Aside) == 1 {
		w.Held = append(w.Held, *h)
	}
	w.note(h)
	return true
}

// note has what was found say what is known of a place now.
func (w *sweep) note(h *Held) {
	for i := range w.Held {
		if w.Held[i].Place == h.Place {
			w.Held[i] = *h
		}
	}
}

// replace renames something as away does, and puts a file with other data in its place. That is
// written and on the disk before anything is renamed. When it cannot be, as on a full disk, what is
// there is renamed all the same, because git would obey it, and nothing takes its place.
func (w *sweep) replace(p string, data []byte, h *Held, what ...string) bool {
	_ = w.open(filepath.Dir(p), 0o700) // without it, what follows says why
	f, err := w.find(p)
	if err != nil {
		w.errs = append(w.errs, &fs.PathError{Op: "replace", Path: p, Err: err})
		return false
	}
	defer f.close()
	file, temp, err := written(f.at, data)
	ok := w.away(p, h, what...)
	switch {
	case err != nil:
	case ok:
		err = files.Commit(file, temp, f.at)
	default:
		_, _ = file.Close(), os.Remove(temp)
	}
	if ok && err != nil {
		h.Unwritten = err
		if cause := new(fs.PathError); errors.As(err, &cause) {
			h.Unwritten = cause.Err // its path is one of this process
		}
		w.note(h)
	}
	return ok
}

// written returns a file beside p that holds data, for files.Commit.
func written(p string, data []byte) (f *os.File, temp string, err error) {
	if f, temp, err = files.Temp(p, 0o644); err != nil {
		return nil, "", err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync()); err != nil {
		_, _ = f.Close(), os.Remove(temp)
	}
	return f, temp, err
}

// rename gives something a name that no tool obeys.
func (w *sweep) rename(p string) (to string, ok bool) {
	if !w.inside(p) {
		return "", false
	}
	name, err := w.renamed(p)
	if errors.Is(err, fs.ErrPermission) && w.open(filepath.Dir(p), 0o700) == nil {
		name, err = w.renamed(p)
	}
	if err != nil {
		w.errs = append(w.errs, &fs.PathError{Op: "rename", Path: p, Err: err})
	}
	if to = filepath.Join(filepath.Dir(p), name); err == nil {
		w.Aside = append(w.Aside, Moved{Path: p, Kept: to})
	}
	return to, err == nil
}

// renamed gives something that name, and returns it.
func (w *sweep) renamed(p string) (name string, err error) {
	f, err := w.find(p)
	if err != nil {
		return "", err
	}
	defer f.close()
	longest, dir := longestName(f.dir), filepath.Dir(f.at)
	name = ended(filepath.Base(p), Suffix, longest)
	for n := 2; exists(paths.Join(dir, name)); n++ {
		name = ended(filepath.Base(p), Suffix+"."+strconv.Itoa(n), longest)
	}
	return name, unix.Rename(f.at, paths.Join(dir, name))
}

// longestName returns how many bytes a name in a folder has at most.
func longestName(dir *os.File) int {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &st); err != nil || st.Namelen <= 0 {
		return unix.NAME_MAX
	}
	return int(min(st.Namelen, unix.NAME_MAX)) // FAT says how long one of other letters may be
}

// ended returns a name with an end, without its last characters where it gets too long.
func ended(name, end string, longest int) string {
	for len(name)+len(end) > longest && name != "" {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return name + end
}

// open gives the user back what a program in the box took from it.
func (w *sweep) open(p string, mode fs.FileMode) error {
	if slices.ContainsFunc(w.roots, func(r root) bool { return r.path == p }) {
		return nil
	}
	if !w.inside(p) {
		return fs.ErrPermission
	}
	if err := w.open(filepath.Dir(p), 0o700); err != nil { // of the folders on the way
		return err
	}
	f, err := w.find(p)
	if err != nil {
		return err
	}
	defer f.close()
	fd, err := copytree.Open(int(f.dir.Fd()), filepath.Base(p), unix.O_PATH)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), p)
	defer file.Close()
	fi, err := file.Stat()
	if err != nil || fi.Mode()&fs.ModeSymlink != 0 {
		return errors.Join(err, fs.ErrPermission)
	}
	return allow(file, fi, mode)
}

// allow adds to the mode of a file or folder, which need not be open for more than its place.
func allow(f *os.File, fi fs.FileInfo, mode fs.FileMode) error {
	if fi.Mode().Perm()&mode == mode {
		return nil
	}
	return os.Chmod(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), fi.Mode().Perm()|mode)
}

// read reads a file that is written again if it has to be.
func (w *sweep) read(p string) ([]byte, error) {
	if !w.inside(p) {
		return readFile(p)
	}
	f, err := w.find(p)
	if err != nil {
		return nil, err
	}
	defer f.close()
	return readFile(f.at)
}

func exists(p string) bool {
	_, err := os.Lstat(p)
	return err == nil
}

// readFile reads a regular file of at most maxFile bytes, readLinked also one behind a link.
func readFile(p string) ([]byte, error) { return files.Read(p, files.NoLinks, maxFile) }

func readLinked(p string) ([]byte, error) { return files.Read(p, files.FollowLinks, maxFile) }
