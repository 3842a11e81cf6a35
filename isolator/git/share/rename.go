package share

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/copytree"
)

// Mkdir makes a folder, of refs, of logs, or of the box's own.
func (n *node) Mkdir(ctx context.Context, last string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	name := n.below(last)
	a := n.r.access(name)
	if a == shown || a == once || !n.r.isOwn(name) && !isFolder(name) || a == added && len(last) == 64 || !goodRef(name) {
		return nil, n.r.outside(name)
	}
	dir, base, err := n.r.folder(name)
	if err != nil {
		return nil, fs.ToErrno(err)
	}
	defer unix.Close(dir)
	var st unix.Stat_t
	if err = unix.Mkdirat(dir, base, mode&0o755); err == nil {
		err = unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		return nil, fs.ToErrno(err)
	}
	return n.tell(ctx, name, &st, out, n.r.watch.generation.Load()-1), 0
}

// Unlink removes a file.
func (n *node) Unlink(_ context.Context, last string) syscall.Errno { return n.remove(last, 0) }

// Rmdir removes an empty folder.
func (n *node) Rmdir(_ context.Context, last string) syscall.Errno {
	return n.remove(last, unix.AT_REMOVEDIR)
}

func (n *node) remove(last string, flags int) syscall.Errno {
	name := n.below(last)
	if a := n.r.access(name); a == shown || a == added || n.r.stays(name) {
		return syscall.EACCES
	}
	n.r.names.Lock()
	defer n.r.names.Unlock()
	dir, base, err := n.r.folder(name)
	if err != nil {
		return fs.ToErrno(err)
	}
	defer unix.Close(dir)
	if n.r.locks.foreign(name, dir, base) && unix.Faccessat(dir, base, unix.F_OK, unix.AT_SYMLINK_NOFOLLOW) == nil {
		return syscall.EACCES
	}
	if mixed(name) {
		_ = unix.Unlinkat(n.r.private, name, flags) // the box's own of a worktree, if empty
	}
	changed := n.r.watchRefs(name)
	if err = n.r.locks.end(name, func() error { return unix.Unlinkat(dir, base, flags) }); err == nil {
		changed()
	}
	return fs.ToErrno(err)
}

// move is one rename.
type move struct {
	from, to         string
	fromDir, toDir   int
	fromLast, toLast string
	st               unix.Stat_t // of what is renamed
	flags            uint
}

// Rename renames. What takes a place that git outside trusts is written anew there, and what the box had goes.
func (n *node) Rename(_ context.Context, last string, parent fs.InodeEmbedder, newLast string, flags uint32) syscall.Errno {
	m := move{from: n.below(last), to: parent.(*node).below(newLast), flags: uint(flags)}
	if !n.r.mayMove(m) {
		return syscall.EACCES
	}
	return fs.ToErrno(n.r.rename(m))
}

// mayMove decides by the names alone.
func (r *Server) mayMove(m move) bool {
	from, to := r.access(m.from), r.access(m.to)
	switch {
	case from == shown || to == shown, from == added, from == once || to == once && path.Base(m.to) != "HEAD":
		return false
	case from == gated && to != gated: // nobody writes what was looked at
		return false
	}
	return m.flags&^unix.RENAME_NOREPLACE == 0 && goodRef(m.to) && !r.stays(m.from)
}

