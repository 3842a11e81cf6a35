package git

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/copytree"
)

// folder is a directory that is held open. Everything below it is reached through
// the descriptor and through no link, so a name that is replaced meanwhile leads
// nowhere else.
type folder struct {
	fd   int
	path string // for messages only

	host   bool    // it is the host's: what is made there is synced to the disk, and has the modes that git gives it
	shared sharing // what git would add to these modes
}

// openFolder opens a directory by an absolute path that has no link in it.
func openFolder(p string) (*folder, error) { return openPath(p, unix.O_RDONLY) }

// openPath is openFolder with other flags: O_PATH for a directory that cannot be listed.
func openPath(p string, flags int) (*folder, error) {
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if p == "/" {
		return &folder{fd: root, path: p}, nil
	}
	defer unix.Close(root)
	fd, err := copytree.Open(root, strings.TrimPrefix(filepath.Clean(p), "/"), flags|unix.O_DIRECTORY)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: p, Err: err}
	}
	return &folder{fd: fd, path: p}, nil
}

func (d *folder) close() {
	if d != nil && d.fd >= 0 {
		unix.Close(d.fd)
		d.fd = -1
	}
}

// sub opens a folder below this one.
func (d *folder) sub(rel string) (*folder, error) {
	fd, err := copytree.Open(d.fd, rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, d.fault("open", rel, err)
	}
	return &folder{fd: fd, path: filepath.Join(d.path, rel), host: d.host, shared: d.shared}, nil
}

func (d *folder) fault(op, rel string, err error) error {
	return &fs.PathError{Op: op, Path: filepath.Join(d.path, rel), Err: err}
}

// at calls do with the folder that holds rel, and with rel's last part.
func (d *folder) at(op, rel string, do func(dir int, name string) error) error {
	parent, name := path.Split(rel)
	if name == "" || name == "." || name == ".." {
		return d.fault(op, rel, unix.EINVAL)
	}
	dir := d.fd
	if parent != "" {
		fd, err := copytree.Open(d.fd, strings.TrimSuffix(parent, "/"), unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			return d.fault(op, rel, err)
		}
		defer unix.Close(fd)
		dir = fd
	}
	if err := do(dir, name); err != nil {
		return d.fault(op, rel, err)
	}
	return nil
}

// open opens a regular file. A FIFO or a device in its place neither blocks nor
// counts as one.
func (d *folder) open(rel string) (*os.File, unix.Stat_t, error) {
	fd := -1
	var st unix.Stat_t
	err := d.at("open", rel, func(dir int, name string) (err error) {
		fd, err = unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, st, err
	}
	f := os.NewFile(uintptr(fd), filepath.Join(d.path, rel))
	if st, err = plain(fd); err != nil {
		f.Close()
		return nil, st, d.fault("open", rel, err)
	}
	return f, st, nil
}

// plain returns the status of an open file, and an error unless it is a regular file.
func plain(fd int) (st unix.Stat_t, err error) {
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errNotPlain
	}
	return st, err
}

var (
	errNotPlain = errors.New("not a plain file")
	errTooLarge = errors.New("larger than inner reads")
	errHoles    = errors.New("a file with holes, which git never writes")
)

// read returns the content of a regular file of at most that many bytes.
func (d *folder) read(rel string, most int64) ([]byte, error) {
	var data bytes.Buffer
	if err := d.readTo(&data, rel, most); err != nil {
		return nil, err
	}
	return data.Bytes(), nil
}

// line returns the content of a file that names a folder, without the line ends after it.
func (d *folder) line(rel string) (string, error) {
	data, err := d.read(rel, maxPointer)
	return strings.TrimRight(string(data), "\r\n"), err
}

// head returns what a file like HEAD says, see headValue.
func (d *folder) head(rel string, digits int) (string, error) {
	data, err := d.read(rel, maxLoose)
	return headValue(data, digits), err
}

// maxText is the most bytes that are read of an index or of packed-refs: an index of a million entries or more. It also
// bounds the index that inner would write.
const maxText = 128 << 20

// readText reads an index or packed-refs of at most maxText bytes, as a string whose parts share its memory.
func (d *folder) readText(rel string) (string, error) {
	var text strings.Builder
	err := d.readTo(&text, rel, maxText)
	return text.String(), err
}

