package share

import (
	"io"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/copytree"
)

// A view is an index as the box reads it, where that is not what the host has. Who has one open keeps it.
type view struct {
	of   stamp
	data []byte
	st   unix.Stat_t // of the host's, with the size of the view
}

// stamp tells whether a file is still the same.
type stamp struct {
	dev, inode         uint64
	size, mtime, ctime int64
}

func stampOf(st *unix.Stat_t) stamp {
	return stamp{st.Dev, st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()}
}

// maxViews is how many are kept that nobody has open.
const maxViews = 8

// views are the latest of each index.
type views struct {
	mu     sync.Mutex
	byName map[string]*view
}

// view returns the view of an index.
func (r *Server) view(name string) (*view, error) {
	r.views.mu.Lock()
	defer r.views.mu.Unlock()
	return r.present(name)
}

// present makes the view anew when the host's index is another one.
func (r *Server) present(name string) (*view, error) {
	host, _, err := copytree.Regular(r.base(name), name)
	if err != nil {
		return nil, err
	}
	defer host.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(host.Fd()), &st); err != nil {
		return nil, err
	}
	old := r.views.byName[name]
	if old != nil && old.of == stampOf(&st) {
		return old, nil
	}
	data, err := io.ReadAll(io.LimitReader(host, maxFile))
	if err == nil {
		data, err = r.Served(name, data)
	}
	if err != nil {
		return nil, err
	}
	if len(r.views.byName) == maxViews { // a box can make any number of worktrees
		clear(r.views.byName)
	}
	v := &view{of: stampOf(&st), data: data, st: st}
	v.st.Size = int64(len(data))
	r.views.byName[name] = v
	return v, nil
}