func (r *Server) rename(m move) (err error) {
	if m.fromDir, m.fromLast, err = r.folder(m.from); err != nil {
		return err
	}
	defer unix.Close(m.fromDir)
	if m.toDir, m.toLast, err = r.folder(m.to); err != nil {
		return err
	}
	defer unix.Close(m.toDir)
	r.names.Lock()
	defer r.names.Unlock()
	if err := unix.Fstatat(m.fromDir, m.fromLast, &m.st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	crosses := r.base(m.from) != r.base(m.to)
	if (crosses || !r.isOwn(m.from)) && (m.st.Mode&unix.S_IFMT != unix.S_IFREG || r.locks.foreign(m.from, m.fromDir, m.fromLast)) {
		return unix.EACCES
	}
	var there unix.Stat_t
	taken := unix.Fstatat(m.toDir, m.toLast, &there, unix.AT_SYMLINK_NOFOLLOW) == nil
	switch {
	case taken && m.flags&unix.RENAME_NOREPLACE != 0:
		return unix.EEXIST
	case taken && r.locks.foreign(m.to, m.toDir, m.toLast):
		return unix.EACCES
	case !taken && passing(m.to):
		m.flags |= unix.RENAME_NOREPLACE // somebody else may make it meanwhile
	}
	if r.access(m.to) == added {
		return r.add(m)
	}
	if a := r.access(m.to); crosses || a == gated || a == once || isLog(m.to) && !isLog(m.from) {
		return r.replace(m)
	}
	if r.startsSparse(m.to, m.fromDir, m.fromLast) {
		r.refuse(m.to, errors.New("a sparse checkout is for outside: git sparse-checkout"))
		return unix.EACCES
	}
	r.locks.made(m.to, m.fromDir, m.fromLast)
	if err := r.locks.end(m.from, func() error { return unix.Renameat2(m.fromDir, m.fromLast, m.toDir, m.toLast, m.flags) }); err != nil {
		_ = r.locks.end(m.to, func() error { return nil })
		return err
	}
	if m.to == "config" {
		r.settingsWritten()
	}
	return nil
}

// replace reads what is renamed, decides about it, and writes it anew in its place.
func (r *Server) replace(m move) error {
	data, err := readAt(m.fromDir, m.fromLast)
	if err != nil {
		return err
	}
	old, err := readAt(m.toDir, m.toLast)
	if err != nil && err != unix.ENOENT {
		return unix.EACCES // a link, or what else somebody outside has made there
	}
	entered, done, err := r.enter(m.to, data, old)
	if err != nil {
		r.refuse(m.to, err)
		return unix.EACCES
	}
	changed := r.watchRefs(m.from, m.to)
	if isIndex(m.to) {
		err = r.replaceIndex(m, entered, data)
	} else {
		err = place(r.base(m.to), m.toDir, m.toLast, m.st.Mode, 0, func(f *os.File) error { return writeFor(f, entered, &m.st) })
	}
	if err != nil {
		return err
	}
	_ = r.locks.end(m.from, func() error { return unix.Unlinkat(m.fromDir, m.fromLast, 0) }) // what is left of it is looked at again
	changed()
	if done != nil {
		done()
	}
	return nil
}

// add writes an object of git-lfs anew, which may be larger than what is looked at as a whole.
func (r *Server) add(m move) error {
	from, _, err := copytree.Regular(m.fromDir, m.fromLast)
	if err != nil {
		return err
	}
	defer from.Close()
	var disk unix.Statfs_t
	if unix.Fstatfs(m.toDir, &disk) != nil || uint64(m.st.Size) > disk.Bavail*uint64(disk.Bsize) {
		return unix.ENOSPC
	}
	err = place(r.base(m.to), m.toDir, m.toLast, m.st.Mode, unix.RENAME_NOREPLACE, func(f *os.File) error {
		sum := sha256.New()
		if _, err := io.CopyN(io.MultiWriter(f, sum), from, m.st.Size); err != nil {
			return unix.EIO
		}
		if id := hex.EncodeToString(sum.Sum(nil)); m.to != path.Join("lfs/objects", id[:2], id[2:4], id) {
			r.refuse(m.to, errors.New("not the hash of its content"))
			return unix.EACCES
		}
		return nil
	})
	if err == nil {
		_ = r.locks.end(m.from, func() error { return unix.Unlinkat(m.fromDir, m.fromLast, 0) })
	}
	return err
}

// outside refuses what the box may not write, and says of what git does there where that is done.
func (r *Server) outside(name string) syscall.Errno {
	switch _, rest := inTree(name); {
	case firstPart(name) == "modules":
		r.Say("git: submodules are added, and initialised for the first time, outside: git submodule add, git submodule update --init")
	case halfDone().MatchString(rest):
		r.Say("git: what you have half done goes on outside: git status says how")
	case strings.HasPrefix(name, "gc."):
		r.Say("git: the repository is cleaned up outside: git gc")
	case strings.HasPrefix(name, "shallow"):
		r.Say("git: where history begins is changed outside: git fetch")
	case strings.HasPrefix(name, "refs/replace"):
		r.Say("git: objects are replaced by others outside: git replace")
	}
	return syscall.EACCES
}

// refuse says why something did not enter. In the box git says that it was not permitted.
func (r *Server) refuse(name string, why error) {
	r.Say("git: %s: %s", name, strings.TrimPrefix(why.Error(), name+": "))
}
