package share

import (
	"cmp"
	"context"
	"os"
	"strings"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/copytree"
)

// handle is an open file.
type handle struct {
	r    *Server
	name string
	fd   int
	view *view // nobody writes it
}

func (h *handle) stat(st *unix.Stat_t) error {
	if h.view != nil {
		*st = h.view.st
		return nil
	}
	return unix.Fstat(h.fd, st)
}

// writes reports whether an open with these flags changes something.
func writes(flags uint32) bool {
	return flags&unix.O_ACCMODE != unix.O_RDONLY || flags&(unix.O_TRUNC|unix.O_CREAT) != 0
}

// open opens a plain file, and makes it where the flags say so.
func (r *Server) openFile(name string, flags, mode uint32) (h *handle, st unix.Stat_t, errno syscall.Errno) {
	if writes(flags) && !r.access(name).inPlace() {
		return nil, st, r.outside(name)
	}
	if isIndex(name) {
		view, err := r.view(name)
		if err != nil {
			return nil, st, fs.ToErrno(err)
		}
		return &handle{r: r, name: name, fd: -1, view: view}, view.st, 0
	}
	fd, fresh, err := r.openOrMake(name, flags, mode)
	if err != nil {
		return nil, st, fs.ToErrno(err)
	}
	h = &handle{r: r, name: name, fd: fd}
	err = unix.Fstat(fd, &st)
	switch {
	case err != nil:
	case st.Mode&unix.S_IFMT != unix.S_IFREG, !fresh && writes(flags) && r.locks.foreign(name, fd, ""):
		err = unix.EACCES
	case fresh:
		kernel.drain() // who holds a lock reads what is true now
		r.pins.forget()
	case flags&unix.O_TRUNC != 0:
		err = unix.Ftruncate(fd, 0)
		st.Size = 0
	}
	if err != nil {
		unix.Close(fd)
		return nil, st, fs.ToErrno(err)
	}
	return h, st, 0
}

// openOrMake opens a file, never cutting it, and says whether it made it.
func (r *Server) openOrMake(name string, flags, mode uint32) (fd int, fresh bool, err error) {
	how := int(flags &^ (unix.O_TRUNC | unix.O_CREAT | unix.O_EXCL | unix.O_NOCTTY | unix.O_DIRECT | fuse.FMODE_EXEC))
	if isLog(name) && flags&unix.O_ACCMODE != unix.O_RDONLY {
		how |= unix.O_APPEND // no line becomes another
	}
	if flags&unix.O_CREAT == 0 {
		fd, err = r.open(name, how)
		return fd, false, err
	}
	dir, last, err := r.folder(name)
	if err != nil {
		return -1, false, err
	}
	defer unix.Close(dir)
	fd, err = r.makeFile(name, dir, last, how, mode)
	if err == unix.EEXIST && flags&unix.O_EXCL == 0 {
		fd, err = copytree.Open(dir, last, how|unix.O_NONBLOCK)
		return fd, false, err
	}
	return fd, err == nil, err
}

// makeFile makes a file. One that is passing is noted before it has its name.
func (r *Server) makeFile(name string, dir int, last string, how int, mode uint32) (fd int, err error) {
	if !passing(name) {
		return copytree.Make(dir, last, how|unix.O_CREAT|unix.O_EXCL, mode&0o755)
	}
	if unix.Faccessat(dir, last, unix.F_OK, unix.AT_SYMLINK_NOFOLLOW) == nil {
		return -1, unix.EEXIST
	}
	base, temp := r.base(name), tempName()
	if fd, err = copytree.Make(base, temp, how|unix.O_CREAT|unix.O_EXCL, mode&0o755); err != nil {
		return -1, err
	}
	r.locks.made(name, fd, "")
	if err = unix.Renameat2(base, temp, dir, last, unix.RENAME_NOREPLACE); err != nil {
		unix.Close(fd)
		_ = r.locks.end(name, func() error { return unix.Unlinkat(base, temp, 0) })
		return -1, err
	}
	return fd, nil
}

