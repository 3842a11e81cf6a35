// Package copytree copies a folder or a file as it is, fast, and removes what
// it copied.
//
// What it promises:
//
//   - no link is ever followed, not in the tree and not by a rename while it
//     is being read: what lies outside the source cannot get into the copy.
//     Links are made again as links;
//   - modes (set-id bits off), times, holes, user extended attributes, access
//     lists and hard links inside the tree are kept; attributes that the file
//     system or the kernel refuses are dropped;
//   - sockets, FIFOs and devices are left out, and never opened: nothing
//     blocks. What cannot be read is left out too; Result.Left names it all;
//   - where the file system shares blocks between files, blocks are shared
//     (FICLONE); elsewhere the space is looked at before anything is written;
//   - whatever the error, a cancelled context included, nothing of the copy is
//     left.
//
// What it does not: the copy is no snapshot. A file that is written while it
// is copied may be half old, half new. Owners are not kept, everything in the
// copy is the user's. Flags of chattr(1) are not kept.
package copytree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

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
	// Progress is told how far the copy is. It may be nil.
	Progress *Progress
}

// Progress can be read while a copy is being made. Total is zero until it is
// known.
type Progress struct{ Done, Total atomic.Int64 } // bytes

// Entry is one thing of the source as it was when it was copied.
type Entry struct {
	Path  string // below the source, "." for the source itself
	Mode  fs.FileMode
	Size  int64
	Mtime int64 // nanoseconds
	Ctime int64 // nanoseconds
	Ino   uint64
	Copy  uint64 // inode number of the copied file; 0 for what is no file
	Link  string // where a link leads
}

// Left is something that is not in the copy.
type Left struct {
	Path string
	Why  string // "socket", "FIFO", "device", or an error in words
}

// Result is what was copied.
type Result struct {
	Entries []Entry // by path; only with Options.Record
	Left    []Left  // by path, without what was excluded
	Files   int
	Bytes   int64
	Shared  bool // blocks are shared with the source
}

// NoRoomError is a copy that was not begun: there is no room for it.
type NoRoomError struct{ Need, Free int64 }

func (e *NoRoomError) Error() string {
	return fmt.Sprintf("%s are needed, %s are free", Size(e.Need), Size(e.Free))
}

// ErrOther is a source that is not the one of Options.Dev and Ino any more.
var ErrOther = errors.New("it was replaced by another")

// Size writes a number of bytes for people.
func Size(n int64) string {
	const units = "kMGTPE"
	if n < 1000 {
		return fmt.Sprintf("%d bytes", n)
	}
	f, u := float64(n)/1000, 0
	for ; f >= 999.5 && u < len(units)-1; u++ {
		f /= 1000
	}
	if f < 9.95 {
		return fmt.Sprintf("%.1f %cB", f, units[u])
	}
	return fmt.Sprintf("%.0f %cB", f, units[u])
}

// Copy copies src, a real path, to dst, which must not exist and whose folder
// must be private to the user.
func Copy(ctx context.Context, src, dst string, o Options) (res Result, err error) {
	c := &copier{ctx: ctx, o: o, exclude: make(map[string]bool, len(o.Exclude)), uid: uint32(os.Getuid()), umask: umask()}
	for _, p := range o.Exclude {
		c.exclude[p] = true
	}
	c.src, err = unix.Open(src, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return res, &fs.PathError{Op: "open", Path: src, Err: err}
	}
	defer unix.Close(c.src)
	var st unix.Stat_t
	if err := unix.Fstat(c.src, &st); err != nil {
		return res, &fs.PathError{Op: "stat", Path: src, Err: err}
	}
	if o.Ino != 0 && (st.Dev != o.Dev || st.Ino != o.Ino) {
		return res, &fs.PathError{Op: "open", Path: src, Err: ErrOther}
	}
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
		err = c.single(src, dst, st)
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

// copier carries one Copy; it is dropped at the end.
type copier struct {
	ctx      context.Context
	o        Options
	exclude  map[string]bool
	uid      uint32
	umask    uint32
	src, dst int
	buffers  sync.Pool // of *[]byte

	mu    sync.Mutex // guards what follows
	res   Result
	dirs  []*dir
	links map[inode][]string // names of files that have several

	noAttrs atomic.Bool // the source's file system has no extended attributes
}

type inode struct{ dev, ino uint64 }

// dir is a folder of the source.
type dir struct {
	rel   string
	st    unix.Stat_t
	files []file
}

// file is what is not a folder in one.
type file struct {
	name string
	kind uint32 // S_IFREG or S_IFLNK
	room int64  // the space it takes
	size int64
}

// tree copies a folder: first all folders are made and looked at, then files
// are copied, several at a time, at last hard links and the attributes of the
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
	c.links = map[inode][]string{}
	if err := each(c.ctx, []string{"."}, c.scan); err != nil {
		return err
	}
	if err := c.room(); err != nil {
		return err
	}
	if err := each(c.ctx, c.tasks(), c.batch); err != nil {
		return err
	}
	if err := c.hardLinks(); err != nil {
		return err
	}
	return c.finish()
}

