package runlog

import (
	"bufio"
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
	"syscall"
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
	return begunAt(r.ID)
}

// begunAt returns the time in the id of a run; zero when there is none.
func begunAt(id string) time.Time {
	t, err := time.ParseInLocation("20060102-150405", id[:15], time.Local)
	if err != nil {
		return time.Time{}
	}
	return t
}

// older reports whether a run began longer ago than keep; never when that is not known.
func older(id string, keep time.Duration) bool {
	at := begunAt(id)
	return keep > 0 && !at.IsZero() && time.Since(at) > keep
}

// maxRecord bounds what is read of a record.
const maxRecord = 4 << 20

// List returns the runs of all folders, newest first. A folder that is not
// there is empty; one that cannot be read is an error beside the runs of the
// others.
func List(folders []string) ([]Record, error) {
	var out []Record
	var errs []error
	for _, path := range folders {
		f, err := Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		ids, err := f.ids()
		errs = append(errs, err)
		for _, id := range ids {
			out = append(out, f.read(id))
		}
		_ = f.Close()
	}
	slices.SortFunc(out, func(a, b Record) int {
		return cmp.Or(b.Begun().Compare(a.Begun()), strings.Compare(b.ID, a.ID))
	})
	return out, errors.Join(errs...)
}

// read reads one record. What is not there stays zero.
func (f *Folder) read(id string) Record {
	r := Record{ID: id, State: Unknown, Folder: f.Path, Size: f.size(id)}
	file, err := f.file(id, recordFile)
	if err != nil {
		return r
	}
	defer file.Close()
	s := bufio.NewScanner(io.LimitReader(file, maxRecord))
	s.Buffer(nil, maxRecord)
	for s.Scan() {
		var line struct {
			Event string `json:"event"`
		}
		if json.Unmarshal(s.Bytes(), &line) != nil {
			continue
		}
		switch line.Event {
		case "start":
			if json.Unmarshal(s.Bytes(), &r.Start) == nil && r.State == Unknown {
				r.State = Killed
			}
		case "end":
			if json.Unmarshal(s.Bytes(), &r.End) == nil {
				r.State = Ended
			}
		}
	}
	if r.State == Killed && syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil {
		r.State = Running
	}
	return r
}

// file opens a file of a run for reading: a regular one, never a link.
func (f *Folder) file(id, name string) (*os.File, error) {
	path := filepath.Join(id, name)
	// Not a FIFO either: that one would wait.
	if fi, err := f.root.Lstat(path); err != nil {
		return nil, err
	} else if !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", filepath.Join(f.Path, path))
	}
	return f.root.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
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

// foldersFile lists, one a line, the other folders that hold runs.
const foldersFile = "folders"

// Remember notes in the log folder home that folder holds runs as well.
func Remember(home, folder string) error {
	if folder == home || slices.Contains(Folders(home), folder) {
		return nil
	}
	f, err := Make(home, false)
	if err != nil {
		return err
	}
	defer f.Close()
	file, err := f.root.OpenFile(foldersFile, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("log folder %q: %w", home, cause(err))
	}
	_, err = file.WriteString(folder + "\n")
	return errors.Join(err, file.Close())
}

// Folders returns home and every other folder that holds runs.
func Folders(home string) []string {
	out := []string{home}
	data, _ := os.ReadFile(filepath.Join(home, foldersFile)) // none is as good as empty
	for line := range strings.Lines(string(data)) {
		if p := strings.TrimSuffix(line, "\n"); filepath.IsAbs(p) && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}
