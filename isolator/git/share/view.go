package share

import (
	"errors"
	"io"
	"maps"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/copytree"
)

// A view is an index as the box reads it: what the box wrote, as long as the host's is what was made of that,
// else what is made of the host's. Who has one open keeps it.
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

// view returns the view of an index, made anew when the host's is another one.
func (r *Server) view(name string) (*view, error) {
	r.views.mu.Lock()
	defer r.views.mu.Unlock()
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
	return r.addView(name, data, st), nil
}

// addView has the box read an index as this, while the host's is the one with that status.
func (r *Server) addView(name string, data []byte, st unix.Stat_t) *view {
	if len(r.views.byName) >= maxViews { // a box can make any number of worktrees
		maps.DeleteFunc(r.views.byName, func(other string, _ *view) bool { return other != r.Index() }) // of which the kernel keeps pages
	}
	v := &view{of: stampOf(&st), data: data, st: st}
	v.st.Size = int64(len(data))
	r.views.byName[name] = v
	return v
}

// replaceIndex gives the host what was made of an index of the box, which the box goes on reading: of what it
// has checked out with a filter, or line ends, it knows that the file is true, and git outside has yet to look.
func (r *Server) replaceIndex(m move, entered, written []byte) error {
	r.views.mu.Lock()
	defer r.views.mu.Unlock()
	var placed, now unix.Stat_t
	err := place(r.base(m.to), m.toDir, m.toLast, m.st.Mode, 0, func(f *os.File) error {
		return errors.Join(writeFor(f, entered, &m.st), unix.Fstat(int(f.Fd()), &placed))
	})
	if err != nil || unix.Fstatat(m.toDir, m.toLast, &now, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return err
	}
	placed.Ctim = now.Ctim // which the rename changed
	if written, err = r.Served(m.to, written); err == nil && stampOf(&now) == stampOf(&placed) {
		r.addView(m.to, written, now)
	}
	return nil
}
