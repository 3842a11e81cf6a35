package share

import (
	"context"
	"hash/fnv"
	"path"
	"syscall"
	"time"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/copytree"
)

// node is one file. Its place in the tree is the library's to know.
type node struct {
	fs.Inode
	r    *Server
	file uint64 // its inode, 0 for that of the root
}

// name is the node's, relative to the git directory.
func (n *node) name() string { return n.Path(n.Root()) }

func (n *node) below(name string) string { return path.Join(n.name(), name) }

// attributes are what the kernel is told of a file. Its owner is who asks: nobody else can.
func attributes(ctx context.Context, st *unix.Stat_t, inode uint64, out *fuse.Attr) {
	out.FromStat((*syscall.Stat_t)(unsafe.Pointer(st))) // the same struct, of two packages
	out.Ino = inode
	if caller, known := fuse.FromContext(ctx); known {
		out.Owner = caller.Owner
	}
}

// stat looks at a name, as the box sees it.
func (n *node) stat(name string, st *unix.Stat_t) error {
	if err := n.r.stat(name, st); err != nil || !isIndex(name) || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return err
	}
	view, err := n.r.view(name)
	if err == nil {
		*st = view.st
	}
	return err
}

// number is the inode that the kernel is told: a file that takes another's place is another one, so that
// what is mapped keeps what it had.
func number(name string, file uint64) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return h.Sum64()>>1 ^ file<<20 ^ file
}

// lasting is how long the kernel keeps what the watch takes back.
const lasting = time.Hour

// brief is how long it keeps that a ref, or its log, is a file: the person may have made a folder of it, and
// below a file the kernel asks for nothing.
var brief = 20 * time.Second

// tell makes the node of a name, and tells the kernel of it. generation is that of the watch before
// the file was looked at.
func (n *node) tell(ctx context.Context, name string, st *unix.Stat_t, out *fuse.EntryOut, generation uint64) *fs.Inode {
	kind := st.Mode & unix.S_IFMT
	inode := number(name, st.Ino)
	attributes(ctx, st, inode, &out.Attr)
	if n.r.keeps(name, generation) {
		out.SetEntryTimeout(lasting)
		out.SetAttrTimeout(lasting)
		if top := firstPart(name); kind == unix.S_IFREG && (top == "refs" || top == "logs") {
			out.SetEntryTimeout(brief)
		}
	}
	return n.NewInode(ctx, &node{r: n.r, file: st.Ino}, fs.StableAttr{Mode: kind, Ino: inode})
}

// Lookup finds a name.
func (n *node) Lookup(ctx context.Context, last string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	name := n.below(last)
	switch name {
	case "objects", "modules": // where something is mounted
	default:
		if n.r.begin.Do(n.r.looked); n.r.unset {
			return nil, syscall.EIO
		}
	}
	if name == "config" || name == "config.worktree" {
		n.r.refreshSettings()
	}
	generation := n.r.watch.generation.Load()
	var st unix.Stat_t
	if err := n.stat(name, &st); err != nil {
		if err == unix.ENOENT {
			out.SetEntryTimeout(n.r.missing(name)) // see requests.Lookup
		}
		return nil, fs.ToErrno(err)
	}
	if st.Mode&unix.S_IFMT == unix.S_IFREG && n.r.pins.wanted(name) {
		h, opened, errno := n.r.openFile(name, unix.O_RDONLY, 0)
		if errno != 0 {
			return nil, errno
		}
		st = opened
		n.r.pins.put(name, pin{h: h, file: st.Ino})
	}
	return n.tell(ctx, name, &st, out, generation), 0
}

// Getattr looks at the node again. Of another file that is at its name by now it says ESTALE: the
// kernel then asks for the name.
func (n *node) Getattr(ctx context.Context, f fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	name := n.name()
	generation := n.r.watch.generation.Load()
	var st unix.Stat_t
	if h, opened := f.(*handle); opened {
		if err := h.stat(&st); err != nil {
			return fs.ToErrno(err)
		}
	} else if err := n.stat(name, &st); err != nil {
		return fs.ToErrno(err)
	} else if n.file != 0 && st.Ino != n.file && !n.r.pins.with(name, n.file, false, func(pinned *handle) { _ = pinned.stat(&st) }) {
		n.r.pins.stale(name)
		return syscall.ESTALE
	}
	attributes(ctx, &st, n.StableAttr().Ino, &out.Attr)
	if n.r.keeps(name, generation) {
		out.SetTimeout(lasting)
	}
	return 0
}

// Setattr sets size and permissions. Times are those of the kernel: git sets none here, and one that a box
// chose would hide a change.
func (n *node) Setattr(ctx context.Context, f fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	name := n.name()
	size, cut := in.GetSize()
	if a := n.r.access(name); !a.inPlace() || (a == once || isLog(name)) && size != 0 {
		return syscall.EACCES
	}
	n.r.names.Lock()
	defer n.r.names.Unlock()
	flags := unix.O_RDONLY
	if cut {
		flags = unix.O_WRONLY
	}
	fd, err := n.r.open(name, flags)
	if err != nil {
		return fs.ToErrno(err)
	}
	defer unix.Close(fd)
	if n.r.locks.foreign(name, fd, "") {
		return syscall.EACCES
	}
	if cut {
		err = unix.Ftruncate(fd, int64(size))
	}
	if mode, set := in.GetMode(); set && err == nil {
		err = unix.Fchmod(fd, mode&0o755)
	}
	if err != nil {
		return fs.ToErrno(err)
	}
	return n.Getattr(ctx, f, out)
}

// Readdir lists a folder: where both have names, what is the host's and what is the box's own.
func (n *node) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	name := n.name()
	of := n.r.base(name)
	list, err := n.r.list(of, name, func(s string) bool { return n.r.base(path.Join(name, s)) == of })
	if mixed(name) && err == nil {
		private, _ := n.r.list(n.r.private, name, func(s string) bool { return n.r.isOwn(path.Join(name, s)) })
		list = append(list, private...)
	}
	return fs.NewListDirStream(list), fs.ToErrno(err)
}

// OpendirHandle has the kernel keep the list of a folder that is watched.
func (n *node) OpendirHandle(ctx context.Context, _ uint32) (fs.FileHandle, uint32, syscall.Errno) {
	stream, errno := n.Readdir(ctx)
	if errno != 0 {
		return nil, 0, errno
	}
	h := &listing{stream.(fs.FileReaddirenter), stream.(fs.FileSeekdirer)}
	if n.r.covers(n.name()) {
		return h, fuse.FOPEN_CACHE_DIR | fuse.FOPEN_KEEP_CACHE, 0
	}
	return h, 0, 0
}

// listing goes on where the kernel is when it drops what it kept: git takes an error there for the end.
type listing struct {
	fs.FileReaddirenter
	fs.FileSeekdirer
}

// Readlink reads a link of the host's; the box makes none.
func (n *node) Readlink(context.Context) ([]byte, syscall.Errno) {
	target, err := copytree.ReadLink(n.r.base(n.name()), n.name())
	return []byte(target), fs.ToErrno(err)
}

// Statfs is that of the host's file system.
func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	var st syscall.Statfs_t
	err := syscall.Fstatfs(n.r.root, &st)
	if err == nil {
		out.FromStatfsT(&st)
	}
	return fs.ToErrno(err)
}
