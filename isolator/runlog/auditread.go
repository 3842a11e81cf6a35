package runlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// Fault is the first thing that is wrong with an audit log.
type Fault struct {
	File string `json:"file"`
	Line int    `json:"line"` // in the file, from 1; 0 when it is about none
	Seq  int64  `json:"seq"`  // of the first line that is not as it was
	What string `json:"what"`
}

// Verdict is what Verify found.
type Verdict struct {
	Lines int      `json:"lines"`
	First int64    `json:"first"` // seq of the oldest line kept
	Last  int64    `json:"last"`
	From  string   `json:"from,omitempty"` // their times
	To    string   `json:"to,omitempty"`
	Notes []string `json:"notes"` // what is explained by a crash, and loses nothing before it
	Fault *Fault   `json:"fault,omitempty"`
}

// page is one file of the log as it was read.
type page struct {
	path string
	data []byte
}

// pages reads the files of the log, oldest first, and the head, all at one
// moment.
func pages(dir string) ([]page, *audit, error) {
	l, err := lockAudit(dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		l, err = &audit{dir: dir, err: errNoHead}, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("audit log: %w", err)
	}
	if l.file != nil {
		defer l.close()
	}
	var out []page
	for i := keptAudit; i >= 0; i-- {
		data, err := readAudit(l.path(i))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, nil, fmt.Errorf("audit log: %w", err)
		default:
			out = append(out, page{l.path(i), data})
		}
	}
	return out, l, nil
}

