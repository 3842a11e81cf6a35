package runlog

// The audit log: one line per decision, in one chain.
//
// LOGS/audit.jsonl holds JSON lines. Each has the number of the line (seq) and the SHA-256 of the
// line before it (prev), newline left out. LOGS/audit.head, of one fixed size and written in place,
// holds both ends of the chain: the number and hash of the last line, and the link of the oldest one
// that is kept. It is the lock, too: whoever appends holds flock on it.
//
// The rule is that every line follows the one before, from the one end to the other. Verify says where
// that is not so; a writer goes on after the line that the head names, whatever the log holds, so that
// what was done to it stays visible. The order of writing is that a crash is no change:
//
//  1. the lines of one Append, by one write
//  2. the head
//
// An inner killed between the two leaves lines that follow the head's, which the next writer counts
// in; one killed within the first leaves a last line without its end, which the next writer names in a
// line of its own ("recovered"). When the machine stops, the disk may have kept the head and lost
// lines: those are missing, and the next writer notes that the machine was started since.
//
// A file that is full becomes audit.jsonl.1, that one .2, and so on; the oldest goes, and the
// chain goes on. The head says so before it is done.

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Sizes of the audit log: at most keptAudit older files of about maxAudit bytes, 20 MiB in all.
const (
	maxAudit  = 4 << 20
	keptAudit = 4
)

const (
	auditFile = "audit.jsonl"
	headFile  = "audit.head"
	headSize  = 256
	// maxText is the longest text of a field that is kept: texts come from strangers.
	maxText = 4096
	// lockPatience is the longest an event waits for other writers, each of which takes some
	// microseconds.
	lockPatience = 5 * time.Second
)

// noLine stands for the hash of the line before the first one.
const noLine = "0000000000000000000000000000000000000000000000000000000000000000"

// Append adds events to the audit log in dir, which it creates. Nothing is synced to the disk.
func Append(dir string, events ...Event) error {
	l, err := lockAudit(dir, true)
	if err == nil {
		err = errors.Join(l.append(events, maxAudit), l.file.Close())
	}
	if err != nil {
		return fmt.Errorf("audit log: %w", cause(err))
	}
	return nil
}

// head is what audit.head says.
type head struct {
	seq    int64 // of the last line
	hash   string
	size   int64  // of audit.jsonl
	boot   string // the time since the machine was started in which that was written
	first  int64  // the oldest line kept
	before string // its prev
}

const headForm = "inner-audit-1 %d %s %d %s %d %s"

func (h head) String() string {
	return fmt.Sprintf("%-*s\n", headSize-1, fmt.Sprintf(headForm, h.seq, h.hash, h.size, h.boot, h.first, h.before))
}

// parseHead reads a head; of none, or a damaged one, it is that of an empty log.
func parseHead(text string) (h head, whole bool) {
	n, err := fmt.Sscanf(text, headForm, &h.seq, &h.hash, &h.size, &h.boot, &h.first, &h.before)
	if err != nil || n != 6 || len(text) != headSize || len(h.hash) != len(noLine) || len(h.before) != len(noLine) {
		return head{hash: noLine, first: 1, before: noLine}, false
	}
	return h, true
}

// bootID names the time since the machine was started.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if f := strings.Fields(string(id)); err == nil && len(f) == 1 {
		return f[0]
	}
	return "-"
}

// audit is the log, locked.
type audit struct {
	dir   string
	file  *os.File // the head
	head  head
	whole bool // there is a head
}

