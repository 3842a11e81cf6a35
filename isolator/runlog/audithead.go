package runlog

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The head of the audit log: the number and hash of its last line.

// head is what audit.head says.
type head struct {
	seq    int64 // of the last line
	hash   string
	size   int64 // of audit.jsonl
	boot   string
	first  int64  // the oldest line kept
	before string // its prev
}

func (h head) String() string {
	s := fmt.Sprintf("%s %d %s %d %s %d %s", headWord, h.seq, h.hash, h.size, cmp.Or(h.boot, "-"), h.first, h.before)
	return fmt.Sprintf("%-*s\n", headSize-1, s)
}

var errNoHead = errors.New("the head is damaged")

func parseHead(text string) (head, error) {
	f := strings.Fields(text)
	if len(text) != headSize || len(f) != 7 || f[0] != headWord || len(f[2]) != len(noLine) || len(f[6]) != len(noLine) {
		return head{}, errNoHead
	}
	h := head{hash: f[2], boot: f[4], before: f[6]}
	for _, n := range []struct {
		to   *int64
		text string
	}{{&h.seq, f[1]}, {&h.size, f[3]}, {&h.first, f[5]}} {
		v, err := strconv.ParseInt(n.text, 10, 64)
		if err != nil || v < 0 {
			return head{}, errNoHead
		}
		*n.to = v
	}
	return h, nil
}

// headOf returns a head for these lines of a log: the chain goes on after the last one that can
// be read.
func headOf(lines [][]byte) head {
	h := head{hash: noLine, first: 1, before: noLine}
	for i, line := range lines {
		seq, prev, ok := chained(line)
		if !ok {
			continue
		}
		if i == 0 {
			h.first, h.before = seq, prev
		}
		h.seq, h.hash = seq, sum(line)
	}
	return h
}

// bootID names the time since the machine was started.
func bootID() string {
	// Every event asks, and os.ReadFile makes twice as many calls.
	fd, err := unix.Open("/proc/sys/kernel/random/boot_id", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "-"
	}
	defer unix.Close(fd)
	var id [64]byte
	n, err := unix.Read(fd, id[:])
	if text := strings.TrimSpace(string(id[:max(n, 0)])); err == nil && text != "" {
		return text
	}
	return "-"
}

func (l *audit) writeHead() error {
	_, err := l.file.WriteAt([]byte(l.head.String()), 0)
	return err
}

// beyond looks for the line that the head names, which may be the last of the
// file before, and returns the lines that follow it in the chain. once reports
// whether those are of one Append, as an inner leaves them that was killed
// before it wrote the head.
func beyond(lines [][]byte, h head) (found bool, more [][]byte, once bool) {
	at := h
	if found = h.seq == 0; !found && len(lines) > 0 {
		_, prev, ok := chained(lines[0])
		found = ok && prev == h.hash
	}
	once = true
	for _, line := range lines {
		seq, prev, ok := chained(line)
		switch {
		case !ok:
		case seq == h.seq && sum(line) == h.hash:
			found = true
		case found && seq == at.seq+1 && prev == at.hash:
			at.seq, at.hash = seq, sum(line)
			more = append(more, line)
			once = once && bytes.Equal(stamp(line), stamp(more[0]))
		}
	}
	return found, more, once
}