// ReadAudit hands over the lines of the audit log in dir, oldest first. What is
// not a line of the log is passed over: Verify names it. No log is an empty one.
func ReadAudit(dir string, each func(line []byte, e Event) error) error {
	all, _, err := pages(dir)
	if err != nil {
		return err
	}
	for _, p := range all {
		for _, line := range auditLines(p.data) {
			var e Event
			if _, _, ok := chained(line); !ok || json.Unmarshal(line, &e) != nil {
				continue
			}
			if err := each(line, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// Verify follows the chain of the audit log in dir from its oldest line to the
// head. The error is for a log that cannot be read. No log at all is whole.
//
// There is no secret in the chain: it shows what was changed by somebody who
// did not write all that follows, and the head, anew.
func Verify(dir string) (Verdict, error) {
	v := Verdict{Notes: []string{}}
	all, l, err := pages(dir)
	if err != nil {
		return v, err
	}
	c := chain{verdict: &v, head: l.head, whole: l.err == nil}
	for _, p := range all {
		if c.page(p); v.Fault != nil {
			return v, nil
		}
	}
	if len(all) == 0 && l.file == nil {
		return v, nil
	}
	c.end(l)
	return v, nil
}

// chain is how far Verify has come.
type chain struct {
	verdict *Verdict
	head    head
	whole   bool // there is a head

	file  string
	line  int
	begun bool
	seq   int64
	hash  string
	more  [][]byte // lines beyond the head
}

func (c *chain) fault(file string, line int, seq int64, format string, args ...any) {
	c.verdict.Fault = &Fault{file, line, seq, fmt.Sprintf(format, args...)}
}

func (c *chain) note(format string, args ...any) {
	c.verdict.Notes = append(c.verdict.Notes, fmt.Sprintf(format, args...))
}

// page follows the chain through one file.
func (c *chain) page(p page) {
	lines := auditLines(p.data)
	size := 0
	for i := range lines {
		c.file, c.line = p.path, i+1
		size += len(lines[i]) + 1
		if c.step(lines, i); c.verdict.Fault != nil {
			return
		}
	}
	if rest := len(p.data) - size; rest > 0 {
		c.note("%s: the last line has no end (%d bytes): inner was killed, or the machine stopped, while it was written", p.path, rest)
	}
}

// step looks at one line.
func (c *chain) step(lines [][]byte, i int) {
	line := lines[i]
	seq, prev, ok := chained(line)
	var e Event
	if !ok || json.Unmarshal(line, &e) != nil {
		if !tornBefore(lines, i) {
			c.fault(c.file, c.line, c.seq+1, "it was edited: not a line of this log")
			return
		}
		c.note("%s:%d: a line without an end (%d bytes), of an inner that was killed, or a machine that stopped, while it was written", c.file, c.line, len(line))
		return
	}
	if c.begin(seq, prev, e.Time); c.verdict.Fault != nil {
		return
	}
	if c.follows(lines[i:], seq, prev, e); c.verdict.Fault != nil {
		return
	}
	if e.Type == EventRecovered {
		if e.Lost == lostHead {
			c.fault(c.file, c.line, seq, "the head was missing, damaged or an older one when line %d was written: lines before it may be missing", seq)
			return
		}
		c.note("%s:%d: %s", c.file, c.line, e.Reason)
	}
	if c.whole && seq > c.head.seq {
		c.more = append(c.more, line)
	}
	if c.whole && seq == c.head.seq && sum(line) != c.head.hash {
		c.fault(c.file, c.line, seq, "line %d was edited, or the head was: it is not the line that the head names", seq)
		return
	}
	c.seq, c.hash = seq, sum(line)
	c.verdict.Lines++
	c.verdict.Last, c.verdict.To = seq, e.Time.Format(time.RFC3339)
}

// follows compares the number of a line, the first of rest, and the hash of the one before with
// what must come now.
func (c *chain) follows(rest [][]byte, seq int64, prev string, e Event) {
	linked := prev == c.hash
	switch want := c.seq + 1; {
	case seq == want && linked:
	case seq == want && c.verdict.Lines > 0:
		c.fault(c.file, c.line-1, c.seq, "line %d was edited: it is not the one that line %d follows", c.seq, seq)
	case linked:
		c.fault(c.file, c.line, want, "line %d was edited: it says that it is line %d", want, seq)
	case seq > want && occurs(rest, want):
		c.fault(c.file, c.line, want, "line %d stands where line %d belongs: lines were swapped", seq, want)
	case seq > want:
		c.fault(c.file, c.line, want, "%s missing before line %d%s", span(want, seq-1), seq, e.excuse())
	default:
		c.fault(c.file, c.line, want, "line %d stands where line %d belongs: a line was put in, or lines were swapped", seq, want)
	}
}

// begin takes the first line there is as the beginning of the chain, when it is
// the one that the head names or one that is older.
func (c *chain) begin(seq int64, prev string, at time.Time) {
	if c.whole && seq == c.head.first && prev != c.head.before {
		c.fault(c.file, c.line, seq, "line %d was edited: it is not the first line that the head names", seq)
		return
	}
	if c.begun {
		return
	}
	c.begun = true
	if c.whole && seq > c.head.first {
		c.fault(c.file, c.line, c.head.first, "%s missing at the beginning", span(c.head.first, seq-1))
		return
	}
	c.seq, c.hash = seq-1, prev
	c.verdict.First = seq
	c.verdict.From = at.Format(time.RFC3339)
}

// end compares the end of the chain with the head.
func (c *chain) end(l *audit) {
	path := l.path(0)
	switch {
	case !c.whole && c.seq == 0 && !c.begun:
	case !c.whole:
		c.fault(l.dir+"/"+headFile, 0, c.seq, "the head is missing or damaged: whether lines are missing at the end cannot be told")
	case c.seq < c.head.seq:
		first := max(c.seq+1, c.head.first)
		text := span(first, c.head.seq) + " missing: the end was cut off"
		if l.head.boot != bootID() {
			text += ", or lost when the machine stopped: it was started since they were written"
		}
		c.fault(path, 0, first, "%s", text)
	case len(c.more) > 0:
		for _, line := range c.more {
			if string(stamp(line)) != string(stamp(c.more[0])) {
				c.fault(l.dir+"/"+headFile, 0, c.head.seq+1, "the head is an older one: the log goes on after its line %d", c.head.seq)
				return
			}
		}
		c.note("%s: %s beyond the head: inner was killed before it could note that", path, span(c.head.seq+1, c.seq))
	}
}

// excuse says what a line that goes on after a gap knows about it.
func (e Event) excuse() string {
	if e.Type == EventRecovered && e.Lost == lostRestart {
		return ": the end was cut off, or lost when the machine stopped: it was started since they were written"
	}
	return ""
}

// tornBefore reports whether what stands at i is the piece of a line that the
// next line says was there.
func tornBefore(lines [][]byte, i int) bool {
	var next Event
	return i+1 < len(lines) && json.Unmarshal(lines[i+1], &next) == nil && next.Type == EventRecovered && next.Torn == len(lines[i]) && next.TornSum == sum(lines[i])
}

func occurs(lines [][]byte, want int64) bool {
	for _, line := range lines {
		if seq, _, ok := chained(line); ok && seq == want {
			return true
		}
	}
	return false
}

func span(first, last int64) string {
	if first == last {
		return fmt.Sprintf("line %d is", first)
	}
	return fmt.Sprintf("lines %d to %d are", first, last)
}
