package share

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/git/server"
)

// Open opens a repository. What a killed server has left of lock files goes.
func Open(of server.Repository, gate Gate, tell func(server.Message)) (*Server, error) {
	r := &Server{Repository: of, Gate: gate, tell: tell, root: -1, private: -1, views: views{byName: map[string]*view{}}}
	own := filepath.Join(r.Private, "own")
	r.fill = sync.OnceValue(func() error {
		r.Leave()
		return r.Fill(own)
	})
	err := os.MkdirAll(filepath.Join(own, "info"), 0o700)
	if err == nil {
		r.root, err = unix.Open(r.Dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err == nil {
		r.private, err = unix.Open(own, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err == nil {
		r.worktrees, err = r.hostsWorktrees()
	}
	if _, there := r.worktrees[r.Tree]; err == nil && r.Tree != "" && !there {
		err = fmt.Errorf("%s: no worktree %s", r.Dir, r.Tree)
	}
	if err == nil {
		err = server.Sweep(r.Dir, r.Private)
	}
	if err == nil {
		r.locks = &locks{ours: map[string]string{}}
		r.locks.notes, err = os.OpenFile(filepath.Join(r.Private, "locks"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
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
	r.watch = newWatch(r.Dir, path.Join("worktrees", r.Tree), r.refreshSettings)
	return r, nil
}

// looked is called at the first look of the box.
func (r *Server) looked() {
	r.refreshSettings()
	r.settings.mu.Lock()
	r.unset = !r.settings.made // else those of the last run would count
	r.settings.mu.Unlock()
	r.exclude = unix.Faccessat(r.private, "info/exclude", unix.F_OK, 0) == nil
}

// hostsWorktrees are the linked worktrees that are there.
func (r *Server) hostsWorktrees() (map[string]bool, error) {
	found := map[string]bool{}
	entries, err := os.ReadDir(filepath.Join(r.Dir, "worktrees"))
	if errors.Is(err, os.ErrNotExist) {
		return found, nil
	}
	for _, e := range entries {
		found[e.Name()] = e.Name() != r.Tree && r.isFar(e.Name())
	}
	return found, err
}

// isFar reports whether a worktree is outside the project. No box makes one there.
func (r *Server) isFar(tree string) bool {
	line, err := readAt(r.root, path.Join("worktrees", tree, "gitdir"))
	return err == nil && !strings.HasPrefix(r.topOf(tree, strings.TrimSuffix(string(line), "\n")), r.Top+"/")
}

// topOf is the folder of a worktree by the line of its gitdir, which may be relative.
func (r *Server) topOf(tree, line string) string {
	if !filepath.IsAbs(line) {
		line = filepath.Join(r.Dir, "worktrees", tree, line)
	}
	return filepath.Dir(line)
}

// How much one request reads and writes at most. Each reader of requests has a buffer for what is written.
const (
	maxRead  = 1 << 20
	maxWrite = 128 << 10
)

// serve answers what comes from a mount.
func (r *Server) serve(fd int) error {
	var none time.Duration
	root := &node{r: r}
	raw := fs.NewNodeFS(root, &fs.Options{EntryTimeout: &none, AttrTimeout: &none, NegativeTimeout: &none})
	mount, err := fuse.NewServer(requests{raw}, fmt.Sprintf("/dev/fd/%d", fd), &fuse.MountOptions{
		DisableXAttrs: true, MaxWrite: maxWrite, MaxReadAhead: maxRead, IgnoreSecurityLabels: true,
	})
	if err != nil {
		return err
	}
	go mount.Serve()
	kernel.mu.Lock()
	r.watch.root = root
	kernel.mu.Unlock()
	return nil
}

// requests answers what the kernel need not ask again.
type requests struct{ fuse.RawFileSystem }

// Lookup has the kernel keep that a name is not there, where the node said for how long.
func (r requests) Lookup(cancel <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	status := r.RawFileSystem.Lookup(cancel, h, name, out)
	if status == fuse.ENOENT && out.EntryTimeout() > 0 {
		out.NodeId = 0
		return fuse.OK
	}
	return status
}

// Access is the kernel's to decide.
func (requests) Access(<-chan struct{}, *fuse.AccessIn) fuse.Status { return fuse.ENOSYS }

// Flush does nothing at a close.
func (requests) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.ENOSYS }
