package shims

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/enr/inner/profile"
)

// Blocked counts the calls that the noop scripts of a box blocked. The scripts
// write to a pipe, so nothing grows on disk however much the box writes; what it
// writes is not believed but counted: lines that are a rule of the profile.
type Blocked struct {
	mu       sync.Mutex
	counts   map[string]int // by rule
	rest     []byte         // the line that is not complete
	overlong bool           // and is longer than any rule
	own      string         // the line that Take waits for
	seen     chan struct{}  // closed then

	pipe, hold *os.File
	done       chan struct{}
}

// takeWithin is how long Take waits.
const takeWithin = time.Second

// longest is the longest line that is looked at: more than a rule can be, and what a
// pipe takes in one piece (PIPE_BUF).
const longest = 4096

// CountBlocked makes a named pipe at path and counts, until Close, what comes
// through it.
func CountBlocked(path string, n profile.Noop) (*Blocked, error) {
	b := &Blocked{counts: map[string]int{}, done: make(chan struct{})}
	for _, r := range n.Rules {
		if r.Target == nil {
			b.counts[r.String()] = 0
		}
	}
	err := syscall.Mkfifo(path, 0o600)
	if err != nil {
		return nil, fmt.Errorf("pipe %q: %w", path, err)
	}
	if b.pipe, err = os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0); err != nil {
		return nil, err
	}
	// As long as a writer is there, reading does not end.
	if b.hold, err = os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0); err != nil {
		return nil, errors.Join(err, b.pipe.Close())
	}
	go func() {
		defer close(b.done)
		_, _ = io.Copy(b, b.pipe)
	}()
	return b, nil
}

// Close ends the counting once everything written is read, and returns how often each
// rule blocked a call; rules that never did are left out. Nothing of the box may be
// alive; if it is, its lines are not waited for.
func (b *Blocked) Close() map[string]int {
	b.hold.Close()
	_ = b.pipe.SetReadDeadline(time.Now().Add(time.Second))
	<-b.done
	b.pipe.Close()
	for rule, n := range b.counts {
		if n == 0 {
			delete(b.counts, rule)
		}
	}
	return b.counts
}

// Take returns what was counted since it was last called, as Close does, while the box goes on:
// what was written before, up to a line of its own that comes through the pipe after it.
func (b *Blocked) Take() map[string]int {
	seen := make(chan struct{})
	b.mu.Lock()
	b.own, b.seen = fmt.Sprintf("\x00%d", time.Now().UnixNano()), seen
	line := "\n" + b.own + "\n"
	b.mu.Unlock()
	_ = b.hold.SetWriteDeadline(time.Now().Add(takeWithin))
	if _, err := b.hold.WriteString(line); err == nil {
		select {
		case <-seen:
		case <-time.After(takeWithin): // the box writes too much
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[string]int{}
	for rule, n := range b.counts {
		if n > 0 {
			out[rule], b.counts[rule] = n, 0
		}
	}
	return out
}

// Write takes what the box wrote.
func (b *Blocked) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	size := len(p)
	for {
		line, after, complete := bytes.Cut(p, []byte("\n"))
		if len(b.rest)+len(line) > longest {
			b.rest, b.overlong = b.rest[:0], true
		} else if !b.overlong {
			b.rest = append(b.rest, line...)
		}
		if !complete {
			return size, nil
		}
		if b.seen != nil && string(b.rest) == b.own {
			close(b.seen)
			b.seen = nil
		}
		if n, known := b.counts[string(b.rest)]; known && !b.overlong {
			b.counts[string(b.rest)] = n + 1
		}
		b.rest, b.overlong, p = b.rest[:0], false, after
	}
}
