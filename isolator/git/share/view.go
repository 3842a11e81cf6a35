package share

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// A view is an index as the box reads it, where that is not what the host has, in memory.
type view struct {
	of stamp
	f  *os.File
	st unix.Stat_t // of the host's, with the size of the view
}

// stamp tells whether a file is still the same.
type stamp struct {
	dev, inode         uint64
	size, mtime, ctime int64
}

func stampOf(st *unix.Stat_t) stamp {
	return stamp{st.Dev, st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()}
}

// views are the latest of each index.
type views struct {
	mu     sync.Mutex
	byName map[string]*view
}

// view returns a descriptor of the view of an index, and what stat says of it. The caller closes it.
func (r *repository) view(name string) (fd int, st unix.Stat_t, err error) {
	r.views.mu.Lock()
	defer r.views.mu.Unlock()
	v, err := r.present(name)
	if err != nil {
		return -1, st, err
	}
	fd, err = unix.FcntlInt(v.f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	return fd, v.st, err
}

// present makes the view anew when the host's index is another one.
func (r *repository) present(name string) (*view, error) {
	fd, err := r.open(name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	host := os.NewFile(uintptr(fd), name)
	defer host.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	old := r.views.byName[name]
	if old != nil && old.of == stampOf(&st) {
		return old, nil
	}
	data, err := readAll(host)
	if err == nil {
		data, err = r.Index.Served(name, data)
	}
	if err != nil {
		return nil, err
	}
	fd, err = unix.MemfdCreate("index", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(data); err != nil {
		f.Close()
		return nil, err
	}
	if old != nil {
		old.f.Close()
	}
	v := &view{of: stampOf(&st), f: f, st: st}
	v.st.Size = int64(len(data))
	r.views.byName[name] = v
	return v, nil
}
