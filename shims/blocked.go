package shims

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/profile"
)

// Blocked counts the calls that the noop scripts of a box blocked. The scripts
// write to a pipe, so nothing grows on disk however much the box writes; what it
// writes is not believed but counted: lines that are a rule of the profile.
type Blocked struct {
	mu     sync.Mutex     // of reading, too: what was read is counted
	counts map[string]int // by rule
	rest   []byte         // the line that is not complete, or the beginning of one longer than any rule

	pipe *os.File
	conn syscall.RawConn
}

// longest is the longest line that is looked at: more than a rule can be, and what a
// pipe takes in one piece (PIPE_BUF).
const longest = 4096

// CountBlocked makes a named pipe at path and counts, until Close, what comes
// through it.
func CountBlocked(path string, n profile.Noop) (*Blocked, error) {
	b := &Blocked{counts: map[string]int{}}
	for _, r := range n.Rules {
		if r.Target == nil {
			b.counts[r.String()] = 0
		}
	}
	err := syscall.Mkfifo(path, 0o600)
	if err != nil {
		return nil, fmt.Errorf("pipe %q: %w", path, err)
	}
	// Open for both, it has no end while no script has it open (fifo(7)).
	if b.pipe, err = os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0); err != nil {
		return nil, err
	}
	if b.conn, err = b.pipe.SyscallConn(); err != nil {
		return nil, errors.Join(err, b.pipe.Close())
	}
	go func() {
		_ = b.conn.Read(func(fd uintptr) bool { // a full pipe would hold scripts up
			for b.read(fd) {
			}
			return false // there will be more, until it is closed
		})
	}()
	return b, nil
}

// Close returns what was counted since Take, and counts nothing from then on.
func (b *Blocked) Close() map[string]int {
	counted := b.Take()
	b.pipe.Close()
	return counted
}

// Take returns how often each rule blocked a call since it was last called; rules that never did are left out. The
// box may go on.
func (b *Blocked) Take() map[string]int {
	_ = b.conn.Control(func(fd uintptr) {
		for range 1 << 20 / longest { // or the box writes for ever
			if !b.read(fd) {
				break
			}
		}
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rest = nil // scripts write whole lines
	out := map[string]int{}
	for rule, n := range b.counts {
		if n > 0 {
			out[rule], b.counts[rule] = n, 0
		}
	}
	return out
}

// read counts what the pipe holds, a piece of it, and reports whether there was any.
func (b *Blocked) read(fd uintptr) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	var piece [longest]byte
	n, err := unix.Read(int(fd), piece[:])
	if err != nil || n <= 0 {
		return err == unix.EINTR
	}
	b.rest = append(b.rest, piece[:n]...)
	for {
		line, after, complete := bytes.Cut(b.rest, []byte("\n"))
		if !complete {
			break
		}
		if times, known := b.counts[string(line)]; known {
			b.counts[string(line)] = times + 1
		}
		b.rest = after
	}
	b.rest = b.rest[:min(len(b.rest), longest)]
	return true
}
