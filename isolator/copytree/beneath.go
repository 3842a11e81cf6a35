package copytree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
)

// Open opens rel below the folder dir without following any link, not even
// one that appears while it looks. flags are those of openat(2).
func Open(dir int, rel string, flags int) (int, error) { return Make(dir, rel, flags, 0) }

// Make is Open for what is made, with this mode, where the flags say so.
func Make(dir int, rel string, flags int, mode uint32) (int, error) {
	flags |= unix.O_NOFOLLOW | unix.O_CLOEXEC
	if flags&unix.O_CREAT == 0 {
		mode = 0 // openat2 refuses it
	}
	how := unix.OpenHow{Flags: uint64(flags), Mode: uint64(mode), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	for {
		fd, err := unix.Openat2(dir, rel, &how)
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			continue // something was renamed meanwhile
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
			// Linux before 5.6, or a seccomp filter that does not know the call.
			return step(dir, rel, flags, mode)
		}
		return fd, err
	}
}

// In calls f with the open folder below dir that rel is in, and its name there.
func In(dir int, rel string, f func(parent int, name string) error) error {
	parent, err := Open(dir, filepath.Dir(rel), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	return f(parent, filepath.Base(rel))
}

// Lstat says what rel is below the folder dir.
func Lstat(dir int, rel string) (st unix.Stat_t, err error) {
	err = In(dir, rel, func(parent int, name string) error { return unix.Fstatat(parent, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return st, err
}

// step is Open, one part of the path at a time.
func step(dir int, rel string, flags int, mode uint32) (int, error) {
	at := dir
	for {
		name, rest, more := strings.Cut(rel, "/")
		if name == ".." || name == "" {
			return -1, unix.EXDEV
		}
		how := unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
		if !more {
			how = flags
		}
		fd, err := unix.Openat(at, name, how, mode)
		if at != dir {
			unix.Close(at)
		}
		if err != nil || !more {
			return fd, err
		}
		at, rel = fd, rest
	}
}

// longest is how much of a path is opened at once: less than PATH_MAX.
const longest = 3000

// Enter opens a folder below dir to list it, and makes it fit for that and for what is done in it: a
// box may have closed it to its own user. It follows no link, and rel may be longer than a path.
func Enter(dir int, rel string) (*os.File, error) { return folder(dir, rel, 0o700) }

// List is Enter where nothing is done in the folder.
func List(dir int, rel string) (*os.File, error) { return folder(dir, rel, 0o500) }

func folder(dir int, rel string, may uint32) (*os.File, error) {
	for at := dir; ; {
		part, rest := rel, ""
		if len(rel) > longest {
			end := strings.LastIndexByte(rel[:longest], '/')
			part, rest = rel[:end], rel[end+1:]
		}
		next, err := Open(at, part, unix.O_PATH|unix.O_DIRECTORY)
		if at != dir {
			unix.Close(at)
		}
		if err != nil {
			return nil, err
		}
		if at, rel = next, rest; rel == "" {
			defer unix.Close(at)
			return reopen(at, may)
		}
	}
}

// Walk calls found with the status of everything in some folders of one folder, by its path there. It
// goes on into those folders for which found returns true, however deep they are and whatever modes a
// box gave them, and past what it cannot look at, which is in the error. No link is followed.
func Walk(top string, dirs []string, found func(rel string, st unix.Stat_t) bool) (err error) {
	root, err := unix.Open(top, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: top, Err: err}
	}
	defer unix.Close(root)
	for len(dirs) > 0 {
		at := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		list, errDir := List(root, at)
		for errDir == nil {
			var names []string
			names, errDir = list.Readdirnames(1024)
			for _, name := range names {
				var st unix.Stat_t
				rel := path.Join(at, name)
				if errOne := unix.Fstatat(int(list.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); errOne != nil {
					err = errors.Join(err, &fs.PathError{Op: "stat", Path: filepath.Join(top, rel), Err: errOne})
				} else if found(rel, st) && st.Mode&unix.S_IFMT == unix.S_IFDIR {
					dirs = append(dirs, rel)
				}
			}
		}
		if list != nil {
			list.Close()
		}
		if errDir != io.EOF {
			err = errors.Join(err, &fs.PathError{Op: "read", Path: filepath.Join(top, at), Err: errDir})
		}
	}
	return err
}

// reopen opens for reading what is open as a path, once its owner may do as much with it. The name in /proc leads
// to what was opened, whatever its own name is by now; a descriptor of O_PATH cannot be changed itself.
func reopen(fd int, may uint32) (*os.File, error) {
	name := fmt.Sprintf("/proc/self/fd/%d", fd)
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	if err == nil && st.Mode&may != may {
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			may = 0o700
		}
		err = unix.Chmod(name, st.Mode&0o777|may)
	}
	if err != nil {
		return nil, err
	}
	opened, err := unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(opened), name), nil
}

// Regular opens a regular file below the folder dir for reading, as Open does, and waits for nobody.
// What is none is files.ErrNotRegular.
func Regular(dir int, rel string) (*os.File, fs.FileInfo, error) {
	fd, err := Open(dir, rel, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, nil, err
	}
	return regular(os.NewFile(uintptr(fd), rel))
}

func regular(f *os.File) (*os.File, fs.FileInfo, error) {
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = files.ErrNotRegular
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, fi, nil
}

// Read reads a regular file of at most limit bytes below the folder dir, as Regular opens it.
func Read(dir int, rel string, limit int64) ([]byte, error) {
	f, fi, err := Regular(dir, rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if fi.Size() > limit {
		return nil, fmt.Errorf("is larger than %d KiB", limit>>10)
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// Closed is Regular for a file that a box may have closed to its own user: it is readable from then on.
func Closed(dir int, rel string) (f *os.File, fi fs.FileInfo, err error) {
	err = In(dir, rel, func(parent int, name string) error {
		fd, err := Open(parent, name, unix.O_PATH)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if f, err = reopen(fd, 0o400); err == nil {
			f, fi, err = regular(f)
		}
		return err
	})
	return f, fi, err
}

// ReadLink returns where a link leads that is below the folder dir.
func ReadLink(dir int, rel string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n := 0
	err := In(dir, rel, func(parent int, name string) (err error) {
		n, err = unix.Readlinkat(parent, name, buf)
		return err
	})
	return string(buf[:max(n, 0)]), err
}

// New makes a file in an open folder, and fills it.
func New(dir int, name string, data []byte, mode fs.FileMode) error {
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(dir, name, flags, uint32(mode.Perm()))
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// Has reports whether rel exists below the folder root, with no link on the
// way.
func Has(root, rel string) bool {
	dir, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(dir)
	st, err := Lstat(dir, rel)
	return err == nil && st.Mode&unix.S_IFMT != unix.S_IFLNK
}
