package repos

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
)

// A box writes a folder, whatever its name is: the host, or a box that can write what it lies in,
// can rename it while the box runs. So the roots of a search are kept open, and searched where they
// are at the end.

// Roots are open folders, by the paths that a search has of them.
type Roots map[string]*os.File

// Open opens roots. Of one that is a file, or is not there, nothing is kept. The caller closes them.
func Open(list []string) Roots {
	r := Roots{}
	for _, p := range list {
		if dir, err := openRoot(p); err == nil {
			r[p] = dir
		}
	}
	return r
}

// Close closes the roots.
func (r Roots) Close() {
	for _, dir := range r {
		dir.Close()
	}
}

// openRoot opens a folder by its real path.
func openRoot(p string) (*os.File, error) {
	real, err := files.Eval(p)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Open(real, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: real, Err: err}
	}
	return os.NewFile(uintptr(fd), real), nil
}

// Follow returns the search with the names that the roots have now, in everything that it says of
// them, and without those that were removed. lost are roots that cannot be found.
func (r Roots) Follow(s Search) (_ Search, lost []string) {
	names := map[string]string{}
	s.Roots = slices.Clone(s.Roots)
	for p, dir := range r {
		now, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()))
		is, err := dir.Stat()
		if there, terr := os.Lstat(now); err == nil && terr == nil && os.SameFile(is, there) {
			names[p], names[dir.Name()] = now, now
			continue
		}
		s.Roots = slices.DeleteFunc(s.Roots, func(root string) bool { return root == p })
		var st unix.Stat_t
		if unix.Fstat(int(dir.Fd()), &st) != nil || st.Nlink > 0 { // else it is gone, with all that was in it
			lost = append(lost, p)
		}
	}
	for _, list := range []*[]string{&s.Roots, &s.Guarded, &s.Unlisted, &s.Obeyed, &s.Before, &s.Named, &s.Paths} {
		*list = slices.Clone(*list)
		for i, p := range *list {
			(*list)[i] = nowAt(names, p)
		}
	}
	for _, places := range []*map[string]string{&s.Stood, &s.Copies} {
		now := map[string]string{}
		for p, what := range *places {
			now[nowAt(names, p)] = what
		}
		*places = now
	}
	return s, lost
}

// nowAt returns where a path is now, by the nearest folder above it that has a name.
func nowAt(names map[string]string, p string) string {
	for at := p; at != "/" && at != "."; at = filepath.Dir(at) {
		if now, ok := names[at]; ok {
			return now + p[len(at):]
		}
	}
	return p
}

// Below returns what was found with the paths that it has when the folder from is at another place.
func (f Found) Below(from, at string) Found {
	for i := range f.Moved {
		for _, p := range []*string{&f.Moved[i].Path, &f.Moved[i].Kept, &f.Moved[i].Of} {
			*p = nowAt(map[string]string{from: at}, *p)
		}
	}
	return f
}

// A mount keeps what it lies on from being moved in its own mount namespace, and in no other
// one. Whoever moves it from another goes off with the mount, and leaves the name to the box
// (measured with Linux 6.18): the host, inner at the end of another run, or a box that makes
// containers, in a mount namespace of its own without the box's mounts. So what lies at such a
// place at the end counts as what was there before when it is the same.

// Stood returns what is at each of the paths: text that nothing else has that is made there later.
func Stood(list ...[]string) map[string]string {
	out := map[string]string{}
	for _, p := range slices.Concat(list...) {
		out[p] = files.Identity(unix.AT_FDCWD, p)
	}
	return out
}

// standing returns those of the paths at which the same is as before the run, as far as that is known.
func (s Search) standing(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(p string) bool {
		was, known := s.Stood[p]
		return known && was != files.Identity(unix.AT_FDCWD, p)
	})
}

// enter opens a root, also one that the box has closed. One that is gone, or a file, has nothing in it.
func (w *sweep) enter(p string) error {
	dir, err := openRoot(p)
	if err != nil {
		return unlessGone(err)
	}
	w.roots = append(w.roots, dir)
	fi, err := dir.Stat()
	if err == nil && fi.Mode().Perm()&0o500 != 0o500 {
		err = os.Chmod(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()), fi.Mode().Perm()|0o700)
	}
	if err == nil {
		w.keeps(dir.Name(), fi) // here the box writes
	}
	return err
}

// recent reports whether something that is the box's was made, written, renamed or given other attributes
// since the run began. On the file systems of Linux a program cannot set that time; on
// others everything is recent.
func (w *sweep) recent(p string, fi fs.FileInfo) bool {
	old := !w.since(fi) && w.keeps(p, fi)
	return !old && !lies(p, w.Before)
}

func stat(fi fs.FileInfo) *syscall.Stat_t { return fi.Sys().(*syscall.Stat_t) }

// keeps is keepsTime for what lies there, asked once for each device.
func (w *sweep) keeps(p string, fi fs.FileInfo) bool {
	if !fi.IsDir() {
		p = filepath.Dir(p)
	}
	good, known := w.timed[stat(fi).Dev]
	if !known {
		if good = keepsTime(p); unix.Access(p, unix.W_OK) == nil { // one disk can be mounted read-only, too
			w.timed[stat(fi).Dev] = good
		}
	}
	return good
}

const zfsMagic = 0x2fc12fc1 // ZFS_SUPER_MAGIC of OpenZFS's sys/fs/zfs.h

// keepsTime reports whether a folder lies in a file system that sets the time of a change by this computer's
// clock, and lets no program set it: one of the kernel's own, on a disk or in memory. FAT, sshfs and network file
// systems are not among them. What nobody can write no box can.
func keepsTime(dir string) bool {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return false
	}
	switch st.Type {
	case unix.EXT4_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.RAMFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC,
		unix.XFS_SUPER_MAGIC, unix.BCACHEFS_SUPER_MAGIC, zfsMagic:
		return true
	}
	return st.Flags&unix.ST_RDONLY != 0
}
