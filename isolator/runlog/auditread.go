package runlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
	path  string
	lines [][]byte
	rest  []byte // a last line without an end
}

// pages reads the files of the log, oldest first, and the head, all at one moment.
func pages(dir string) (out []page, l *audit, err error) {
	l, err = lockAudit(dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		l = &audit{dir: dir}
		l.head, l.whole = parseHead("")
	} else if err != nil {
		return nil, nil, fmt.Errorf("audit log: %w", err)
	} else {
		defer l.file.Close()
	}
	for i := keptAudit; i >= 0; i-- {
		data, err := os.ReadFile(l.path(i))
		if err == nil {
			lines, rest := auditLines(data)
			out = append(out, page{l.path(i), lines, rest})
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("audit log: %w", err)
		}
	}
	return out, l, nil
}

// ReadAudit hands over the lines of the audit log in dir, oldest first. What is not a line of the
// log is passed over: Verify names it. No log is an empty one.
func ReadAudit(dir string, each func(line []byte, e Event) error) error {
	all, _, err := pages(dir)
	for _, p := range all {
		for _, line := range p.lines {
			if e, ok := eventOf(line); ok && err == nil {
				err = each(line, e)
			}
		}
	}
	return err
}

// eventOf reads a line of the log.
func eventOf(line []byte) (e Event, ok bool) {
	_, _, ok = chained(line)
	return e, ok && json.Unmarshal(line, &e) == nil
}

// Verify follows the chain of the audit log in dir from its oldest line to the head. The error is
// for a log that cannot be read. No log at all is whole.
//
// There is no secret in the chain: it shows what was changed by somebody who did not write all that
// follows, and the head, anew.
func Verify(dir string) (Verdict, error) {
	all, l, err := pages(dir)
	c := chain{verdict: Verdict{Notes: []string{}}}
	if err != nil {
		return c.verdict, err
	}
	c.head, c.whole, c.seq, c.hash = l.head, l.whole, l.head.first-1, l.head.before
	for _, p := range all {
		c.file = p.path
		for i, line := range p.lines {
			c.line = i + 1
			if c.step(line, p.lines[i+1:]); c.verdict.Fault != nil {
				return c.verdict, nil
			}
		}
		if len(p.rest) > 0 {
			c.note("%s: the last line has no end (%d bytes): inner was killed, or the machine stopped, while it was written", p.path, len(p.rest))
		}
	}
	c.end(l)
	return c.verdict, nil
}

// chain is how far Verify has come: seq and hash are those of the line that the next one follows.
type chain struct {
	verdict Verdict
	head    head
	whole   bool // there is a head

	file string
	line int
	seq  int64
	hash string
}

func (c *chain) fault(file string, line int, seq int64, format string, args ...any) {
	c.verdict.Fault = &Fault{file, line, seq, fmt.Sprintf(format, args...)}
}

func (c *chain) note(format string, args ...any) {
	c.verdict.Notes = append(c.verdict.Notes, fmt.Sprintf(format, args...))
}

// step takes one line; rest are those after it.
func (c *chain) step(line []byte, rest [][]byte) {
	e, ok := eventOf(line)
	if !ok {
		if tornBefore(line, rest) {
			c.note("%s:%d: a line without an end (%d bytes), of an inner that was killed, or a machine that stopped, while it was written", c.file, c.line, len(line))
			return
		}
		c.fault(c.file, c.line, c.seq+1, "it was edited: not a line of this log")
		return
	}
	if c.verdict.Lines == 0 {
		if !c.whole || e.Seq <= c.seq { // of a file that was about to go
			c.seq, c.hash = e.Seq-1, e.Prev
		}
		c.verdict.First, c.verdict.From = e.Seq, e.Time.Format(time.RFC3339)
	}
	recovered := e.Type == EventRecovered
	switch want := c.seq + 1; {
	case e.Seq > want && recovered:
		c.fault(c.file, c.line, want, "%s missing before line %d: %s", span(want, e.Seq-1), e.Seq, e.Reason)
	case e.Seq > want:
		c.fault(c.file, c.line, want, "%s missing before line %d", span(want, e.Seq-1), e.Seq)
	case e.Seq < want:
		c.fault(c.file, c.line, want, "line %d stands where line %d belongs: a line was put in, or lines were swapped", e.Seq, want)
	case e.Prev != c.hash:
		c.fault(c.file, c.line-1, c.seq, "line %d was edited: it is not the one that line %d follows", c.seq, e.Seq)
	case recovered && e.Lost == lostHead:
		c.fault(c.file, c.line, e.Seq, "the head was missing or damaged when line %d was written: lines before it may be missing", e.Seq)
	case c.whole && e.Seq == c.head.seq && sum(line) != c.head.hash:
		c.fault(c.file, c.line, e.Seq, "line %d was edited, or the head was: it is not the line that the head names", e.Seq)
	case recovered:
		c.note("%s:%d: %s", c.file, c.line, e.Reason)
	}
	c.seq, c.hash = e.Seq, sum(line)
	c.verdict.Lines++
	c.verdict.Last, c.verdict.To = e.Seq, e.Time.Format(time.RFC3339)
}

// end compares the end of the chain with the head.
func (c *chain) end(l *audit) {
	switch first := c.seq + 1; {
	case !c.whole && c.verdict.Lines > 0:
		c.fault(filepath.Join(l.dir, headFile), 0, c.seq, "the head is missing or damaged: whether lines are missing at the end cannot be told")
	case c.seq < c.head.seq && c.head.boot != bootID():
		c.fault(l.path(0), 0, first, "%s missing: %s", span(first, c.head.seq), orLost)
	case c.seq < c.head.seq:
		c.fault(l.path(0), 0, first, "%s missing: the end was cut off", span(first, c.head.seq))
	case c.whole && c.seq > c.head.seq:
		c.note("%s: %s beyond the head: inner was killed before it could note that", l.path(0), span(c.head.seq+1, c.seq))
	}
}

// tornBefore reports whether a line is the piece of one that the next line says was there.
func tornBefore(line []byte, rest [][]byte) bool {
	var next Event
	return len(rest) > 0 && json.Unmarshal(rest[0], &next) == nil && next.Type == EventRecovered && next.Torn == len(line) && next.TornSum == sum(line)
}

func span(first, last int64) string {
	if first == last {
		return fmt.Sprintf("line %d is", first)
	}
	return fmt.Sprintf("lines %d to %d are", first, last)
}
