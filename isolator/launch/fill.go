package launch

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/launch/wire"
)

// What the box may write of settings and histories lies in its own memory, with a size that the
// kernel holds. bwrap mounts those folders empty. The supervisor sends us a descriptor of each, and
// what was prepared for it is copied through that before the program starts: nothing of the host is
// mounted for it, and no descriptor of a folder of the host enters the box. The descriptors outlive
// the box, so that a login which was renewed there can be kept.

// fill fills a folder of the box, and hands it on.
func (s *session) fill(i, folder int) error {
	f := s.fills[i]
	file := os.NewFile(uintptr(folder), f.Dest)
	var st unix.Statfs_t
	err := unix.Fstatfs(folder, &st)
	page := uint64(os.Getpagesize()) // tmpfs rounds up to pages
	if err != nil || st.Type != unix.TMPFS_MAGIC || st.Blocks*uint64(st.Bsize) != (f.Room+page-1)/page*page {
		file.Close()
		return fmt.Errorf("%q is not the folder in memory that it should be", f.Dest)
	}
	from, err := wire.OpenFolder(unix.AT_FDCWD, f.Source)
	if err == nil {
		err = copyFolder(from, folder)
	}
	switch {
	case errors.Is(err, unix.ENOSPC):
		err = fmt.Errorf("what is copied to %q does not fit in its %d KiB (sandbox.limits.disk)", f.Dest, f.Room>>10)
	case err != nil:
		err = fmt.Errorf("%q cannot be filled: %w", f.Dest, err)
	case s.o.Filled != nil:
		s.o.Filled(i, file)
		return nil
	}
	file.Close()
	return err
}

// copyFolder copies the folders and regular files of an open folder, which it closes, into another one. What is
// there already is another mount, or leads to one, and stays as it is.
func copyFolder(from, to int) error {
	dir := os.NewFile(uintptr(from), "folder")
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		fd, err := unix.Openat(from, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == unix.ELOOP || err == unix.ENXIO {
			continue // a link, or a socket
		}
		if err != nil {
			return err
		}
		if err := copyEntry(fd, to, name); err != nil {
			return err
		}
	}
	return nil
}

// copyEntry copies an open file or folder, which it closes, to a name in a folder.
func copyEntry(from, dir int, name string) (err error) {
	defer func() { closeFds(&from) }()
	var st, here, there unix.Stat_t
	if err := errors.Join(unix.Fstat(from, &st), unix.Fstat(dir, &here)); err != nil {
		return err
	}
	to := -1
	defer func() { closeFds(&to) }()
	switch mode := st.Mode & 0o777; st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		to, err = unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		if err == nil {
			err = errors.Join(unix.Fchmod(to, mode), copytree.Fill(to, from))
		}
	case unix.S_IFDIR:
		made := unix.Mkdirat(dir, name, 0o700)
		if made != nil && made != unix.EEXIST {
			return made
		}
		if to, err = wire.OpenFolder(dir, name); err == nil {
			err = unix.Fstat(to, &there)
		}
		if err == nil && made == nil {
			err = unix.Fchmod(to, mode)
		}
		if err == nil && here.Dev == there.Dev {
			err, from = copyFolder(from, to), -1
		}
	}
	if err == unix.EEXIST || err == unix.ENOTDIR || err == unix.ELOOP {
		err = nil
	}
	return err
}
