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

// What somebody has to look at when a run is killed is in its record. Records are in one folder of the user, whatever
// the environment of a run says, and whoever makes or removes placeholders holds the gate of that folder: so two runs
// never remove what the other one needs.
func records(innerHome string) string { return filepath.Join(innerHome, "runs") }

// recordOf is the file in one of these folders; none, or one without a word, when there is nothing to undo. Its lines are a
// quoted path, for a name can have any byte, and what it is.
func recordOf(dir string) string { return filepath.Join(dir, "undo") }

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
	return w.write(r.record.Path)
}

// write has the file in a folder hold that, and nothing else. It is written over, which makes no new file at each
// start: who is killed in the middle leaves a line of before or a torn one behind it.
func (w Watched) write(dir string) error {
	var b strings.Builder
	line := func(path, what string) { fmt.Fprintf(&b, "%q\t%s\n", path, what) }
	for _, p := range w.Roots {
		line(p, fmt.Sprintf("look:%d", w.Since.UnixNano()))
	}
	for word, list := range w.lists() {
		for _, p := range *list {
			line(p, word+":")
		}
	}
	for p, was := range w.Stood {
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

// readRecord reads the record in a folder, none when there is none. A line that is torn is none. former are the
// placeholders that the version before noted there.
func readRecord(dir string) (w Watched, former []host.Placeholder, err error) {
	data, err := files.Head(recordOf(dir), files.NoLinks, math.MaxInt64)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	lists := w.lists()
	for line := range strings.Lines(string(data)) {
		quoted, what, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		path, err := strconv.Unquote(quoted)
		if err != nil {
			continue
		}
		word, rest, _ := strings.Cut(what, ":")
		content, errContent := strconv.Unquote(what)
		switch list := lists[word]; {
		case what == "dir":
			former = append(former, host.Placeholder{Path: path})
		case errContent == nil:
			former = append(former, host.Placeholder{Path: path, Content: []byte(content)})
		case word == "look":
			nanos, _ := strconv.ParseInt(rest, 10, 64)
			w.Since, w.Roots = time.Unix(0, nanos), append(w.Roots, path)
		case word == "stood":
			if w.Stood == nil {
				w.Stood = map[string]string{}
			}
			w.Stood[path] = rest
		case list != nil:
			*list = append(*list, path)
		}
	}
	return w, former, err
}

// Pending reports whether a run lives, or that cannot be found out.
func Pending(innerHome string) bool {
	living, err := owned.Living(records(innerHome))
	return err != nil || len(living) > 0
}

// Lives reports whether a run has not ended.
func Lives(innerHome, id string) bool { return owned.Alive(filepath.Join(records(innerHome), id)) }
