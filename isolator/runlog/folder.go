package runlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Folder is a folder that holds runs.
type Folder struct {
	Path string
	root *os.Root
}

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

// Make opens a folder for runs, and makes it, 0700, when it is not there. One that belongs to somebody
// else, or that others can write, is refused. With strict, only links of root are followed on the way
// to it, because a profile named it and a box may have been there before.
func Make(path string, strict bool) (*Folder, error) {
	if strict {
		root, err := walk(path)
		return checked(path, root, err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return checked(path, nil, err)
	}
	return Open(path)
}

// Open opens a folder for reading what runs left; the error is fs.ErrNotExist when there is none.
func Open(path string) (*Folder, error) {
	root, err := os.OpenRoot(path)
	return checked(path, root, err)
}

// checked returns a folder that is open, if it is the user's alone.
func checked(path string, root *os.Root, err error) (*Folder, error) {
	if err == nil {
		if err = ours(root); err == nil {
			return &Folder{path, root}, nil
		}
		_ = root.Close()
	}
	return nil, (&Folder{Path: path}).fault(err)
}

// fault says which folder an error is about.
func (f *Folder) fault(err error) error { return fmt.Errorf("log folder %q: %w", f.Path, cause(err)) }

func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

func ours(root *os.Root) error {
	fi, err := root.Stat(".")
	if err != nil {
		return cause(err)
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	switch {
	case !ok || int(st.Uid) != os.Getuid():
		return errors.New("belongs to somebody else")
	case fi.Mode().Perm()&0o022 != 0:
		return errors.New("others can write it")
	}
	return nil
}

// walk opens path one name at a time, and makes what is missing.
func walk(path string) (*os.Root, error) {
	if !filepath.IsAbs(path) {
		return nil, errors.New("not an absolute path")
	}
	const how = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
	fd, err := unix.Open("/", how, 0)
	if err != nil {
		return nil, err
	}
	defer func() { unix.Close(fd) }()
	for name := range strings.SplitSeq(strings.Trim(filepath.Clean(path), "/"), "/") {
		made := unix.Mkdirat(fd, name, 0o700)
		next, err := unix.Openat(fd, name, how|unix.O_NOFOLLOW, 0)
		if err == unix.ENOTDIR {
			var st unix.Stat_t
			if e := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); e == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
				if st.Uid != 0 || os.Getuid() == 0 {
					return nil, fmt.Errorf("%q on the way to it is a link", name)
				}
				next, err = unix.Openat(fd, name, how, 0)
			}
		}
		if err == unix.ENOENT {
			err = made
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
		unix.Close(fd)
		fd = next
	}
	return os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", fd))
}

// File opens a file of a run for reading: a regular one, never a link.
func (f *Folder) File(id, name string) (*os.File, error) {
	path := filepath.Join(id, name)
	// Not a FIFO either: that one would wait.
	if fi, err := f.root.Lstat(path); err != nil {
		return nil, err
	} else if !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", filepath.Join(f.Path, path))
	}
	return f.root.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}

// isRun reports whether name is that of a run's folder: the run's id, a time and six hexadecimal digits.
func isRun(name string) bool {
	if len(name) != len(IDTime)+len("-xxxxxx") {
		return false
	}
	at, rest := name[:len(IDTime)], name[len(IDTime):]
	_, err := time.Parse(IDTime, at)
	return err == nil && rest[0] == '-' && strings.Trim(rest[1:], "0123456789abcdef") == ""
}

// IDTime is the time in the id of a run.
const IDTime = "20060102-150405"

// Runs returns the ids of the runs in the folder, oldest first.
func (f *Folder) Runs() ([]string, error) {
	var names []string
	dir, err := f.root.Open(".")
	if err == nil {
		defer dir.Close()
		names, err = dir.Readdirnames(-1)
	}
	if err != nil {
		return nil, f.fault(err)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !isRun(n) })
	slices.Sort(names)
	return names, nil
}

// foldersFile lists, one a line, the other folders that hold runs.
const foldersFile = "folders"

// Remember notes in the log folder home that folder holds runs as well.
func Remember(home, folder string) error {
	if folder == home || slices.Contains(Folders(home), folder) {
		return nil
	}
	f, err := Make(home, false)
	if err != nil {
		return err
	}
	defer f.Close()
	file, err := f.root.OpenFile(foldersFile, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return f.fault(err)
	}
	_, err = file.WriteString(folder + "\n")
	return errors.Join(err, file.Close())
}

// Folders returns home and every other folder that holds runs.
func Folders(home string) []string {
	out := []string{home}
	data, _ := os.ReadFile(filepath.Join(home, foldersFile)) // none is as good as empty
	for line := range strings.Lines(string(data)) {
		if p := strings.TrimSuffix(line, "\n"); filepath.IsAbs(p) && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}
