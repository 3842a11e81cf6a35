package share

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/git/server"
)

// locks are the passing files that this box has made, with what tells each from another file of its name. They are noted
// in a file, so that the next server removes what one that was killed has left, and nobody else's.
type locks struct {
	mu    sync.Mutex
	at    string
	notes *os.File
	ours  map[string]string
	lines int
}

// maxNotes is how many lines the file has, besides those of what is there, before it is written anew.
const maxNotes = 1000

// mark tells a file from another one that gets its inode when it is gone; without a name it is that of an open one.
func mark(dir int, last string) string {
	var st unix.Statx_t
	if unix.Statx(dir, last, unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &st) != nil {
		return ""
	}
	return fmt.Sprintf("%d-%d.%d", st.Ino, st.Btime.Sec, st.Btime.Nsec)
}

// openLocks removes what a killed server has left, and begins anew.
func (r *repository) openLocks(at string) (*locks, error) {
	left, err := server.Left(at)
	if err != nil {
		return nil, err
	}
	r.removeLocks(left)
	r.removeTemps()
	l := &locks{at: at, ours: map[string]string{}}
	return l, l.begin()
}

// removeTemps removes what servers that are gone were about to rename.
func (r *repository) removeTemps() {
	for _, in := range []int{r.root, r.private} {
		fd, err := openBeneath(in, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			continue
		}
		f := os.NewFile(uintptr(fd), ".")
		names, _ := f.Readdirnames(-1)
		f.Close()
		for _, name := range names {
			var pid, n int
			if _, err := fmt.Sscanf(name, ours+"%d-%d", &pid, &n); err == nil && unix.Kill(pid, 0) == unix.ESRCH {
				_ = unix.Unlinkat(in, name, 0)
			}
		}
	}
}

// removeLocks removes passing files that are still the same, but for the log of a branch that is being renamed.
func (r *repository) removeLocks(left map[string]string) {
	for name, of := range left {
		if strings.HasSuffix(name, "/.tmp-renamed-log") {
			continue
		}
		dir, last, err := r.folder(name)
		if err != nil {
			continue
		}
		if mark(dir, last) == of {
			_ = unix.Unlinkat(dir, last, 0)
		}
		unix.Close(dir)
	}
}

// foreign reports whether a file with this name, in a folder or open, is a passing one that somebody else made.
func (l *locks) foreign(name string, dir int, last string) bool {
	if !passing().MatchString(name) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.ours[name]
	return of == "" || of != mark(dir, last)
}

// made notes a passing file of this box's before anybody is told that it is there.
func (l *locks) made(name string, dir int, last string) {
	if !passing().MatchString(name) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ours[name] = mark(dir, last)
	l.note(l.ours[name], name)
}

// end removes a file, or gives it another name. Until it is noted, nobody who has made another of that name is taken for the box.
func (l *locks) end(name string, remove func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := remove()
	if _, known := l.ours[name]; known && err == nil {
		delete(l.ours, name)
		l.note(server.Gone, name)
	}
	return err
}

func (l *locks) note(of, name string) {
	l.lines++
	fmt.Fprintf(l.notes, "%s %s\n", of, name) // one write
	if l.lines > maxNotes+2*len(l.ours) {
		_ = l.begin()
	}
}

// begin writes the file anew.
func (l *locks) begin() error {
	f, err := os.OpenFile(l.at+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	var text strings.Builder
	for name, of := range l.ours {
		text.WriteString(of + " " + name + "\n")
	}
	if _, err = f.WriteString(text.String()); err == nil {
		err = os.Rename(l.at+".new", l.at)
	}
	if err != nil {
		f.Close()
		return err
	}
	if l.notes != nil {
		l.notes.Close()
	}
	l.notes, l.lines = f, len(l.ours)
	return nil
}