// Open opens a file.
func (n *node) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	h, st, errno := n.r.openFile(n.name(), flags&^unix.O_CREAT, 0)
	if errno != 0 {
		return nil, 0, errno
	}
	if st.Ino != n.file {
		unix.Close(h.fd)
		if name := h.name; writes(flags) || !n.r.pins.with(name, n.file, true, func(pinned *handle) { h = pinned }) {
			n.r.pins.stale(name)
			return nil, 0, syscall.ESTALE
		}
	}
	return h, h.how(flags), 0
}

// how says what the kernel does with an open file. A line of a log comes in one piece: through its pages it
// would come in two where a page ends.
func (h *handle) how(flags uint32) uint32 {
	switch {
	case isLog(h.name) && writes(flags):
		return fuse.FOPEN_DIRECT_IO | fuse.FOPEN_NOFLUSH
	case h.r.covers(h.name):
		return fuse.FOPEN_KEEP_CACHE | fuse.FOPEN_NOFLUSH
	}
	return fuse.FOPEN_NOFLUSH
}

// Create makes a file.
func (n *node) Create(ctx context.Context, last string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	name := n.below(last)
	if !goodRef(name) || strings.HasPrefix(last, ours) {
		return nil, nil, 0, syscall.EACCES
	}
	n.r.names.Lock()
	h, st, errno := n.r.openFile(name, flags|unix.O_CREAT, mode)
	n.r.names.Unlock()
	if errno != 0 {
		return nil, nil, 0, errno
	}
	child := n.tell(ctx, name, &st, out, n.r.watch.generation.Load()-1) // nothing of a new file is kept
	return child, h, h.how(flags|unix.O_CREAT) &^ fuse.FOPEN_KEEP_CACHE, 0
}

// Read reads.
func (h *handle) Read(_ context.Context, into []byte, offset int64) (fuse.ReadResult, syscall.Errno) {
	if h.view != nil {
		data := h.view.data[min(offset, int64(len(h.view.data))):]
		return fuse.ReadResultData(data[:min(len(into), len(data))]), 0
	}
	return fuse.ReadResultFd(uintptr(h.fd), offset, len(into)), 0
}

// Write writes what may be written in place.
func (h *handle) Write(_ context.Context, data []byte, offset int64) (uint32, syscall.Errno) {
	var err error
	switch {
	case h.view != nil:
		return 0, syscall.EACCES
	case offset+int64(len(data)) > maxFile && !h.r.isOwn(h.name): // nobody's limit holds for the host's folder
		return 0, syscall.EFBIG
	case h.r.isSink(h.name):
		_, err = unix.Pwrite(h.fd, []byte(sinkText), 0)
		return uint32(len(data)), fs.ToErrno(err)
	case isLog(h.name):
		err = h.r.logLines(string(data), "")
	case h.r.access(h.name) == once:
		err = h.r.inPlace(h.name, string(data), offset)
	case goesOn().MatchString(h.name):
		err = h.r.named(h.name, string(data))
	}
	if err != nil {
		h.r.refuse(h.name, err)
		return 0, syscall.EACCES
	}
	length, err := unix.Pwrite(h.fd, data, offset) // what was opened to append does so
	return uint32(max(0, length)), fs.ToErrno(err)
}

// Fsync writes to the disk.
func (h *handle) Fsync(context.Context, uint32) syscall.Errno { return fs.ToErrno(unix.Fsync(h.fd)) }

// Release closes.
func (h *handle) Release(context.Context) syscall.Errno {
	if h.fd >= 0 {
		unix.Close(h.fd)
	}
	return 0
}

// list returns what is in a folder, without what the server is about to rename.
func (r *Server) list(base int, name string, want func(string) bool) ([]fuse.DirEntry, error) {
	fd, err := copytree.Open(base, cmp.Or(name, "."), unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	entries, err := f.ReadDir(-1)
	var out []fuse.DirEntry
	for _, e := range entries {
		if want(e.Name()) && !strings.HasPrefix(e.Name(), ours) {
			out = append(out, fuse.DirEntry{Name: e.Name(), Mode: cmp.Or(kinds[e.Type()], unix.S_IFREG)})
		}
	}
	return out, err
}

// kinds are those of what is listed that is no plain file.
var kinds = map[os.FileMode]uint32{os.ModeDir: unix.S_IFDIR, os.ModeSymlink: unix.S_IFLNK}
