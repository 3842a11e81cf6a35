package host

import (
	"io/fs"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/sensitive"
)

// A look through folders takes its time, and what somebody moves meanwhile, from a folder that was not read yet to one
// that was, no look has seen. So the folders in which secrets were looked for are looked at again at the end: most have
// not changed, and of the others the names are read anew.

// young is how many folders that were made since the look are looked into.
const young = 1000

// Moved returns a path that was there before the look and has come to its place since, so that it may be a secret
// that nobody has found; "" for none. What was made since is none, as a build or an editor makes it; ours are paths that
// inner has put there.
func (f Facts) Moved(ours func(path string) bool) string {
	if f.on == nil {
		return ""
	}
	m := mover{looker: f.on, ours: ours, left: young}
	for _, list := range f.on.inside {
		for _, dir := range list {
			m.in(dir.path, dir.notes, sensitive.Notable)
		}
	}
	for dir, w := range f.on.walked {
		m.in(dir, &w.notes, w.keep)
	}
	return m.found
}

// walked is a folder that patterns were looked for in, and what of it can matter to them.
type walked struct {
	notes
	keep func(name string, what fs.FileMode) bool
}

type mover struct {
	*looker
	ours  func(path string) bool
	left  int
	found string
}

// in finds what has come to a folder, if nothing was found yet.
func (m *mover) in(dir string, was *notes, keep func(string, fs.FileMode) bool) {
	var now syscall.Stat_t
	if m.found != "" || syscall.Lstat(dir, &now) != nil || now.Mode&syscall.S_IFMT != syscall.S_IFDIR || m.same(was, &now) {
		return // what is gone has come somewhere else, or nowhere
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		if err == unix.EACCES && was.known { // closed since, with what has come there
			m.found = dir
		}
		return
	}
	defer unix.Close(fd)
	list, err := files.List(fd, keep)
	if err != nil || !m.young(fd, "") && now.Ino != was.was.Ino && was.known {
		m.found = dir
		return
	}
	for _, e := range list {
		p := paths.Join(dir, e.Name)
		switch {
		case m.ours(p), was.known && slices.Contains(was.entries, e):
		case !m.young(fd, e.Name), m.left == 0:
			m.found = p
		case e.IsDir(): // in which something older may lie
			m.left--
			m.in(p, &notes{known: true}, keep)
		}
	}
}

// young reports whether something was made since the look began.
func (m *mover) young(dir int, name string) bool {
	var st unix.Statx_t
	err := unix.Statx(dir, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH, unix.STATX_BTIME, &st)
	born := time.Unix(st.Btime.Sec, int64(st.Btime.Nsec))
	return err == unix.ENOENT || err == nil && st.Mask&unix.STATX_BTIME != 0 && born.After(m.since)
}
