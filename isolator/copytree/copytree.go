// Package copytree copies a folder or a file as it is, fast, and removes what
// it copied.
//
// What it promises:
//
//   - no link is ever followed, not in the tree and not by a rename while it
//     is being read: what lies outside the source cannot get into the copy.
//     Links are made again as links;
//   - modes (set-id bits off), times and holes are kept;
//   - sockets, FIFOs and devices are left out, and never opened: nothing
//     blocks. What cannot be read is left out too; Result.Left names it all;
//   - where the file system shares blocks between files, blocks are shared;
//   - whatever the error, a cancelled context included, nothing of the copy is
//     left.
//
// What it does not: the copy is no snapshot. A file that is written while it
// is copied may be half old, half new. Owners are not kept, everything in the
// copy is the user's. A file with several names becomes several files. Extended
// attributes, access lists and flags of chattr(1) are not kept.
package copytree

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// Options say how a tree is copied. The zero value copies everything.
type Options struct {
	// Exclude holds paths below the source, slash-separated, that are left out
	// with all that is in them.
	Exclude []string
	// Dev and Ino, when Ino is not zero, are what the source must be.
	Dev, Ino uint64
	// Record asks for Result.Entries.
	Record bool
}

// Entry is one thing of the source as it was when it was copied.
type Entry struct {
	Path string // below the source, "." for the source itself
	State
	Copy uint64 // inode number of the copied file; 0 for what is no file
	Link string // where a link leads
}

// NoRights is in the mode of what is there and has no rights: a mode of zero is nothing.
const NoRights = fs.ModeTemporary

// State is what a path was when it was looked at; the zero value is nothing.
type State struct {
	Mode         fs.FileMode
	Ino          uint64
	Size         int64
	Mtime, Ctime int64 // nanoseconds
}

// StateOf is the State of what was looked at.
func StateOf(st unix.Stat_t) State {
	return State{fileMode(st.Mode), st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()}
}

// Left is something that is not in the copy.
type Left struct {
	Path string
	Why  string // "socket", "FIFO", "device", or an error in words
}

// Lost reports whether it may hold something: what is no file, folder or link does not.
func (l Left) Lost() bool {
	return !slices.Contains([]string{kindName(unix.S_IFSOCK), kindName(unix.S_IFIFO), kindName(unix.S_IFCHR)}, l.Why)
}

// Result is what was copied.
type Result struct {
	Entries []Entry // by path; only with Options.Record
	Left    []Left  // by path, without what was excluded
}

// ErrOther is a source that is not the one of Options.Dev and Ino any more.
var ErrOther = errors.New("it was replaced by another")

// Copy copies src, a real path, to dst, which must not exist and whose folder
// must be private to the user.
func Copy(ctx context.Context, src, dst string, o Options) (res Result, err error) {
	c := &copier{ctx: ctx, o: o, exclude: make(map[string]bool, len(o.Exclude))}
	for _, p := range o.Exclude {
		c.exclude[p] = true
	}
	from, st, err := c.open(src)
	if err != nil {
		return res, err
	}
	defer from.Close()
	c.src = int(from.Fd())
	var there unix.Stat_t
	if unix.Lstat(dst, &there) == nil {
		return res, &fs.PathError{Op: "copy", Path: dst, Err: unix.EEXIST}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, Remove(dst))
		}
	}()
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		err = c.tree(dst)
	case unix.S_IFREG:
		err = c.single(from, dst)
	default:
		return res, &fs.PathError{Op: "copy", Path: src, Err: errors.New("neither a folder nor a file")}
	}
	if err != nil {
		return res, err
	}
	slices.SortFunc(c.res.Entries, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(c.res.Left, func(a, b Left) int { return cmp.Compare(a.Path, b.Path) })
	return c.res, nil
}

// open opens the source, which must be the one of the options.
func (c *copier) open(src string) (f *os.File, st unix.Stat_t, err error) {
	if f, err = os.OpenFile(src, unix.O_NOFOLLOW|unix.O_NONBLOCK, 0); err != nil {
		return nil, st, err
	}
	if err = unix.Fstat(int(f.Fd()), &st); err == nil && c.o.Ino != 0 && (st.Dev != c.o.Dev || st.Ino != c.o.Ino) {
		err = ErrOther
	}
	if err != nil {
		f.Close()
		return nil, st, &fs.PathError{Op: "open", Path: src, Err: err}
	}
	return f, st, nil
}

// copier carries one Copy; it is dropped at the end.
type copier struct {
	ctx      context.Context
	o        Options
	exclude  map[string]bool
	src, dst int

	mu   sync.Mutex // guards what follows
	res  Result
	dirs []dir // a folder before what is in it
}

// dir is a folder of the source.
type dir struct {
	rel string
	st  unix.Stat_t
}

// tree copies a folder: first folders with the files in them, several at a time, at last come the attributes of the
// folders, the deepest first.
func (c *copier) tree(dst string) error {
	if err := unix.Mkdir(dst, 0o700); err != nil {
		return &fs.PathError{Op: "mkdir", Path: dst, Err: err}
	}
	var err error
	if c.dst, err = unix.Open(dst, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err != nil {
		return &fs.PathError{Op: "open", Path: dst, Err: err}
	}
	defer unix.Close(c.dst)
	if err := Each(c.ctx, []string{"."}, c.folder); err != nil {
		return err
	}
	return c.finish()
}

// fileMode turns st_mode into the form of package fs.
func fileMode(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	switch m & unix.S_IFMT {
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFREG:
	default:
		mode |= fs.ModeIrregular
	}
	if m&unix.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if m&unix.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if m&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	if mode == 0 {
		return NoRights
	}
	return mode
}

// keptMode is what of a mode gets into a copy.
func keptMode(m uint32) uint32 { return m & 0o1777 }

func kindName(kind uint32) string {
	switch kind {
	case unix.S_IFSOCK:
		return "socket"
	case unix.S_IFIFO:
		return "FIFO"
	default:
		return "device"
	}
}

func join(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}
