package runlog

// The audit log: one line per decision, in one chain.
//
// LOGS/audit.jsonl holds JSON lines. Each has the number of the line (seq) and the SHA-256 of the
// line before it (prev), newline left out. LOGS/audit.head, of one fixed size and written in place,
// holds both ends of the chain: the number and hash of the last line, and the link of the oldest one
// that is kept. It is the lock, too: whoever appends holds flock on it.
//
// The rule is that every line follows the one before, from the one end to the other. Package records
// verifies that; a writer goes on after the line that the head names, whatever the log holds, so that
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
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/enr/inner/internal/files"
)

// Sizes of the audit log: at most keptAudit older files of about maxAudit bytes, 20 MiB in all.
const (
	maxAudit  = 4 << 20
	keptAudit = 4
)

// Names of the files of the audit log, of which older ones have a number behind their name.
const (
	AuditFile = "audit.jsonl"
	HeadFile  = "audit.head"
)

const (
	headSize = 256
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

// Head is what audit.head says; of none, or a damaged one, it is that of an empty log.
type Head struct {
	Whole  bool  // there is one
	Seq    int64 // of the last line
	Hash   string
	Size   int64  // of audit.jsonl
	Boot   string // the time since the machine was started in which that was written
	First  int64  // the oldest line kept
	Before string // its prev
}

const headForm = "inner-audit-1 %d %s %d %s %d %s"

func (h Head) String() string {
	return fmt.Sprintf("%-*s\n", headSize-1, fmt.Sprintf(headForm, h.Seq, h.Hash, h.Size, h.Boot, h.First, h.Before))
}

func parseHead(text string) Head {
	h := Head{Whole: true}
	_, err := fmt.Sscanf(text, headForm, &h.Seq, &h.Hash, &h.Size, &h.Boot, &h.First, &h.Before)
	if err != nil || len(text) != headSize || len(h.Hash) != len(noLine) || len(h.Before) != len(noLine) {
		return Head{Hash: noLine, First: 1, Before: noLine}
	}
	return h
}

// bootID names the time since the machine was started.
var bootID = sync.OnceValue(func() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return cmp.Or(strings.TrimSpace(string(id)), "-")
})

// Restarted reports whether the machine was started since the head was written.
func (h Head) Restarted() bool { return h.Boot != bootID() }

// audit is the log, locked by its head.
type audit struct {
	Head
	dir  string
	file *os.File
}

