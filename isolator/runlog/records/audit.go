package records

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/enr/inner/isolator/runlog"
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

// Verify follows the chain of the audit log in dir from its oldest line to the head. The error is
// for a log that cannot be read. No log at all is whole.
//
// There is no secret in the chain: it shows what was changed by somebody who did not write all that
// follows, and the head, anew.
func Verify(dir string) (Verdict, error) {
	v := Verdict{Notes: []string{}}
	all, head, err := runlog.ReadAudit(dir)
	if err != nil {
		return v, err
	}
	end := runlog.AuditLine{File: filepath.Join(dir, runlog.AuditFile)}
	last, hash := end, head.Before // what a line follows
	last.Seq = head.First - 1
	for i, line := range all {
		switch {
		case line.Cut:
			v.note("%s: the last line has no end (%d bytes): inner was killed, or the machine stopped, while it was written", line.File, len(line.Raw))
			continue
		case i+1 < len(all) && all[i+1].Torn == len(line.Raw) && all[i+1].TornSum == runlog.Sum(line.Raw): // which the next line says
			continue
		case !line.OK:
			return v.fault(line, last.Seq+1, "it was edited: not a line of this log")
		case v.Lines == 0 && (!head.Whole || line.Seq < head.First): // of a file that was about to go
			last.Seq, hash = line.Seq-1, line.Prev
		}
		if v.Lines++; v.Lines == 1 {
			v.First, v.From = line.Seq, line.Time.Format(time.RFC3339)
		}
		v.Last, v.To = line.Seq, line.Time.Format(time.RFC3339)
		recovered := line.Type == runlog.EventRecovered
		switch want := last.Seq + 1; {
		case line.Seq > want && recovered:
			return v.fault(line, want, "%s missing before line %d: %s", span(want, line.Seq-1), line.Seq, line.Reason)
		case line.Seq > want:
			return v.fault(line, want, "%s missing before line %d", span(want, line.Seq-1), line.Seq)
		case line.Seq < want:
			return v.fault(line, want, "line %d stands where line %d belongs: a line was put in, or lines were swapped", line.Seq, want)
		case line.Prev != hash:
			return v.fault(last, last.Seq, "line %d was edited: it is not the one that line %d follows", last.Seq, line.Seq)
		case recovered && line.Lost == runlog.LostHead:
			return v.fault(line, line.Seq, "the head was missing or damaged when line %d was written: lines before it may be missing", line.Seq)
		case recovered:
			v.note("%s:%d: %s", line.File, line.Number, line.Reason)
		}
		if last, hash = line, runlog.Sum(line.Raw); head.Whole && line.Seq == head.Seq && hash != head.Hash {
			return v.fault(line, line.Seq, "line %d was edited, or the head was: it is not the line that the head names", line.Seq)
		}
	}
	switch {
	case !head.Whole && v.Lines > 0:
		end.File = filepath.Join(dir, runlog.HeadFile)
		return v.fault(end, last.Seq, "the head is missing or damaged: whether lines are missing at the end cannot be told")
	case last.Seq < head.Seq && head.Restarted():
		return v.fault(end, last.Seq+1, "%s missing: %s", span(last.Seq+1, head.Seq), runlog.OrLost)
	case last.Seq < head.Seq:
		return v.fault(end, last.Seq+1, "%s missing: the end was cut off", span(last.Seq+1, head.Seq))
	case last.Seq > head.Seq && head.Whole:
		v.note("%s: %s beyond the head: inner was killed before it could note that", end.File, span(head.Seq+1, last.Seq))
	}
	return v, nil
}

func (v *Verdict) note(format string, args ...any) {
	v.Notes = append(v.Notes, fmt.Sprintf(format, args...))
}

func (v Verdict) fault(at runlog.AuditLine, seq int64, format string, args ...any) (Verdict, error) {
	v.Fault = &Fault{at.File, at.Number, seq, fmt.Sprintf(format, args...)}
	return v, nil
}

func span(first, last int64) string {
	if first == last {
		return fmt.Sprintf("line %d is", first)
	}
	return fmt.Sprintf("lines %d to %d are", first, last)
}
