package runlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

// AuditLine is a line of the audit log, or what stands in the place of one.
type AuditLine struct {
	Event
	Raw []byte

	file   string
	number int  // in the file
	ok     bool // it is a line of the log
	torn   bool // it has no end
}

// auditLines returns the lines of a file.
func auditLines(path string, data []byte) (out []AuditLine) {
	for text := range bytes.Lines(data) {
		line := AuditLine{file: path, number: len(out) + 1}
		var whole bool
		line.Raw, whole = bytes.CutSuffix(text, []byte{'\n'})
		line.torn = !whole
		line.ok = whole && json.Unmarshal(line.Raw, &line.Event) == nil && line.Seq > 0 && len(line.Prev) == len(noLine)
		out = append(out, line)
	}
	return out
}

// read returns the lines of all files, oldest first, and the log as it was at that moment, no longer
// locked. No log is an empty one.
func read(dir string) (out []AuditLine, l *audit, err error) {
	l, err = lockAudit(dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		l, err = &audit{head: parseHead(""), dir: dir}, nil
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
		return nil, nil, fmt.Errorf("audit log: %w", err)
	}
	return out, l, nil
}

// ReadAudit returns the lines of the audit log in dir, oldest first. What is not a line of the log is
// left out: Verify names it.
func ReadAudit(dir string) ([]AuditLine, error) {
	all, _, err := read(dir)
	return slices.DeleteFunc(all, func(l AuditLine) bool { return !l.ok }), err
}

// Verify follows the chain of the audit log in dir from its oldest line to the head. The error is
// for a log that cannot be read. No log at all is whole.
//
// There is no secret in the chain: it shows what was changed by somebody who did not write all that
// follows, and the head, anew.
func Verify(dir string) (Verdict, error) {
	v := Verdict{Notes: []string{}}
	all, l, err := read(dir)
	if err != nil {
		return v, err
	}
	last, hash := AuditLine{Event: Event{Seq: l.first - 1}, file: l.path(0)}, l.before // what a line follows
	for i, line := range all {
		switch {
		case line.torn:
			v.note("%s: the last line has no end (%d bytes): inner was killed, or the machine stopped, while it was written", line.file, len(line.Raw))
			continue
		case i+1 < len(all) && all[i+1].Torn == len(line.Raw) && all[i+1].TornSum == sum(line.Raw): // which the next line says
			continue
		case !line.ok:
			return v.fault(line, last.Seq+1, "it was edited: not a line of this log")
		case v.Lines == 0 && (!l.whole || line.Seq < l.first): // of a file that was about to go
			last.Seq, hash = line.Seq-1, line.Prev
		}
		if v.Lines++; v.Lines == 1 {
			v.First, v.From = line.Seq, line.Time.Format(time.RFC3339)
		}
		v.Last, v.To = line.Seq, line.Time.Format(time.RFC3339)
		recovered := line.Type == EventRecovered
		switch want := last.Seq + 1; {
		case line.Seq > want && recovered:
			return v.fault(line, want, "%s missing before line %d: %s", span(want, line.Seq-1), line.Seq, line.Reason)
		case line.Seq > want:
			return v.fault(line, want, "%s missing before line %d", span(want, line.Seq-1), line.Seq)
		case line.Seq < want:
			return v.fault(line, want, "line %d stands where line %d belongs: a line was put in, or lines were swapped", line.Seq, want)
		case line.Prev != hash:
			return v.fault(last, last.Seq, "line %d was edited: it is not the one that line %d follows", last.Seq, line.Seq)
		case recovered && line.Lost == lostHead:
			return v.fault(line, line.Seq, "the head was missing or damaged when line %d was written: lines before it may be missing", line.Seq)
		case recovered:
			v.note("%s:%d: %s", line.file, line.number, line.Reason)
		}
		if last, hash = line, sum(line.Raw); l.whole && line.Seq == l.seq && hash != l.hash {
			return v.fault(line, line.Seq, "line %d was edited, or the head was: it is not the line that the head names", line.Seq)
		}
	}
	end := AuditLine{file: l.path(0)}
	switch {
	case !l.whole && v.Lines > 0:
		end.file = filepath.Join(l.dir, headFile)
		return v.fault(end, last.Seq, "the head is missing or damaged: whether lines are missing at the end cannot be told")
	case last.Seq < l.seq && l.boot != bootID():
		return v.fault(end, last.Seq+1, "%s missing: %s", span(last.Seq+1, l.seq), orLost)
	case last.Seq < l.seq:
		return v.fault(end, last.Seq+1, "%s missing: the end was cut off", span(last.Seq+1, l.seq))
	case last.Seq > l.seq && l.whole:
		v.note("%s: %s beyond the head: inner was killed before it could note that", end.file, span(l.seq+1, last.Seq))
	}
	return v, nil
}

func (v *Verdict) note(format string, args ...any) {
	v.Notes = append(v.Notes, fmt.Sprintf(format, args...))
}

func (v Verdict) fault(at AuditLine, seq int64, format string, args ...any) (Verdict, error) {
	v.Fault = &Fault{at.file, at.number, seq, fmt.Sprintf(format, args...)}
	return v, nil
}

func span(first, last int64) string {
	if first == last {
		return fmt.Sprintf("line %d is", first)
	}
	return fmt.Sprintf("lines %d to %d are", first, last)
}
