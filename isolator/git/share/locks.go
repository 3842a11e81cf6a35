package share

import (
	"sync"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/copytree"
)

// locks are the passing files that this box has made, with what tells each from another file of its name.
type locks struct {
	mu   sync.Mutex
	ours map[string]string
	over bool // it makes none any more
}

// foreign reports whether a file with this name, in a folder or open, is a passing one that somebody else made.
func (l *locks) foreign(name string, dir int, last string) bool {
	if !passing(name) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.ours[name]
	return of == "" || of != files.Identity(dir, last)
}

// change removes what is called from, or gives what of identifies the name to; either may be "". Until that is done
// nobody is told of it, and nobody who has made another file of that name is taken for the box.
func (l *locks) change(from, to, of string, do func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over && passing(to) {
		return unix.EIO
	}
	if err := do(); err != nil {
		return err
	}
	delete(l.ours, from)
	if passing(to) {
		l.ours[to] = of
	}
	return nil
}

// leave removes those of the box, which makes none any more: its programs end where they are, and whoever comes to
// such a file takes it for a git's that goes on. The log of a branch that is being renamed stays.
func (r *Server) leave() {
	r.locks.mu.Lock()
	defer r.locks.mu.Unlock()
	r.locks.over = true
	for name, of := range r.locks.ours {
		_ = copytree.In(r.base(name), name, func(parent int, last string) error {
			if last == ".tmp-renamed-log" || files.Identity(parent, last) != of {
				return nil
			}
			return unix.Unlinkat(parent, last, 0)
		})
	}
}