// readTo reserves memory for a file once. It refuses a file with holes, which costs nothing to make and which git never
// writes.
func (d *folder) readTo(to growing, rel string, most int64) error {
	f, st, err := d.open(rel)
	if err != nil {
		return err
	}
	defer f.Close()
	if st.Size > most {
		return d.fault("read", rel, errTooLarge)
	}
	if holes(int(f.Fd()), st.Size) {
		return d.fault("read", rel, errHoles)
	}
	to.Grow(int(st.Size) + bytes.MinRead)
	n, err := io.Copy(to, io.NewSectionReader(f, 0, most+1)) // holes moved the offset
	if err == nil && n > most {
		err = d.fault("read", rel, errTooLarge)
	}
	return err
}

// growing is a buffer of bytes or text.
type growing interface {
	io.Writer
	Grow(n int)
}

// readLoose reads a small file, such as a ref, that is directly in this folder. It is faster than
// read, because there may be a hundred thousand.
func (d *folder) readLoose(name string) ([]byte, error) {
	fd, err := unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	st, err := plain(fd)
	if err != nil {
		return nil, err
	}
	data := make([]byte, min(st.Size, maxLoose)+1)
	n, err := unix.Pread(fd, data, 0) // git renames the whole of a ref into its place
	switch {
	case err != nil:
		return nil, err
	case n == len(data):
		return nil, errTooLarge
	}
	return data[:n], nil
}

// stat returns the status of a name without following it.
func (d *folder) stat(rel string) (st unix.Stat_t, err error) {
	err = d.at("stat", rel, func(dir int, name string) error {
		return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	})
	return st, err
}

func (d *folder) has(rel string) bool {
	_, err := d.stat(rel)
	return err == nil
}

func (d *folder) isDir(rel string) bool {
	st, err := d.stat(rel)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

func (d *folder) isLink(rel string) bool {
	st, err := d.stat(rel)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}

// unlessMissing returns an error unless it says that a file or folder is not there.
func unlessMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// listing opens a folder below this one to read its entries.
func (d *folder) listing(rel string) (*os.File, error) {
	fd, err := copytree.Open(d.fd, rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, d.fault("open", rel, err)
	}
	return os.NewFile(uintptr(fd), filepath.Join(d.path, rel)), nil
}

// list returns the entries of a folder below this one ("." for this one), unsorted. More than
// most of them are an error. Their types are those that reading the folder tells.
func (d *folder) list(rel string, most int) ([]fs.DirEntry, error) {
	f, err := d.listing(rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := f.ReadDir(most + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(list) > most {
		return nil, d.fault("list", rel, errTooMany)
	}
	return list, nil
}

// each calls do with every entry of this folder, unsorted, without reading all of them first.
func (d *folder) each(do func(fs.DirEntry) error) error {
	f, err := d.listing(".")
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		list, err := f.ReadDir(1000)
		for _, e := range list {
			if err := do(e); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// listIfThere is list for a folder that need not be there.
func (d *folder) listIfThere(rel string, most int) ([]fs.DirEntry, error) {
	list, err := d.list(rel, most)
	return list, unlessMissing(err)
}

var errTooMany = errors.New("more entries than inner reads")

// mkdirs makes folders and their parents.
func (d *folder) mkdirs(rels ...string) error {
	for _, rel := range rels {
		if err := d.mkdir(rel); err != nil {
			return err
		}
	}
	return nil
}

// mkdir makes a folder and its parents.
func (d *folder) mkdir(rel string) error {
	make := func() error { return d.at("mkdir", rel, d.makeFolder) }
	err := make()
	if parent := path.Dir(rel); errors.Is(err, unix.ENOENT) && parent != "." {
		if err = d.mkdir(parent); err == nil {
			err = make()
		}
	}
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, unix.EEXIST):
		return err
	case !d.isDir(rel):
		return d.fault("mkdir", rel, unix.ENOTDIR)
	}
	return nil
}

// create writes a file that must not exist yet.
func (d *folder) create(rel string, data []byte) error { return d.createWith(rel, data, d.fileMode()) }

func (d *folder) createWith(rel string, data []byte, mode uint32) error {
	return d.fresh(rel, mode, func(f *os.File) error {
		_, err := f.Write(data)
		if err == nil && d.host {
			err = f.Sync()
		}
		return err
	})
}

// fresh makes a file that must not exist yet, and leaves none where it cannot be filled.
func (d *folder) fresh(rel string, mode uint32, fill func(*os.File) error) error {
	return d.at("create", rel, func(dir int, name string) error {
		fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), rel)
		if err = d.share(fd); err == nil {
			err = fill(f)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			_ = unix.Unlinkat(dir, name, 0)
		}
		return err
	})
}

// appendTo opens a file to write at its end, and makes it if it is not there.
func (d *folder) appendTo(rel string) (f *os.File, err error) {
	err = d.at("append", rel, func(dir int, name string) error {
		fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, d.fileMode())
		if err != nil {
			return err
		}
		_ = d.share(fd) // it may be somebody else's
		f = os.NewFile(uintptr(fd), filepath.Join(d.path, rel))
		return nil
	})
	return f, err
}

