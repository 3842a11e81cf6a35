package share

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/nsenter"
)

// Box is where a box has what is served.
type Box struct {
	// User owns the mounts of the box, -1 when that is our own user namespace; Mounts are these.
	// Both are descriptors.
	User, Mounts int
	Objects      string // where the box has its store: it is bound over the folder of the objects
}

// Server serves one repository to one box.
type Server struct {
	r      *repository
	mounts []*fuse.Server
}

// Open opens the repository. What a killed server has left of lock files goes.
func Open(o Options) (*Server, error) {
	r := &repository{Options: o, root: -1, private: -1, uid: uint32(os.Getuid()), gid: uint32(os.Getgid()), views: views{byName: map[string]*view{}}, made: map[string]string{}}
	own := filepath.Join(o.Private, "own")
	err := os.MkdirAll(filepath.Join(own, "info"), 0o700)
	if err == nil {
		r.root, err = unix.Open(o.Dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err == nil {
		r.private, err = unix.Open(own, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err == nil {
		r.worktrees, err = r.hostsWorktrees()
	}
	if _, there := r.worktrees[o.Tree]; err == nil && o.Tree != "" && !there {
		err = fmt.Errorf("%s: no worktree %s", o.Dir, o.Tree)
	}
	if err == nil {
		r.locks, err = r.openLocks(filepath.Join(o.Private, "locks"))
	}
	if err != nil {
		return nil, err
	}
	kept, _ := filepath.Glob(filepath.Join(own, "worktrees/*"))
	for _, dir := range kept { // of one that is gone outside
		if _, there := r.worktrees[filepath.Base(dir)]; !there {
			_ = os.RemoveAll(dir)
		}
	}
	r.watch = newWatch(o.Dir, path.Join("worktrees", o.Tree), r.refreshSettings)
	return &Server{r: r}, nil
}

// looked is called at the first look of the box.
func (r *repository) looked() {
	r.refreshSettings()
	r.exclude = unix.Faccessat(r.private, "info/exclude", unix.F_OK, 0) == nil
}

// hostsWorktrees are the linked worktrees that are there.
func (r *repository) hostsWorktrees() (map[string]bool, error) {
	found := map[string]bool{}
	entries, err := os.ReadDir(filepath.Join(r.Dir, "worktrees"))
	if errors.Is(err, os.ErrNotExist) {
		return found, nil
	}
	for _, e := range entries {
		at, _ := os.ReadFile(filepath.Join(r.Dir, "worktrees", e.Name(), "gitdir")) // without one it is far
		top := r.topOf(e.Name(), strings.TrimSuffix(string(at), "\n"))
		found[e.Name()] = e.Name() != r.Tree && !strings.HasPrefix(top, r.Project+"/")
	}
	return found, err
}

// topOf is the folder of a worktree by the line of its gitdir, which may be relative.
func (r *repository) topOf(tree, line string) string {
	if !filepath.IsAbs(line) {
		line = filepath.Join(r.Dir, "worktrees", tree, line)
	}
	return filepath.Dir(line)
}

// Mount mounts the git directory in a box whose program does not run yet, and begins to serve. The refs
// are a mount of their own, where the kernel is told once that nothing is opened.
func (s *Server) Mount(b Box) error {
	r := s.r
	if b.User >= 0 {
		r.uid, r.gid = 0, 0 // what bwrap makes of us there, mostly
	}
	places := []string{r.Dir}
	if r.watch.covers("refs") {
		places = append(places, filepath.Join(r.Dir, "refs"))
	}
	from, objects, none := cstring(b.Objects), cstring(filepath.Join(r.Dir, "objects")), cstring("")
	store := nsenter.Mount(from, objects, none, unix.MS_BIND, none)
	for i, at := range places {
		var more []nsenter.Call
		if i > 0 { // the first is served by then
			more = append(more, store)
		}
		fd, err := r.mount(b, at, more...)
		if err != nil {
			return fmt.Errorf("the repository cannot be mounted in the sandbox: %w", err)
		}
		root := &node{r: r, refs: i > 0}
		server, err := serve(fd, root)
		if err != nil {
			return err
		}
		kernel.mu.Lock()
		r.watch.roots[i] = root
		kernel.mu.Unlock()
		s.mounts = append(s.mounts, server)
	}
	if len(places) > 1 {
		return nil
	}
	return b.asOwner(nsenter.Setns(b.Mounts, unix.CLONE_NEWNS), store)
}

// asOwner makes calls with the rights of who made the box's mounts.
func (b Box) asOwner(calls ...nsenter.Call) error {
	calls = append([]nsenter.Call{nsenter.Bound()}, calls...) // it waits for us, and has what keeps the kernel from seeing that we are gone
	if b.User >= 0 {
		calls = append([]nsenter.Call{nsenter.Setns(b.User, unix.CLONE_NEWUSER)}, calls...)
	}
	return nsenter.Do(calls...)
}

func cstring(s string) *byte {
	p, _ := syscall.BytePtrFromString(s) // paths have no zero byte
	return p
}

// mount makes one mount and returns its descriptor. /dev/fuse is the host's, so the box needs none. Who
// we are in the box's user namespace shows: 0, or we are ourselves.
func (r *repository) mount(b Box, at string, more ...nsenter.Call) (int, error) {
	fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0) // its number is taken
	if err != nil {
		return -1, err
	}
	for range 2 {
		options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d,max_read=%d", fd, r.uid, r.gid, maxRead)
		calls := []nsenter.Call{
			nsenter.Open(cstring("/dev/fuse"), unix.O_RDWR, fd), nsenter.Setns(b.Mounts, unix.CLONE_NEWNS),
			nsenter.Mount(cstring("inner"), cstring(at), cstring("fuse.inner"), unix.MS_NODEV|unix.MS_NOSUID|unix.MS_NOATIME, cstring(options)),
		}
		err = b.asOwner(slices.Concat(calls[:2], letGo(fd), calls[2:], more)...)
		if err != unix.EINVAL {
			break
		}
		r.uid, r.gid = uint32(os.Getuid()), uint32(os.Getgid())
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	mounted.Store(fd, true)
	return fd, nil
}

// mounted are the descriptors of the mounts of this process.
var mounted sync.Map

// letGo has a fork that makes another mount give up what it has of these, before it walks through one: it would wait for
// ever for a server that is gone, whose mount ends with the last of its descriptors.
func letGo(fresh int) []nsenter.Call {
	calls := []nsenter.Call{{Number: unix.SYS_UNSHARE, Args: [6]uintptr{unix.CLONE_FILES}}}
	mounted.Range(func(fd, _ any) bool {
		if fd != fresh {
			calls = append(calls, nsenter.Call{Number: unix.SYS_CLOSE_RANGE, Args: [6]uintptr{uintptr(fd.(int)), uintptr(fd.(int))}})
		}
		return true
	})
	return calls
}

// How much one request reads and writes at most. Each reader of requests has a buffer for what is written.
const (
	maxRead  = 1 << 20
	maxWrite = 128 << 10
)

func serve(fd int, root *node) (*fuse.Server, error) {
	var none time.Duration
	raw := fs.NewNodeFS(root, &fs.Options{EntryTimeout: &none, AttrTimeout: &none, NegativeTimeout: &none})
	server, err := fuse.NewServer(requests{raw}, fmt.Sprintf("/dev/fd/%d", fd), &fuse.MountOptions{
		DisableXAttrs: true, MaxWrite: maxWrite, MaxReadAhead: maxRead, IgnoreSecurityLabels: true,
	})
	if err == nil {
		go server.Serve()
	}
	return server, err
}

// Wait returns when the box has no mount of it any more, and removes what is left of locks.
func (s *Server) Wait() {
	s.mounts[0].Wait()
	s.r.locks.mu.Lock()
	defer s.r.locks.mu.Unlock()
	s.r.removeLocks(s.r.locks.ours)
}
