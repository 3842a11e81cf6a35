package runlog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
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
	ID     string
	State  string
	Start  Start
	End    End   // zero unless Ended
	Size   int64 // of its files
	Folder string
}

// Path returns the run's folder.
func (r Record) Path() string { return filepath.Join(r.Folder, r.ID) }

// Begun returns when the run began, taken from its id when the record does not say.
func (r Record) Begun() time.Time {
	if !r.Start.Time.IsZero() {
		return r.Start.Time
	}
	t, _ := time.ParseInLocation(idTime, r.ID[:len(idTime)], time.Local) // zero when there is none
	return t
}

// maxRecord bounds what is read of a record.
const maxRecord = 4 << 20

// List returns the runs of all folders, newest first. A folder that is not
// there is empty; one that cannot be read is an error beside the runs of the
// others.
func List(folders []string) (out []Record, err error) {
	for _, path := range folders {
		f, e := Open(path)
		if errors.Is(e, fs.ErrNotExist) {
			continue
		}
		var ids []string
		if e == nil {
			defer f.Close()
			ids, e = f.ids()
		}
		err = errors.Join(err, e)
		for _, id := range ids {
			out = append(out, f.read(id))
		}
	}
	slices.SortFunc(out, func(a, b Record) int {
		return cmp.Or(b.Begun().Compare(a.Begun()), strings.Compare(b.ID, a.ID))
	})
	return out, err
}

// read reads one record. What is not there stays zero.
func (f *Folder) read(id string) Record {
	r := Record{ID: id, State: Unknown, Folder: f.Path, Size: f.size(id)}
	file, err := f.file(id, recordFile)
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
	if r.State == Killed && f.alive(id) {
		r.State = Running
	}
	return r
}

// Output opens what was captured of a run, and says whether it is a recording.
// The error is fs.ErrNotExist when nothing was.
func (r Record) Output() (file *os.File, recording bool, err error) {
	f, err := Open(r.Folder)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	if file, err = f.file(r.ID, castFile); err == nil {
		return file, true, nil
	}
	file, err = f.file(r.ID, outputFile)
	return file, false, err
}

// Remove removes the folder of a run that has ended.
func (r Record) Remove() error {
	f, err := Open(r.Folder)
	if err != nil {
		return err
	}
	defer f.Close()
	if f.alive(r.ID) {
		return fmt.Errorf("run %s is still running", r.ID)
	}
	return f.root.RemoveAll(r.ID)
}
