package repos

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/copytree"
)

// How something is moved aside, or written, in the folders of a search and nowhere else.

func (w *sweep) inside(p string) bool {
	return slices.ContainsFunc(w.roots, func(r root) bool { return paths.Below(r.path, p) })
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

// away renames something of a repository, and notes what it was.
func (w *sweep) away(p string, h *Held, what ...string) bool {
	to, ok := w.rename(p)
	if !ok {
		return false
	}
	h.What, h.Kept = append(h.What, what...), append(h.Kept, to)
	if len(h.Kept) == 1 {
		w.Held = append(w.Held, *h)
	}
	for i := range w.Held {
		if w.Held[i].Place == h.Place {
			w.Held[i] = *h
		}
	}
	return true
}

// rename gives something a name that no tool obeys.
func (w *sweep) rename(p string) (to string, ok bool) {
	if !w.inside(p) {
		return "", false
	}
	end, err := w.renamed(p)
	if errors.Is(err, fs.ErrPermission) && w.open(filepath.Dir(p), 0o700) == nil {
		end, err = w.renamed(p)
	}
	if err != nil {
		w.errs = append(w.errs, &fs.PathError{Op: "rename", Path: p, Err: err})
	}
	return p + end, err == nil
}

func (w *sweep) renamed(p string) (end string, err error) {
	f, err := w.find(p)
	if err != nil {
		return "", err
	}
	defer f.close()
	end = Suffix
	for n := 2; exists(f.at + end); n++ {
		end = Suffix + "." + strconv.Itoa(n)
	}
	return end, unix.Rename(f.at, f.at+end)
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
	if fi.Mode().Perm()&mode == mode {
		return nil
	}
	return os.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), fi.Mode().Perm()|mode)
}

func (w *sweep) write(p string, data []byte) bool {
	f, err := w.find(p)
	if err == nil {
		defer f.close()
		var fd int
		if fd, err = unix.Open(f.at, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644); err == nil {
			file := os.NewFile(uintptr(fd), p)
			_, err = file.Write(data)
			err = errors.Join(err, file.Close())
		}
	}
	if err != nil {
		w.errs = append(w.errs, &fs.PathError{Op: "write", Path: p, Err: err})
	}
	return err == nil
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
