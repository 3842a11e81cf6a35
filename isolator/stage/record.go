package stage

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/owned"
)

// What a run has in folders of the host is in its record before it is there; so is what somebody has to
// look at when the run is killed. Records are in one folder of the user, whatever the environment of a run
// says, and whoever makes or removes what is in one holds the gate of that folder: so two runs never remove
// what the other one needs.
func records(innerHome string) string { return filepath.Join(innerHome, "runs") }

// recordOf is the file in one of these folders; none, or one without a word, when there is nothing to undo. Its lines are a
// quoted path, for a name can have any byte, and what it is.
func recordOf(dir string) string { return filepath.Join(dir, "undo") }

// record is what the file has.
type record struct {
	places []host.Placeholder
	Watched
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
	Stood    map[string]string // what was at places of Guarded and Before, see package repos
}

// lists are lists of paths by their words in a record.
func (w *Watched) lists() map[string]*[]string {
	return map[string]*[]string{
		"obeyed": &w.Obeyed, "guard": &w.Guarded, "unlisted": &w.Unlisted, "before": &w.Before, "named": &w.Named, "paths": &w.Paths,
	}
}

// Watch notes what is to be looked at when this run is killed, instead of what it noted before.
func (r *Run) Watch(w Watched) error {
	r.noted.Watched = w
	return r.noted.write(r.record.Path)
}

// write has the file in a folder hold the record, and nothing else. It is written over, which makes no new file at each
// start: who is killed in the middle leaves a line of before or a torn one behind it.
func (rec record) write(dir string) error {
	var b strings.Builder
	line := func(path, what string) { fmt.Fprintf(&b, "%q\t%s\n", path, what) }
	for _, p := range rec.places {
		if p.Content == nil {
			line(p.Path, "dir")
		} else {
			line(p.Path, strconv.Quote(string(p.Content)))
		}
	}
	for _, p := range rec.Roots {
		line(p, fmt.Sprintf("look:%d", rec.Since.UnixNano()))
	}
	for word, list := range rec.lists() {
		for _, p := range *list {
			line(p, word+":")
		}
	}
	for p, was := range rec.Stood {
		line(p, "stood:"+was)
	}
	if b.Len() == 0 {
		if undone(dir) {
			return nil
		}
		b.WriteByte('\n') // ext4 writes out at once, when it is closed, what was cut to nothing and written again
	}
	f, err := os.OpenFile(recordOf(dir), os.O_WRONLY|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(b.String())
	if err == nil {
		err = f.Truncate(int64(b.Len()))
	}
	return errors.Join(err, f.Close())
}

// undone reports whether nothing is left to undo in a folder.
func undone(dir string) bool {
	fi, err := os.Lstat(recordOf(dir))
	return errors.Is(err, fs.ErrNotExist) || err == nil && fi.Size() <= 1
}

// read adds what lines of a record say, with places only the placeholders. A line that is torn is none.
func (rec *record) read(lines string, places bool) {
	lists := rec.lists()
	for line := range strings.Lines(lines) {
		quoted, what, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if places && what != "dir" && !strings.HasPrefix(what, `"`) {
			continue
		}
		path, err := strconv.Unquote(quoted)
		if err != nil {
			continue
		}
		word, rest, _ := strings.Cut(what, ":")
		content, errContent := strconv.Unquote(what)
		list := lists[word]
		switch {
		case errContent == nil:
			rec.places = append(rec.places, host.Placeholder{Path: path, Content: []byte(content)})
		case word == "dir":
			rec.places = append(rec.places, host.Placeholder{Path: path})
		case word == "look":
			nanos, _ := strconv.ParseInt(rest, 10, 64)
			rec.Since, rec.Roots = time.Unix(0, nanos), append(rec.Roots, path)
		case word == "stood":
			if rec.Stood == nil {
				rec.Stood = map[string]string{}
			}
			rec.Stood[path] = rest
		case list != nil:
			*list = append(*list, path)
		}
	}
}

// readRecord reads the record in a folder, none when there is none. Each start reads those of all runs that live, and
// of these the placeholders alone.
func readRecord(dir string, places bool) (rec record, err error) {
	data, err := files.Head(recordOf(dir), files.NoLinks, math.MaxInt64)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	rec.read(string(data), places)
	return rec, err
}

// sweepRecord takes back what the run of a record made, and has its leavings looked at, once.
func sweepRecord(innerHome, dir string, look func(Watched)) (stuck []error, err error) {
	rec, err := readRecord(dir, false)
	if err != nil {
		return nil, err
	}
	dirs := parents{}
	defer dirs.close()
	left, stuck, err := takeBack(innerHome, dir, rec.places, dirs)
	if err != nil {
		return stuck, err
	}
	if len(rec.Roots) > 0 {
		look(rec.Watched)
	}
	return stuck, record{places: left}.write(dir)
}

// Pending reports whether a run lives, or that cannot be found out.
func Pending(innerHome string) bool {
	living, err := owned.Living(records(innerHome))
	return err != nil || len(living) > 0
}

// Lives reports whether a run has not ended.
func Lives(innerHome, id string) bool { return owned.Alive(filepath.Join(records(innerHome), id)) }
