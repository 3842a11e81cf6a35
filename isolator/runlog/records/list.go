// Package records reads what package runlog keeps: the records of runs, their output, and the audit log.
//
//	list, err := records.List(runlog.Folders(home))
//	verdict, err := records.Verify(home)
//
// It trusts no name in a folder of records: what is not a regular file is not opened. What an earlier
// inner wrote is read as well.
package records

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/enr/inner/isolator/runlog"
)

// States of a run.
const (
	Ended   = "ended"
	Running = "running"
	Killed  = "killed" // it has no end: inner was killed, or the machine stopped
	Unknown = "unknown"
)

// Record is what is known of one run.
type Record struct {
	ID     string       `json:"run"`
	State  string       `json:"state"`
	Folder string       `json:"folder"` // of the run
	Size   int64        `json:"size"`   // of its files
	Start  runlog.Start `json:"start,omitzero"`
	End    runlog.End   `json:"end,omitzero"`
}

// Begun returns when the run began, taken from its id when the record does not say.
func (r Record) Begun() time.Time {
	if !r.Start.Time.IsZero() {
		return r.Start.Time
	}
	t, _ := time.ParseInLocation(runlog.IDTime, r.ID[:len(runlog.IDTime)], time.Local) // zero when there is none
	return t
}

// maxRecord bounds what is read of a record.
const maxRecord = 4 << 20

// List returns the runs of all folders, newest first. A folder that is not
// there is empty; one that cannot be read is an error beside the runs of the
// others.
func List(folders []string) (out []Record, err error) {
	for _, path := range folders {
		f, e := runlog.Open(path)
		if errors.Is(e, fs.ErrNotExist) {
			continue
		}
		var ids []string
		if e == nil {
			defer f.Close()
			ids, e = f.Runs()
		}
		err = errors.Join(err, e)
		for _, id := range ids {
			out = append(out, read(f, id))
		}
	}
	slices.SortFunc(out, func(a, b Record) int {
		return cmp.Or(b.Begun().Compare(a.Begun()), strings.Compare(b.ID, a.ID))
	})
	return out, err
}

// read reads one record. What is not there stays zero.
func read(f *runlog.Folder, id string) Record {
	r := Record{ID: id, State: Unknown, Folder: filepath.Join(f.Path, id), Size: f.Size(id)}
	file, err := f.File(id, runlog.RecordFile)
	if err != nil {
		return r
	}
	defer file.Close()
	data, _ := io.ReadAll(io.LimitReader(file, maxRecord)) // what could be read counts
	for line := range bytes.Lines(data) {
		var kind struct {
			Event string `json:"event"`
		}
		if json.Unmarshal(line, &kind) != nil {
			continue
		}
		switch {
		case kind.Event == "start" && json.Unmarshal(line, &r.Start) == nil && r.State == Unknown:
			r.State = Killed
		case kind.Event == "end" && json.Unmarshal(line, &r.End) == nil:
			r.State = Ended
		}
	}
	if r.State == Killed && f.Alive(id) {
		r.State = Running
	}
	return r
}

// Output opens what was captured of a run, and says whether it is a recording.
// The error is fs.ErrNotExist when nothing was.
func (r Record) Output() (file *os.File, recording bool, err error) {
	f, err := runlog.Open(filepath.Dir(r.Folder))
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	if file, err = f.File(r.ID, runlog.CastFile); err == nil {
		return file, true, nil
	}
	file, err = f.File(r.ID, runlog.OutputFile)
	return file, false, err
}

// Remove removes the folder of the run, which must have ended.
func (r Record) Remove() error {
	f, err := runlog.Open(filepath.Dir(r.Folder))
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Remove(r.ID)
}