func (d *folder) rename(from, to string) error {
	return d.at("rename", from, func(fromDir int, fromName string) error {
		return d.at("rename", to, func(toDir int, toName string) error {
			return unix.Renameat(fromDir, fromName, toDir, toName)
		})
	})
}

// remove removes a file. One that is not there is no error.
func (d *folder) remove(rel string) error {
	return unlessMissing(d.at("remove", rel, func(dir int, name string) error { return unix.Unlinkat(dir, name, 0) }))
}

// rmdir removes an empty folder.
func (d *folder) rmdir(rel string) error {
	return d.at("remove", rel, func(dir int, name string) error { return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR) })
}

// replace replaces whatever has that name by a file, atomically. The file is written as temp
// first.
func (d *folder) replace(rel, temp string, data []byte) error {
	_ = d.remove(temp)
	if err := d.create(temp, data); err != nil {
		return err
	}
	if err := d.rename(temp, rel); err != nil {
		return errors.Join(err, d.remove(temp))
	}
	return nil
}

// tempPrefix begins the names of the files that inner writes beside the host's own before it
// renames them.
const tempPrefix = "inner-new-"

// ErrLocked says that another git holds the lock of a file.
var ErrLocked = errors.New("another git is at work there")

// locked replaces a file under git's own lock for it, NAME.lock. It calls still while the lock
// is held, and replaces the file unless that returns an error; nil data removes it.
//
// The lock is a hard link to inner-new-RUN-NAME, so it tells whose it is: unlock removes both
// after a crash, and never the lock of another git.
func (d *folder) locked(rel, run string, data []byte, mode uint32, still func() error) error {
	temp := tempName(rel, run)
	lock := rel + ".lock"
	_ = d.remove(temp)
	if err := d.createWith(temp, data, mode); err != nil {
		return err
	}
	err := d.at("link", temp, func(dir int, name string) error {
		return unix.Linkat(dir, name, dir, path.Base(lock), 0)
	})
	if err != nil {
		_ = d.remove(temp)
		if errors.Is(err, unix.EEXIST) {
			return d.fault("lock", rel, ErrLocked)
		}
		return err
	}
	switch err = still(); {
	case err != nil:
	case data == nil:
		err = d.remove(rel)
	default:
		err = d.rename(lock, rel)
	}
	if err != nil || data == nil {
		err = errors.Join(err, d.remove(lock))
	}
	return errors.Join(err, d.remove(temp))
}

func tempName(rel, run string) string {
	dir, name := path.Split(rel)
	return dir + tempPrefix + run + "-" + name
}

// unlock removes the lock that a killed run left on a file, see locked.
func (d *folder) unlock(rel, run string) error {
	temp := tempName(rel, run)
	mine, err := d.stat(temp)
	if err != nil {
		return nil
	}
	if lock, err := d.stat(rel + ".lock"); err == nil && lock.Ino == mine.Ino && lock.Dev == mine.Dev {
		if err := d.remove(rel + ".lock"); err != nil {
			return err
		}
	}
	return d.remove(temp)
}

// copyFile copies a regular file to a new one, sharing blocks where the file system can.
func (d *folder) copyFile(rel string, to *folder, name string, most int64, mode uint32) (int64, error) {
	f, st, err := d.open(rel)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if st.Size > most {
		return 0, d.fault("copy", rel, errTooLarge)
	}
	return st.Size, to.fresh(name, mode, func(w *os.File) error {
		return fill(context.Background(), int(w.Fd()), int(f.Fd()), st.Size)
	})
}

// fill copies at most size bytes.
func fill(ctx context.Context, to, from int, size int64) error {
	err := copytree.Contents(ctx, to, from, size)
	if ctx.Err() != nil {
		return late(ctx)
	}
	return err
}