// lockAudit opens the log, to write or to read, and waits for its lock no longer than lockPatience.
func lockAudit(dir string, write bool) (*audit, error) {
	flags, how := os.O_RDONLY, syscall.LOCK_SH
	if write {
		flags, how = os.O_RDWR|os.O_CREATE, syscall.LOCK_EX
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(filepath.Join(dir, HeadFile), flags, 0o600)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(lockPatience); ; time.Sleep(time.Millisecond) {
		err = files.FlockFD(int(f.Fd()), how|syscall.LOCK_NB)
		if err != syscall.EWOULDBLOCK || time.Now().After(end) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s cannot be locked: %w", f.Name(), err), f.Close())
	}
	text, err := io.ReadAll(io.LimitReader(f, headSize+1))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &audit{parseHead(string(text)), dir, f}, nil
}

// path returns the n-th file of the log, 0 for the newest.
func (l *audit) path(n int) string {
	name := AuditFile
	if n > 0 {
		name += "." + strconv.Itoa(n)
	}
	return filepath.Join(l.dir, name)
}

// append adds events, and sets a file aside that is larger than most.
func (l *audit) append(events []Event, most int64) error {
	if fi, err := os.Stat(l.path(0)); err == nil && fi.Size() == l.Size && fi.Size() > most {
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
	switch {
	case err != nil:
	case size != l.Size:
		events, err = l.settle(f, events)
	case !l.Whole: // a new log: whoever is killed after its first line has left a head
		l.Boot = bootID()
		err = l.writeHead()
	}
	if err != nil {
		return err
	}
	var text []byte
	now := time.Now()
	for _, e := range events {
		e.Seq, e.Prev, e.Time = l.Seq+1, l.Hash, now
		for _, s := range []*string{&e.Command, &e.Program, &e.Host, &e.Reason, &e.Actor} {
			if len(*s) > maxText {
				*s = strings.ToValidUTF8((*s)[:maxText], "") + "…"
			}
		}
		if e.Torn > 0 { // the end of that piece
			text = append(text, '\n')
		}
		line := line(e)
		text = append(append(text, line...), '\n')
		l.Seq, l.Hash = e.Seq, Sum(line)
	}
	if _, err := f.Write(text); err != nil {
		return err
	}
	l.Size, l.Boot = size+int64(len(text)), bootID()
	return l.writeHead()
}

func (l *audit) writeHead() error {
	_, err := l.file.WriteAt([]byte(l.Head.String()), 0)
	return err
}

// OrLost is what else may have become of the end of a log.
const OrLost = "the end was cut off, or lost when the machine stopped: it was started since they were written"

// settle finds where the chain goes on in a log that is not as the head says: after the lines that
// follow the head's, and without a head after the last line. What is to be said of that is put before the
// events.
func (l *audit) settle(f *os.File, events []Event) ([]Event, error) {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<62))
	note := Event{Type: EventRecovered}
	var why []string
	for _, line := range auditLines("", data) {
		switch {
		case line.Cut:
			note.Torn, note.TornSum = len(line.Raw), Sum(line.Raw)
			why = append(why, fmt.Sprintf("the last line had no end (%d bytes)", len(line.Raw)))
		case line.OK && (!l.Whole || line.Seq == l.Seq+1 && line.Prev == l.Hash):
			l.Seq, l.Hash = line.Seq, Sum(line.Raw)
		}
	}
	switch {
	case !l.Whole:
		note.Lost = LostHead
		why = append(why, "the head was missing or damaged")
	case int64(len(data)) < l.Size && l.Restarted():
		why = append(why, OrLost)
	}
	if note.Reason = strings.Join(why, "; "); note.Reason != "" {
		events = append([]Event{note}, events...)
	}
	return events, err
}

// rotate sets the log aside. The head has to know before what goes, and that the file is a new
// one: a crash in between leaves a file too many, or a full one, which the next writer sets aside.
func (l *audit) rotate() error {
	data, _ := os.ReadFile(l.path(keptAudit - 1)) // none: nothing goes
	if oldest := auditLines("", data[:bytes.IndexByte(data, '\n')+1]); len(oldest) > 0 && oldest[0].OK {
		l.First, l.Before = oldest[0].Seq, oldest[0].Prev
	}
	l.Size = 0
	err := l.writeHead()
	for i := keptAudit; i > 0 && err == nil; i-- {
		if err = os.Rename(l.path(i-1), l.path(i)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return err
}

// Sum returns the hash of a line, without its end.
func Sum(line []byte) string { return fmt.Sprintf("%x", sha256.Sum256(line)) }

// AuditLine is a line of the audit log, or what stands in the place of one.
type AuditLine struct {
	Event
	Raw    []byte
	OK     bool // it is a line of the log
	Cut    bool // it has no end
	File   string
	Number int // in the file
}

// auditLines returns the lines of a file.
func auditLines(path string, data []byte) (out []AuditLine) {
	for raw := range bytes.Lines(data) {
		line := AuditLine{File: path, Number: len(out) + 1}
		var whole bool
		line.Raw, whole = bytes.CutSuffix(raw, []byte{'\n'})
		line.Cut = !whole
		line.OK = whole && json.Unmarshal(line.Raw, &line.Event) == nil && line.Seq > 0 && len(line.Prev) == len(noLine)
		out = append(out, line)
	}
	return out
}

// ReadAudit returns what all files of the log in dir hold, oldest first, and the head of that moment. No
// log is an empty one.
func ReadAudit(dir string) (out []AuditLine, h Head, err error) {
	l, err := lockAudit(dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		l, err = &audit{Head: parseHead(""), dir: dir}, nil
	} else if err == nil {
		defer l.file.Close()
	}
	for i := keptAudit; i >= 0 && err == nil; i-- {
		var data []byte
		if data, err = os.ReadFile(l.path(i)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		out = append(out, auditLines(l.path(i), data)...)
	}
	if err != nil {
		return nil, h, fmt.Errorf("audit log: %w", err)
	}
	return out, l.Head, nil
}