// lockAudit opens the head and locks it, to write or to read.
func lockAudit(dir string, write bool) (*audit, error) {
	flags, how := os.O_RDONLY, syscall.LOCK_SH
	if write {
		flags, how = os.O_RDWR|os.O_CREATE, syscall.LOCK_EX
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(filepath.Join(dir, headFile), flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockWithin(f, how, lockPatience); err != nil {
		return nil, errors.Join(fmt.Errorf("%s cannot be locked: %w", f.Name(), err), f.Close())
	}
	var text [headSize + 1]byte
	n, err := f.ReadAt(text[:], 0)
	if err != nil && err != io.EOF {
		return nil, errors.Join(err, f.Close())
	}
	l := &audit{dir: dir, file: f}
	l.head, l.whole = parseHead(string(text[:n]))
	return l, nil
}

// lockWithin waits for a lock, and not longer than that.
func lockWithin(f *os.File, how int, patience time.Duration) error {
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if err == nil || err != syscall.EWOULDBLOCK && err != syscall.EINTR || time.Now().After(end) {
			return err
		}
	}
}

// path returns the n-th file of the log, 0 for the newest.
func (l *audit) path(n int) string {
	if n == 0 {
		return filepath.Join(l.dir, auditFile)
	}
	return filepath.Join(l.dir, auditFile+"."+strconv.Itoa(n))
}

// append adds events, and sets a file aside that is larger than most.
func (l *audit) append(events []Event, most int64) error {
	if fi, err := os.Stat(l.path(0)); err == nil && l.whole && fi.Size() == l.head.size && fi.Size() > most {
		if err := l.rotate(); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(l.path(0), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	boot := bootID()
	var text []byte
	switch {
	case !l.whole && size == 0: // a new log: whoever is killed after its first line has left a head
		l.head.boot = boot
		err = l.writeHead()
	case !l.whole || size != l.head.size:
		var note Event
		if note, err = l.settle(f, boot); note.Reason != "" {
			events = append([]Event{note}, events...)
		}
		if note.Torn > 0 {
			text = []byte{'\n'}
		}
	}
	if err != nil {
		return err
	}
	now := time.Now()
	for _, e := range events {
		e.Seq, e.Prev, e.Time = l.head.seq+1, l.head.hash, now
		for _, s := range []*string{&e.Command, &e.Program, &e.Host, &e.Reason, &e.Actor} {
			if len(*s) > maxText {
				*s = strings.ToValidUTF8((*s)[:maxText], "") + "…"
			}
		}
		line := line(e)
		text = append(append(text, line...), '\n')
		l.head.seq, l.head.hash = e.Seq, sum(line)
	}
	if _, err := f.Write(text); err != nil {
		return err
	}
	l.head.size, l.head.boot = size+int64(len(text)), boot
	return l.writeHead()
}

func (l *audit) writeHead() error {
	_, err := l.file.WriteAt([]byte(l.head.String()), 0)
	return err
}

// settle finds where the chain goes on in a log that is not as the head says: after the lines that
// follow the head's, and without a head after the last line. It returns what is to be noted, if
// there is a Reason.
func (l *audit) settle(f *os.File, boot string) (note Event, err error) {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<62))
	lines, rest := auditLines(data)
	for _, line := range lines {
		seq, prev, ok := chained(line)
		if ok && (!l.whole || seq == l.head.seq+1 && prev == l.head.hash) {
			l.head.seq, l.head.hash = seq, sum(line)
		}
	}
	var why []string
	if note.Type = EventRecovered; len(rest) > 0 {
		note.Torn, note.TornSum = len(rest), sum(rest)
		why = append(why, fmt.Sprintf("the last line had no end (%d bytes)", len(rest)))
	}
	switch {
	case !l.whole:
		note.Lost = lostHead
		why = append(why, "the head was missing or damaged")
	case int64(len(data)) < l.head.size && l.head.boot != boot:
		why = append(why, orLost)
	}
	note.Reason = strings.Join(why, "; ")
	return note, err
}

// orLost is what else may have become of the end of a log.
const orLost = "the end was cut off, or lost when the machine stopped: it was started since they were written"

// rotate sets the log aside. The head has to know before what goes, and that the file is a new
// one: a crash in between leaves a file too many, or a full one, which the next writer sets aside.
func (l *audit) rotate() error {
	data, _ := os.ReadFile(l.path(keptAudit - 1)) // none: nothing goes
	if lines, _ := auditLines(data); len(lines) > 0 {
		if seq, prev, ok := chained(lines[0]); ok {
			l.head.first, l.head.before = seq, prev
		}
	}
	l.head.size = 0
	if err := l.writeHead(); err != nil {
		return err
	}
	for i := keptAudit; i > 0; i-- {
		if err := os.Rename(l.path(i-1), l.path(i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func sum(line []byte) string {
	h := sha256.Sum256(line)
	return hex.EncodeToString(h[:])
}

// auditLines returns the lines of a file, and what has no end.
func auditLines(data []byte) (lines [][]byte, rest []byte) {
	parts := bytes.Split(data, []byte{'\n'})
	return parts[:len(parts)-1], parts[len(parts)-1]
}

// chained returns the link of a line, which is how it begins.
func chained(line []byte) (seq int64, prev string, ok bool) {
	n, err := fmt.Sscanf(string(line[:min(len(line), 110)]), `{"seq":%d,"prev":%q`, &seq, &prev)
	return seq, prev, err == nil && n == 2 && seq > 0 && len(prev) == len(noLine) && line[len(line)-1] == '}'
}
