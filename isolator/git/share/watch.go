package share

import (
	"encoding/binary"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/git/server"
)

// watch takes back what the kernel keeps of the files, when somebody outside, or another box, changes
// one.
//
// It is exact where git relies on it. Opening and looking come to the server once something was taken
// back, and it says ESTALE of a file that is not the one at its name any more. Whoever makes a lock file
// gets the answer when all changes until then were taken back: the folder's lock in the kernel orders a
// rename outside, its event, and the lock file. Entries are never taken back, since that message
// (FUSE_NOTIFY_INVAL_ENTRY) waits for the folder's lock, which a request may hold that waits for the
// server: one that is killed in that moment leaves a box that hangs. So what is missing is kept only
// where it cannot come. (FUSE_NOTIFY_INC_EPOCH, of Linux 6.16, takes away what is mounted below.)
type watch struct {
	top, tree  string   // the git directory, and in it the folder of the linked worktree, or of all
	root       *node    // nil before it is mounted
	watched    sync.Map // the names of the folders that are watched
	generation atomic.Uint64
	settings   func() // is called when those of the host have changed
}

// inotify is the one of this process, for all repositories that it serves: a user has few.
type inotify struct {
	once    sync.Once
	fd      int // -1 where the user has no more of them: then nothing is kept
	mu      sync.Mutex
	folders map[int32][]folder
}

// folder is one that is watched.
type folder struct {
	of   *watch
	name string
}

var kernel inotify

func (k *inotify) open() {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	k.fd, k.folders = fd, map[int32][]folder{}
	if err == nil {
		go k.run()
	}
}

const changes = unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_CREATE | unix.IN_DELETE | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW | unix.IN_EXCL_UNLINK

// mostFolders is how many folders are watched: the user has a bound for all programs together.
const mostFolders = 4096

func newWatch(top, tree string, settings func()) *watch {
	w := &watch{top: top, tree: tree, settings: settings}
	kernel.once.Do(kernel.open)
	kernel.mu.Lock()
	defer kernel.mu.Unlock()
	w.add("")
	w.addAll("refs")
	w.addAll("logs")
	w.add(tree)
	w.addAll(tree + "/logs")
	w.add("info")
	return w
}

// add watches a folder; what is in one that cannot be watched is not kept.
func (w *watch) add(name string) {
	if len(kernel.folders) >= mostFolders {
		return
	}
	at := folder{w, name}
	if wd, err := unix.InotifyAddWatch(kernel.fd, path.Join(w.top, name), changes); err == nil {
		if of := kernel.folders[int32(wd)]; !slices.Contains(of, at) {
			kernel.folders[int32(wd)] = append(of, at)
		}
		w.watched.Store(name, true)
		w.generation.Add(1)
	}
}

func (w *watch) addAll(name string) {
	_ = filepath.WalkDir(path.Join(w.top, name), func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			w.add(strings.TrimPrefix(p, w.top+"/"))
		}
		return nil
	})
}

// covers reports whether the kernel may keep what it is told of a name. What is the box's own it changes
// itself, but for its settings.
func (r *Server) covers(name string) bool {
	return !passing(name) && !r.isSink(name) && (r.isOwn(name) && name != server.OwnSettings || r.watch.covers(name))
}

// keeps reports whether it may, and nothing has changed since a generation.
func (r *Server) keeps(name string, generation uint64) bool {
	return r.covers(name) && (r.isOwn(name) || generation == r.watch.generation.Load())
}

// covers reports whether a name is watched.
func (w *watch) covers(name string) bool {
	switch name {
	case "", "HEAD", "packed-refs", "index", "refs", "logs", "objects", "hooks", server.OwnSettings:
		_, ok := w.watched.Load("")
		return ok
	case "info/exclude", "info/attributes":
		_, ok := w.watched.Load("info")
		return ok
	case w.tree, w.tree + "/HEAD", w.tree + "/index":
		_, ok := w.watched.Load(w.tree)
		return ok
	}
	if top := firstPart(name); top == "refs" || top == "logs" || strings.HasPrefix(name, w.tree+"/logs/") {
		_, ok := w.watched.Load(path.Dir(name))
		return ok
	}
	return false
}

// missing is how long the kernel may keep that a name is not there.
func (r *Server) missing(name string) time.Duration {
	switch name {
	case "commondir", "gitdir", "refs/HEAD", "refs/remotes/HEAD", "refs/tags/HEAD", "refs/heads/HEAD":
		return lasting // never there, or never served
	}
	if r.isOwn(name) && r.covers(name) {
		return lasting
	}
	return 0
}

// run takes back what changes.
func (k *inotify) run() {
	for {
		poll := []unix.PollFd{{Fd: int32(k.fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); err != nil && err != unix.EINTR {
			return
		}
		k.drain()
	}
}

// drain takes back what has changed until now.
func (k *inotify) drain() {
	k.mu.Lock()
	defer k.mu.Unlock()
	buf := make([]byte, 16<<10)
	for {
		n, err := unix.Read(k.fd, buf)
		if err != nil || n <= 0 {
			return
		}
		for rest := buf[:n]; len(rest) >= unix.SizeofInotifyEvent; {
			length := int(binary.NativeEndian.Uint32(rest[12:]))
			name, _, _ := strings.Cut(string(rest[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+length]), "\x00")
			k.event(int32(binary.NativeEndian.Uint32(rest)), binary.NativeEndian.Uint32(rest[4:]), name)
			rest = rest[unix.SizeofInotifyEvent+length:]
		}
	}
}

func (k *inotify) event(wd int32, mask uint32, name string) {
	if mask&unix.IN_Q_OVERFLOW != 0 {
		for _, list := range k.folders {
			for _, f := range list {
				f.of.changedAll(f.name)
			}
		}
	}
	for _, f := range k.folders[wd] {
		switch {
		case mask&unix.IN_IGNORED != 0:
			delete(k.folders, wd)
			f.of.watched.Delete(f.name)
		case !passing(path.Join(f.name, name)) && !strings.HasPrefix(name, ours):
			f.of.changed(f.name, name, mask)
		}
	}
}

// changedAll takes back all that is in a folder.
func (w *watch) changedAll(folder string) {
	w.generation.Add(1)
	if at := w.find(folder); at != nil {
		_ = at.NotifyContent(0, 0)
		for _, child := range at.Children() {
			_ = child.NotifyContent(0, 0)
		}
	}
}

func (w *watch) changed(folder, last string, mask uint32) {
	if last == "config" || last == "config.worktree" { // what the box has is made of both
		w.settings()
		folder, last = "", server.OwnSettings
	}
	name := path.Join(folder, last)
	made := mask&unix.IN_ISDIR != 0 && mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0
	if top := firstPart(name); made && (top == "refs" || top == "logs") {
		w.addAll(name)
	}
	w.generation.Add(1)
	at := w.find(folder)
	if at == nil {
		return
	}
	if mask&(unix.IN_MODIFY|unix.IN_ATTRIB) == 0 {
		_ = at.NotifyContent(0, 0)
	}
	if child := at.GetChild(last); child != nil {
		_ = child.NotifyContent(0, 0)
	}
}

// find returns the node of a folder, nil when the kernel was not told of it.
func (w *watch) find(folder string) *gofs.Inode {
	if w.root == nil {
		return nil
	}
	at := w.root.EmbeddedInode()
	for part := range strings.SplitSeq(folder, "/") {
		if part != "" && at != nil {
			at = at.GetChild(part)
		}
	}
	return at
}
