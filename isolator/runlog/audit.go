package runlog

// The audit log: one line per decision, chained.
//
// LOGS/audit.jsonl holds JSON lines. Each has the number of the line (seq) and
// the SHA-256 of the line before it (prev), newline left out; the first one has
// noLine. LOGS/audit.head, of one fixed size and written in place, has the
// number and hash of the last line, the length of audit.jsonl, the boot in which
// that was written, and where the oldest line kept begins. It is the lock, too:
// whoever appends holds flock on it, so that writers do not fork the chain.
//
// The order, each step relied on by Verify:
//
//  1. the head is there, and says 0, before the first line is written
//  2. lines, all of one Append by one write, all with one time
//  3. the head
//
// An inner killed between 2 and 3 leaves the lines of one Append beyond the
// head, one killed within 2 leaves a last line without its end: in both cases
// nothing before is lost, the next writer goes on after them and says so in a
// line of its own ("recovered"), and Verify has a note, not a fault. When the
// machine stops, the disk may have kept the head and lost lines: those are
// missing, and Verify says so, with the word that the machine was started since.
//
// When a file is full it is set aside as audit.jsonl.1 and so on, and the new one
// goes on with the chain. The oldest is removed; the head then names the first
// line that is left.

import (
	"bytes"
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

// Sizes of the audit log: at most keptAudit older files of about maxAudit
// bytes, 20 MiB in all.
const (
	maxAudit  = 4 << 20
	keptAudit = 4
)

const (
	auditFile = "audit.jsonl"
	headFile  = "audit.head"
	headSize  = 256
	headWord  = "inner-audit-1"
	// maxText is the longest text of a field that is kept: texts come from
	// strangers.
	maxText = 4096
	// lockPatience is the longest an event waits for other writers, each of
	// which takes some microseconds.
	lockPatience = 5 * time.Second
)

// noLine stands for the hash of the line before the first one.
const noLine = "0000000000000000000000000000000000000000000000000000000000000000"

// Types of events.
const (
	EventStart       = "start"        // a program is about to be started in its box
	EventExit        = "exit"         // it has ended
	EventCall        = "call"         // a program ran in its box: start and end in one line, with record = "audit"
	EventRefused     = "refused"      // inner did not start it
	EventBlocked     = "blocked"      // [noop] blocked calls of a command, Count times
	EventHostRefused = "host_refused" // the box asked for a host it does not get
	EventHostAllowed = "host_allowed" // a person granted a host during the run
	EventLimit       = "limit"        // a limit of the run was reached
	EventBypass      = "bypass"       // a program runs outside, on purpose
	EventAllow       = "allow"        // a profile, or a project's config.toml, was approved
	EventDeny        = "deny"
	EventRevoke      = "revoke"
	EventInstall     = "install"   // a profile was fetched and kept
	EventVerify      = "verify"    // a box was checked from inside
	EventRecovered   = "recovered" // the log itself was not as its last writer left it
)

// EventTypes returns all types of events.
func EventTypes() []string {
	return []string{
		EventStart, EventExit, EventCall, EventRefused, EventBlocked, EventHostRefused, EventHostAllowed, EventLimit,
		EventBypass, EventAllow, EventDeny, EventRevoke, EventInstall, EventVerify, EventRecovered,
	}
}

// Event is one line of the audit log. Append fills in Seq, Prev and Time; what is written
// later than it happened has At.
type Event struct {
	Seq  int64     `json:"seq"`
	Prev string    `json:"prev"`
	Time time.Time `json:"time"`
	Type string    `json:"type"`
	At   time.Time `json:"at,omitzero"`

	Run     string   `json:"run,omitempty"`
	Profile string   `json:"profile,omitempty"`
	Scope   string   `json:"scope,omitempty"`
	Path    string   `json:"path,omitempty"`   // of the profile; of the program for a bypass
	Digest  string   `json:"digest,omitempty"` // of the profile
	Command string   `json:"command,omitempty"`
	Program string   `json:"program,omitempty"`
	Args    int      `json:"args,omitempty"` // how many
	Cwd     string   `json:"cwd,omitempty"`  // the project for allow, deny and revoke
	Network string   `json:"network,omitempty"`
	Allow   []string `json:"allow,omitempty"` // what was lifted for this run
	Host    string   `json:"host,omitempty"`
	Count   int      `json:"count,omitempty"`
	Code    int      `json:"code"` // of exit, refused and verify
	Signal  string   `json:"signal,omitempty"`
	Millis  int64    `json:"ms,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	Backend string   `json:"backend,omitempty"` // what made the box

	By

	// Of a recovered line: the length and hash of the piece of a line before it,
	// and what cannot be restored.
	Torn    int    `json:"torn,omitempty"`
	TornSum string `json:"torn_sha256,omitempty"`
	Lost    string `json:"lost,omitempty"`
}

// By is for whom a program runs, as its caller says.
type By struct {
	Role    string `json:"role,omitempty"`       // of the table [roles]
	Asked   string `json:"role_asked,omitempty"` // the role that was asked for, where that is another
	Actor   string `json:"actor,omitempty"`      // a name of the caller's own
	Session string `json:"session,omitempty"`
}

// What a recovered line may say is lost.
const (
	lostHead    = "head"    // the head: so it is not known what else
	lostEnd     = "end"     // lines
	lostRestart = "restart" // lines, and the machine was started since
)

// Append adds events to the audit log in dir, which it creates: all of them or
// none. Nothing is synced to the disk.
func Append(dir string, events ...Event) (err error) {
	l, err := lockAudit(dir, true)
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	defer func() { err = errors.Join(err, l.close()) }()
	if err := l.append(events, maxAudit); err != nil {
		return fmt.Errorf("audit log: %w", cause(err))
	}
	return nil
}

// audit is the log, locked.
type audit struct {
	dir  string
	file *os.File // the head
	head head
	err  error // why there is no head
}

// lockAudit opens the head and locks it: to write, or to read.
func lockAudit(dir string, write bool) (*audit, error) {
	f, err := openHead(dir, write)
	if err != nil {
		return nil, err
	}
	how := syscall.LOCK_SH
	if write {
		how = syscall.LOCK_EX
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
	l.head, l.err = parseHead(string(text[:n]))
	return l, nil
}

// openHead opens the head, and makes it when it is to be written.
func openHead(dir string, write bool) (*os.File, error) {
	path, flags := filepath.Join(dir, headFile), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK
	if !write {
		return os.OpenFile(path, flags, 0)
	}
	flags |= os.O_RDWR | os.O_CREATE
	f, err := os.OpenFile(path, flags, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			f, err = os.OpenFile(path, flags, 0o600)
		}
	}
	return f, err
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

func (l *audit) close() error { return l.file.Close() }

func (l *audit) path(n int) string {
	if n == 0 {
		return filepath.Join(l.dir, auditFile)
	}
	return filepath.Join(l.dir, auditFile+"."+strconv.Itoa(n))
}

// openAudit opens a file of the log: a regular one, never a link.
func openAudit(path string, flags int) (*os.File, int64, error) {
	f, err := os.OpenFile(path, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, 0, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, fi.Size(), nil
}

func (l *audit) append(events []Event, most int64) error {
	boot := bootID()
	if err := l.begin(boot); err != nil {
		return err
	}
	f, size, err := openAudit(l.path(0), os.O_RDWR|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	var text []byte
	if l.err != nil || size != l.head.size {
		note, torn, err := l.settle(f, boot)
		if err != nil {
			return err
		}
		if torn {
			text = append(text, '\n')
		}
		if note.Reason != "" {
			events = append([]Event{note}, events...)
		}
	}
	if size > most && len(text) == 0 {
		if err := l.rotate(); err != nil {
			return err
		}
		_ = f.Close()
		if f, size, err = openAudit(l.path(0), os.O_RDWR|os.O_APPEND|os.O_CREATE); err != nil {
			return err
		}
	}
	now := time.Now()
	for _, e := range events {
		e.Seq, e.Prev, e.Time = l.head.seq+1, l.head.hash, now
		line := e.line()
		text = append(append(text, line...), '\n')
		l.head.seq, l.head.hash = e.Seq, sum(line)
	}
	if n, err := f.Write(text); err != nil {
		if n > 0 { // a full disk: what is there of it goes
			err = errors.Join(err, f.Truncate(size))
		}
		return err
	}
	l.head.size, l.head.boot = size+int64(len(text)), boot
	return l.writeHead()
}

// begin makes the head of a log that is not there yet. With lines in the log it is a fault
// that there is none, which settle notes.
func (l *audit) begin(boot string) error {
	if l.err == nil {
		return nil
	}
	if _, err := os.Lstat(l.path(0)); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	l.head, l.err = head{hash: noLine, boot: boot, first: 1, before: noLine}, nil
	return l.writeHead()
}

// settle finds where the chain goes on in a log that is not as the head says,
// and what is to be noted about that; without a Reason nothing is. torn says that the last
// line has no end.
func (l *audit) settle(f *os.File, boot string) (note Event, torn bool, err error) {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<62))
	if err != nil {
		return note, false, err
	}
	note.Type = EventRecovered
	var reasons []string
	if rest := text[bytes.LastIndexByte(text, '\n')+1:]; len(rest) > 0 {
		note.Torn, note.TornSum, torn = len(rest), sum(rest), true
		reasons = append(reasons, fmt.Sprintf("the last line had no end (%d bytes)", len(rest)))
	}
	var why string
	if lines := auditLines(text); l.err != nil {
		l.head = headOf(lines)
		note.Lost, why = lostHead, "the head was missing or damaged"
	} else {
		note.Lost, why = l.goOn(lines, torn, boot)
	}
	if why != "" {
		reasons = append(reasons, why)
	}
	note.Reason = strings.Join(reasons, "; ")
	return note, torn, nil
}

// goOn lets the chain go on after the lines that a log has, and says what is lost of it, and
// why it is not as the head says; "" where there is nothing to say.
func (l *audit) goOn(lines [][]byte, torn bool, boot string) (lost, why string) {
	found, more, once := beyond(lines, l.head)
	switch {
	case len(more) > 0:
		last := more[len(more)-1]
		l.head.seq, _, _ = chained(last)
		l.head.hash = sum(last)
		if !once {
			lost = lostHead
		}
		return lost, fmt.Sprintf("%d lines were beyond the head", len(more))
	case found && torn:
		return "", ""
	case found:
		return "", "the file has another length than it was left with"
	case len(lines) == 0 && l.wasRotated(): // killed between setting the old file aside and the first line
		return "", ""
	case l.head.boot != boot:
		return lostRestart, "lines are missing at the end; the machine was started since they were written"
	}
	return lostEnd, "lines are missing at the end"
}

// wasRotated reports whether the head's line is the last one of the file before.
func (l *audit) wasRotated() bool {
	text, err := readAudit(l.path(1))
	if err != nil {
		return false
	}
	lines := auditLines(text)
	return len(lines) > 0 && sum(lines[len(lines)-1]) == l.head.hash
}

func readAudit(path string) ([]byte, error) {
	f, _, err := openAudit(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// rotate sets the log aside. A file that goes is struck from the head first: a
// crash in between leaves a file too many, never one too few.
func (l *audit) rotate() error {
	last := 1
	for last < keptAudit {
		if _, err := os.Lstat(l.path(last)); errors.Is(err, fs.ErrNotExist) {
			break
		}
		last++
	}
	if _, err := os.Lstat(l.path(last)); err == nil {
		if text, err := readAudit(l.path(last - 1)); err == nil {
			if lines := auditLines(text); len(lines) > 0 {
				if seq, prev, ok := chained(lines[0]); ok {
					l.head.first, l.head.before = seq, prev
				}
			}
		}
		if err := l.writeHead(); err != nil {
			return err
		}
	}
	for i := last; i > 0; i-- {
		if err := os.Rename(l.path(i-1), l.path(i)); err != nil {
			return err
		}
	}
	return nil
}
