package share

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// locks are the passing files that this box has made, by the numbers of their inodes. They are noted
// in a file, so that the next server removes what one that was killed has left, and nobody else's.
type locks struct {
	mu    sync.Mutex
	notes *os.File
	ours  map[string]uint64
	lines int
}

// maxNotes is how many lines the file may have before it is emptied when nothing is locked.
const maxNotes = 1000

// Locks reports whether a server that was killed may have left lock files.
func Locks(private string) bool {
	left, err := leftLocks(filepath.Join(private, "locks"))
	return err != nil || len(left) > 0
}

// leftLocks reads the file of notes.
func leftLocks(at string) (map[string]uint64, error) {
	data, err := os.ReadFile(at)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	left := map[string]uint64{}
	for line := range bytes.Lines(data) {
		number, name, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		var inode uint64
		if _, err := fmt.Sscan(number, &inode); ok && err == nil {
			if left[name] = inode; inode == 0 {
				delete(left, name)
			}
		}
	}
	return left, nil
}

// openLocks removes what a killed server has left, and begins anew.
func (r *repository) openLocks(at string) (*locks, error) {
	left, err := leftLocks(at)
	if err != nil {
		return nil, err
	}
	r.removeLocks(left)
	f, err := os.OpenFile(at, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	return &locks{notes: f, ours: map[string]uint64{}}, err
}

// removeLocks removes lock files that are still the same.
func (r *repository) removeLocks(left map[string]uint64) {
	for name, inode := range left {
		if !strings.HasSuffix(name, ".lock") {
			continue
		}
		dir, last, err := r.folder(name)
		if err != nil {
			continue
		}
		var st unix.Stat_t
		if unix.Fstatat(dir, last, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Ino == inode {
			_ = unix.Unlinkat(dir, last, 0)
		}
		unix.Close(dir)
	}
}

// foreign reports whether a file with this name and inode is a passing one that somebody else made.
func (l *locks) foreign(name string, st *unix.Stat_t) bool {
	if !passing.MatchString(name) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	inode, known := l.ours[name]
	return !known || inode != st.Ino
}

// made notes a passing file of this box's before anybody is told that it is there.
func (l *locks) made(name string, inode uint64) {
	if !passing.MatchString(name) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ours[name] = inode
	l.note(inode, name)
}

// gone notes that one is not there any more.
func (l *locks) gone(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.ours[name]; !known {
		return
	}
	delete(l.ours, name)
	l.note(0, name)
	if len(l.ours) == 0 && l.lines > maxNotes {
		_ = l.notes.Truncate(0)
		l.lines = 0
	}
}

func (l *locks) note(inode uint64, name string) {
	l.lines++
	fmt.Fprintf(l.notes, "%d %s\n", inode, name) // one write
}
