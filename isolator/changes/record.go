// Package changes compares the kept copies of a run with their originals. Package review
// shows what is different, and writes chosen parts of it to the originals.
//
// A kept run is a folder of INNER_HOME/changes: run.json, and for each copy its
// tree and a manifest of the original as it was when it was copied. The box
// sees nothing but the trees.
//
// What it promises:
//
//   - a file counts as untouched only when the kernel says so: same inode, and
//     its change time, which no program can set, before the end of the copying.
//     Everything else is compared byte by byte;
//   - nothing of an original is written;
//   - names and contents of a copy are a stranger's: nothing in a copy is
//     followed, opened blindly or run.
//
// What it does not: times and extended attributes alone are no changes.
package changes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/copytree"
)

const recordName = "run.json"

// TreeName returns the name of the i-th copy in the folder of a run.
func TreeName(i int) string { return fmt.Sprintf("tree-%d", i) }

func manifestName(i int) string { return fmt.Sprintf("manifest-%d", i) }

// Record is the content of run.json, which describes a kept run.
type Record struct {
	Run     string     `json:"run"`
	Profile string     `json:"profile"`
	Path    string     `json:"path"`
	Command string     `json:"command"`
	Begun   time.Time  `json:"begun"`
	Ended   *time.Time `json:"ended,omitempty"`
	Copies  []Copy     `json:"copies"`
	Count   Count      `json:"count,omitempty"` // when the run ended
	Applied []Path     `json:"applied,omitempty"`
}

// Copy is one copy of a run.
type Copy struct {
	Source Path  `json:"source"` // the real path of what was copied
	Dest   Path  `json:"dest"`   // where the box saw it
	File   bool  `json:"file,omitempty"`
	Stamp  int64 `json:"stamp"` // the copy was complete at this change time, nanoseconds

	// Left are the paths of the source that are not in the copy.
	Left []string `json:"left,omitempty"`
}

// Root returns the folder that the paths of changes are relative to.
func (c Copy) Root() string {
	if c.File {
		return filepath.Dir(string(c.Source))
	}
	return string(c.Source)
}

// Add adds the i-th copy, which was just made in dir, to the record, and writes its manifest.
func (r *Record) Add(dir string, i int, c Copy, res copytree.Result) error {
	c.File = len(res.Entries) == 1 && !res.Entries[0].Mode.IsDir()
	for _, l := range res.Left {
		c.Left = append(c.Left, l.Path)
	}
	if err := writeManifest(filepath.Join(dir, manifestName(i)), c, res.Entries); err != nil {
		return err
	}
	var err error
	c.Stamp, err = moment(filepath.Join(dir, manifestName(i)))
	r.Copies = append(r.Copies, c)
	return err
}

// moment returns a change time later than that of everything in the copy: a
// file system's clock may tick only every few milliseconds. It is that of a
// file beside the copy, on the same file system.
func moment(path string) (int64, error) {
	var first int64
	for range 200 {
		if err := os.Chmod(path, 0o600); err != nil { // which sets it
			return 0, err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return 0, err
		}
		now := st.Ctim.Nano()
		if first == 0 {
			first = now
		}
		if now > first {
			return now, nil
		}
		time.Sleep(time.Millisecond / 2)
	}
	return first, nil
}

// Write writes run.json in dir, whole or not at all.
func (r *Record) Write(dir string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return files.Replace(filepath.Join(dir, recordName), append(data, '\n'), 0o600)
}

// Path is a name of any bytes: in JSON it is quoted as Go does where it is no UTF-8.
type Path string

// MarshalText and UnmarshalText are for JSON, which cannot have every name.
func (p Path) MarshalText() ([]byte, error) { return []byte(paths.Text(string(p))), nil }

// UnmarshalText undoes it.
func (p *Path) UnmarshalText(text []byte) error {
	name, err := paths.OfText(string(text))
	*p = Path(name)
	return err
}

// A manifest has one line for each entry: path, mode, size, times, inodes and link target, names quoted: they can
// hold any byte.
const manifestLine = "%q\t%d\t%d\t%d\t%d\t%d\t%d\t%q\n"

func writeManifest(path string, c Copy, entries []copytree.Entry) error {
	var out bytes.Buffer
	for _, e := range entries {
		if c.File {
			e.Path = filepath.Base(string(c.Source))
		}
		fmt.Fprintf(&out, manifestLine, e.Path, e.Mode, e.Size, e.Mtime, e.Ctime, e.Ino, e.Copy, e.Link)
	}
	return files.Replace(path, out.Bytes(), 0o600)
}

func readManifest(path string) (map[string]copytree.Entry, error) {
	data, err := files.Read(path, files.NoLinks, 1<<30)
	out := map[string]copytree.Entry{}
	for line := range bytes.Lines(data) {
		var e copytree.Entry
		if _, err := fmt.Sscanf(string(line), manifestLine, &e.Path, &e.Mode, &e.Size, &e.Mtime,
			&e.Ctime, &e.Ino, &e.Copy, &e.Link); err != nil {
			return nil, fmt.Errorf("%q is damaged", path)
		}
		out[e.Path] = e
	}
	return out, err
}

// Kept is a run whose copies are kept.
type Kept struct {
	Dir     string
	Record  Record
	Damaged error // why nothing but the folder's name is known, or nil
}

// Open reads a kept run.
func Open(dir string) (*Kept, error) {
	k, name := &Kept{Dir: dir}, filepath.Join(dir, recordName)
	data, err := files.Read(name, files.NoLinks, 1<<30)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &k.Record); err != nil {
		return nil, fmt.Errorf("%q is damaged: %w", name, err)
	}
	return k, nil
}

// Finish records, when the run has ended, what changed, and returns it.
func (k *Kept) Finish() ([]Change, error) {
	list, err := k.Compare()
	if err != nil {
		return nil, err
	}
	count, now := CountOf(list), time.Now()
	k.Record.Ended, k.Record.Count = &now, count
	return list, k.Record.Write(k.Dir)
}

// OpenDir opens a folder, not through a link.
func OpenDir(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}