// scan makes one folder in the copy and lists what is in it.
func (c *copier) scan(rel string, more func(string)) error {
	fd, err := Open(c.src, rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return c.leave(rel, err)
	}
	defer unix.Close(fd)
	d := &dir{rel: rel}
	if err := unix.Fstat(fd, &d.st); err != nil {
		return c.fault("stat", rel, err)
	}
	names, err := list(fd)
	if err != nil {
		return c.leave(rel, err)
	}
	if rel != "." {
		if err := unix.Mkdirat(c.dst, rel, 0o700); err != nil {
			return c.fault("mkdir", rel, err)
		}
	}
	var left []Left
	var subs []string
	var room, size int64
	for _, name := range names {
		at := join(rel, name)
		if c.exclude[at] {
			continue
		}
		var st unix.Stat_t
		switch err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); {
		case errors.Is(err, unix.ENOENT):
			continue
		case err != nil:
			left = append(left, Left{at, err.Error()})
			continue
		}
		switch kind := st.Mode & unix.S_IFMT; kind {
		case unix.S_IFDIR:
			subs = append(subs, at)
		case unix.S_IFREG:
			if st.Nlink > 1 {
				who := inode{st.Dev, st.Ino}
				c.mu.Lock()
				c.links[who] = append(c.links[who], at)
				another := len(c.links[who]) > 1
				c.mu.Unlock()
				if another {
					continue
				}
			}
			d.files = append(d.files, file{name, kind, st.Blocks * 512, st.Size})
			room += st.Blocks * 512
			size += st.Size
		case unix.S_IFLNK:
			d.files = append(d.files, file{name, kind, 0, 0})
		default:
			left = append(left, Left{at, kindName(kind)})
		}
	}
	c.mu.Lock()
	c.dirs = append(c.dirs, d)
	c.res.Left = append(c.res.Left, left...)
	c.res.Files += len(d.files)
	c.res.Bytes += size
	c.mu.Unlock()
	for _, at := range subs {
		more(at)
	}
	return nil
}

// leave leaves something out that cannot be read. What is gone was never
// there; the source itself must be readable.
func (c *copier) leave(rel string, err error) error {
	switch {
	case rel == "." || errors.Is(err, unix.EIO):
		return c.fault("open", rel, err)
	case errors.Is(err, unix.ENOENT):
		return nil
	}
	why := err.Error()
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EXDEV) {
		why = "replaced while it was copied"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.res.Left = append(c.res.Left, Left{rel, why})
	return nil
}

func (c *copier) fault(op, rel string, err error) error {
	return &fs.PathError{Op: op, Path: rel, Err: err}
}

// room looks whether the copy fits, unless blocks can be shared.
func (c *copier) room() error {
	var need int64
	var probe string
	var largest int64
	for _, d := range c.dirs {
		need += 4096
		for _, f := range d.files {
			need += max(f.room, 512)
			if f.kind == unix.S_IFREG && f.room > largest {
				largest, probe = f.room, join(d.rel, f.name)
			}
		}
	}
	if c.o.Progress != nil {
		c.o.Progress.Total.Store(c.res.Bytes)
	}
	if probe != "" {
		if fd, err := Open(c.src, probe, unix.O_RDONLY|unix.O_NONBLOCK); err == nil {
			c.res.Shared = c.shares(fd)
			unix.Close(fd)
		}
	}
	if c.res.Shared {
		return nil
	}
	return roomFor(c.dst, need)
}

// roomFor refuses what does not fit on the file system of fd.
func roomFor(fd int, need int64) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return nil // then writing tells
	}
	if free := int64(st.Bavail) * st.Bsize; need > free {
		return &NoRoomError{need, free}
	}
	return nil
}

// shares reports whether the copy can share the blocks of an open file.
func (c *copier) shares(fd int) bool {
	const name = ".inner-probe"
	to, err := unix.Openat(c.dst, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return false // the source has a file of that name in its root
	}
	defer func() { _ = unix.Unlinkat(c.dst, name, 0) }()
	defer unix.Close(to)
	return unix.IoctlFileClone(to, fd) == nil
}

// task is a part of a folder's files.
type task struct {
	d     *dir
	files []file
}

// tasks cuts the folders into pieces, so that one large folder keeps all
// workers busy.
func (c *copier) tasks() []task {
	const most, bytes = 64, 32 << 20
	var out []task
	for _, d := range c.dirs {
		for at := 0; at < len(d.files); {
			end, sum := at, int64(0)
			for end < len(d.files) && end-at < most && sum < bytes {
				sum += d.files[end].size
				end++
			}
			out = append(out, task{d, d.files[at:end]})
			at = end
		}
	}
	slices.Reverse(out) // each takes the last one first
	return out
}

