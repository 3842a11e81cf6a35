package stage

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/owned"
)

// What a run has in folders of the host is in its record, lines of JSON, before it is there; so is
// what somebody has to look at when the run is killed. Records are in one folder of the user, whatever
// the environment of a run says, and whoever makes or removes what is in one holds the gate of that
// folder: so two runs never remove what the other one needs.
func records(innerHome string) string { return filepath.Join(innerHome, "runs") }

// recordOf is the file in one of these folders; none when there is nothing to undo.
func recordOf(dir string) string { return filepath.Join(dir, "undo") }

// entry is a line of a record.
type entry struct {
	Path    string            `json:"path,omitempty"`    // where a placeholder is
	Content *string           `json:"content,omitempty"` // of a file; nil for a folder
	Watch   *Watched          `json:"watch,omitempty"`
	Stood   map[string]string `json:"stood,omitempty"` // what was at places of Guarded and Before
}

// Watched is what the box of a run can write, and what in there is not its work.
type Watched struct {
	Since    time.Time         // when the run began, as files know it
	Roots    []string          // folders the box could write
	Obeyed   []string          // those in which tools outside obey what they find
	Guarded  []string          // git directories that the box could not write, and what leads to them
	Unlisted []string          // folders in which nobody had looked for repositories, real paths
	Before   []string          // what is not the box's, with all that is in it: it was there before, or inner made it
	Named    []string          // paths that settings of git name
	Paths    []string          // folders of programs in the homes that PATH names
	Stood    map[string]string `json:"-"` // what was at places of Guarded and Before, see package repos
}

// Watch notes what is to be looked at when this run is killed, instead of what it noted before.
func (r *Run) Watch(w Watched) error {
	return r.note(entry{Watch: &w})
}

// Stood notes what stands at places that are watched.
func (r *Run) Stood(stood map[string]string) error {
	return r.note(entry{Stood: stood})
}

// note writes entries down.
func (r *Run) note(list ...entry) error {
	r.entries = append(r.entries, list...)
	return appendRecord(r.record.Path, list)
}

func appendRecord(dir string, list []entry) error {
	f, err := os.OpenFile(recordOf(dir), os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(encoded(list)) // at once: of what is torn by a power cut or a kill nothing was made
	return errors.Join(err, f.Close())
}

func encoded(list []entry) []byte {
	var b bytes.Buffer
	for _, e := range list {
		_ = json.NewEncoder(&b).Encode(e.paths(inJSON)) // nothing in it can fail
	}
	return b.Bytes()
}

// readRecord reads the record in a folder, none when there is none.
func readRecord(dir string) (list []entry, err error) {
	data, err := os.ReadFile(recordOf(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for line := range bytes.Lines(data) {
		var e entry
		if json.Unmarshal(line, &e) == nil {
			list = append(list, e.paths(outOfJSON))
		}
	}
	return list, err
}

// rewriteRecord has the record in a folder hold nothing else.
func rewriteRecord(dir string, list []entry) error {
	path := recordOf(dir)
	if len(list) > 0 {
		return files.Replace(path, encoded(list), 0o600)
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// paths calls f for each path of an entry.
func (e entry) paths(f func(string) string) entry {
	e.Path = f(e.Path)
	if e.Watch != nil {
		w := *e.Watch
		for _, list := range []*[]string{&w.Roots, &w.Obeyed, &w.Guarded, &w.Unlisted, &w.Before, &w.Named, &w.Paths} {
			*list = slices.Clone(*list)
			for i, p := range *list {
				(*list)[i] = f(p)
			}
		}
		e.Watch = &w
	}
	stood := map[string]string{}
	for p, what := range e.Stood {
		stood[f(p)] = what
	}
	e.Stood = stood
	return e
}

// inJSON quotes an absolute path that JSON cannot represent, because a name can have
// any byte. outOfJSON undoes it.
func inJSON(path string) string {
	if utf8.ValidString(path) {
		return path
	}
	return strconv.Quote(path)
}

func outOfJSON(text string) string {
	if path, err := strconv.Unquote(text); err == nil {
		return path
	}
	return text
}

// sweepRecord takes back what the run of a record made, and has its leavings looked at.
func sweepRecord(innerHome, dir string, look func(Watched)) (stuck []error, err error) {
	list, err := readRecord(dir)
	if err != nil {
		return nil, err
	}
	if stuck, err = takeBack(innerHome, dir, list, nil); err != nil {
		return stuck, err
	}
	var w *Watched
	for _, e := range list {
		if e.Watch != nil {
			w = e.Watch
		} else if w != nil && len(e.Stood) > 0 {
			w.Stood = e.Stood
		}
	}
	if w == nil {
		return stuck, nil
	}
	if len(w.Roots) > 0 {
		look(*w)
	}
	list, err = readRecord(dir)
	return stuck, errors.Join(err, rewriteRecord(dir, slices.DeleteFunc(list, entry.note))) // it is looked at once
}

// note reports whether an entry is no placeholder.
func (e entry) note() bool { return e.Path == "" }

// Pending reports whether a run lives, or that cannot be found out.
func Pending(innerHome string) bool {
	living, err := owned.Living(records(innerHome))
	return err != nil || len(living) > 0
}
