package share

import (
	"fmt"
	"os"
	"path"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/git/server"
)

// maxFile is how large a file may be that is looked at as a whole: an index of some three million files.
const maxFile = 512 << 20

// base is the folder that a name lies in.
func (r *Server) base(name string) int {
	if r.isOwn(name) {
		return r.private
	}
	return r.root
}

// folder opens the folder that a name is in, and returns its last part. The caller closes it.
func (r *Server) folder(name string) (dir int, last string, err error) {
	base, at := r.base(name), path.Dir(name)
	if base == r.private && at != "." && mixed(at) { // the host's lies elsewhere
		_, _ = unix.Mkdirat(base, path.Dir(at), 0o700), unix.Mkdirat(base, at, 0o700)
	}
	dir, err = copytree.Open(base, at, unix.O_PATH|unix.O_DIRECTORY)
	return dir, path.Base(name), err
}

// open opens a name for reading or writing, not for making it.
func (r *Server) open(name string, flags int) (int, error) {
	return copytree.Open(r.base(name), name, flags|unix.O_NONBLOCK)
}

// stat looks at a name, and follows no link.
func (r *Server) stat(name string, st *unix.Stat_t) (err error) {
	if strings.Contains(name, "/") {
		*st, err = copytree.Lstat(r.base(name), name)
		return err
	}
	return unix.Fstatat(r.base(name), name, st, unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH)
}

// readAt reads a plain file in a folder.
func readAt(dir int, name string) ([]byte, error) { return copytree.Read(dir, name, maxFile) }

// ours begins the names of what is not served.
const ours = server.Ours

var written atomic.Int64

func tempName() string { return fmt.Sprintf("%s%d-%d", ours, os.Getpid(), written.Add(1)) }

// place writes a file in a folder above, or in that of the name, and renames it there.
func place(above, dir int, name string, mode uint32, flags uint, fill func(*os.File) error) error {
	temp := tempName()
	fd, err := copytree.Make(above, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, mode&0o755)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), temp)
	err = fill(f)
	f.Close()
	if err == nil {
		err = unix.Renameat2(above, temp, dir, name, flags)
	}
	if err != nil {
		_ = unix.Unlinkat(above, temp, 0)
	}
	return err
}

// writeFor writes what takes the place of a box's file, with its time, which the kernel gave it: an index that
// looks younger than it is would hide what was changed in that moment.
func writeFor(f *os.File, data []byte, st *unix.Stat_t) error {
	if _, err := f.Write(data); err != nil {
		return err
	}
	return unix.UtimesNanoAt(int(f.Fd()), "", []unix.Timespec{st.Mtim, st.Mtim}, unix.AT_EMPTY_PATH)
}