// batch copies the files of a task.
func (c *copier) batch(t task, _ func(task)) error {
	from, err := Open(c.src, t.d.rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return c.leave(join(t.d.rel, t.files[0].name), err)
	}
	defer unix.Close(from)
	to, err := unix.Openat(c.dst, t.d.rel, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return c.fault("open", t.d.rel, err)
	}
	defer unix.Close(to)
	w := worker{copier: c, buf: c.buffer()}
	defer c.buffers.Put(&w.buf)
	var entries []Entry
	for _, f := range t.files {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		e, err := w.one(from, to, f)
		at := join(t.d.rel, f.name)
		var unreadable *unreadableError
		switch {
		case errors.As(err, &unreadable):
			if err := c.leave(at, unreadable.err); err != nil {
				return err
			}
			continue
		case err != nil:
			return c.fault("copy", at, err)
		}
		if c.o.Record {
			e.Path = at
			entries = append(entries, e)
		}
	}
	if len(entries) > 0 {
		c.mu.Lock()
		c.res.Entries = append(c.res.Entries, entries...)
		c.mu.Unlock()
	}
	return nil
}

// hardLinks gives copied files their other names.
func (c *copier) hardLinks() error {
	var known map[string]int
	if c.o.Record && len(c.links) > 0 {
		known = make(map[string]int, len(c.res.Entries))
		for i, e := range c.res.Entries {
			known[e.Path] = i
		}
	}
	for _, names := range c.links {
		for _, at := range names[1:] {
			err := unix.Linkat(c.dst, names[0], c.dst, at, 0)
			switch {
			case errors.Is(err, unix.ENOENT): // the first name was left out
				if err := c.leave(at, errors.New("another name of what was left out")); err != nil {
					return err
				}
				continue
			case err != nil:
				return c.fault("link", at, err)
			}
			if i, ok := known[names[0]]; ok {
				e := c.res.Entries[i]
				e.Path = at
				c.res.Entries = append(c.res.Entries, e)
			}
		}
	}
	return nil
}

// finish gives the folders their modes, times and attributes, the deepest
// first: a folder may be one that nothing can be looked up in.
func (c *copier) finish() error {
	slices.SortFunc(c.dirs, func(a, b *dir) int {
		return cmp.Or(cmp.Compare(strings.Count(b.rel, "/"), strings.Count(a.rel, "/")), cmp.Compare(b.rel, a.rel))
	})
	for _, d := range c.dirs {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if err := c.finishDir(d); err != nil {
			return c.fault("copy", d.rel, err)
		}
		if c.o.Record {
			c.res.Entries = append(c.res.Entries, entry(d.rel, d.st))
		}
	}
	return nil
}

func (c *copier) finishDir(d *dir) error {
	to, err := unix.Openat(c.dst, d.rel, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	if !c.noAttrs.Load() {
		if from, err := Open(c.src, d.rel, unix.O_RDONLY|unix.O_DIRECTORY); err == nil {
			c.attributes(from, to)
			unix.Close(from)
		}
	}
	if err := unix.Fchmod(to, keptMode(d.st.Mode)); err != nil {
		return err
	}
	return unix.UtimesNanoAt(to, ".", []unix.Timespec{d.st.Atim, d.st.Mtim}, 0)
}

// single copies a source that is one file.
func (c *copier) single(src, dst string, st unix.Stat_t) error {
	from, err := unix.Open(filepath.Dir(src), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: filepath.Dir(src), Err: err}
	}
	defer unix.Close(from)
	to, err := unix.Open(filepath.Dir(dst), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: filepath.Dir(dst), Err: err}
	}
	defer unix.Close(to)
	c.dst = to
	c.res.Files, c.res.Bytes = 1, st.Size
	if c.o.Progress != nil {
		c.o.Progress.Total.Store(st.Size)
	}
	if c.res.Shared = c.shares(c.src); !c.res.Shared {
		if err := roomFor(to, st.Blocks*512); err != nil {
			return err
		}
	}
	w := worker{copier: c, buf: c.buffer()}
	defer c.buffers.Put(&w.buf)
	e, err := w.contents(c.src, to, filepath.Base(dst), st)
	if err != nil {
		return &fs.PathError{Op: "copy", Path: src, Err: err}
	}
	if c.o.Record {
		e.Path = "."
		c.res.Entries = append(c.res.Entries, e)
	}
	return nil
}

func entry(rel string, st unix.Stat_t) Entry {
	return Entry{Path: rel, Mode: FileMode(st.Mode), Size: st.Size, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(), Ino: st.Ino}
}

// FileMode turns st_mode into the form of package fs.
func FileMode(m uint32) fs.FileMode {
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
