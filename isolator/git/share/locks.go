package share

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/git/server"
)

// locks are the passing files that this box has made, with what tells each from another file of its name. They
// are noted in a file, so that the next server removes what one that was killed has left, and nobody else's.
type locks struct {
	mu    sync.Mutex
	notes *os.File
	lines int // in that
	ours  map[string]string
}

// maxNotes is how many lines the file has, besides those of what is there, before it is written anew.
const maxNotes = 1000

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

// made notes a passing file of this box's before anybody is told that it is there.
func (l *locks) made(name string, dir int, last string) {
	if !passing(name) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ours[name] = files.Identity(dir, last)
	l.note(l.ours[name], name)
}

// end removes a file, or gives it another name. Until it is noted, nobody who has made another of that name is
// taken for the box.
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
	if len(l.ours) == 0 {
		_, l.lines = l.notes.Truncate(0), 0
		return
	}
	l.lines++
	fmt.Fprintf(l.notes, "%s %s\n", of, name) // one write
	if l.lines > maxNotes+2*len(l.ours) {
		l.renew()
	}
}

// renew writes the file anew.
func (l *locks) renew() {
	var text strings.Builder
	for name, of := range l.ours {
		text.WriteString(of + " " + name + "\n")
	}
	if files.Replace(l.notes.Name(), []byte(text.String()), 0o600) != nil {
		return
	}
	if f, err := os.OpenFile(l.notes.Name(), os.O_WRONLY|os.O_APPEND, 0); err == nil {
		l.notes.Close()
		l.notes, l.lines = f, len(l.ours)
	}
}
