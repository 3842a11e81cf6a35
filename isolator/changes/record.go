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
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
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
	Applied []string   `json:"applied,omitempty"`
}

// Copy is one copy of a run.
type Copy struct {
	Source string `json:"source"` // the real path of what was copied
	Dest   string `json:"dest"`   // where the box saw it
	File   bool   `json:"file,omitempty"`
	Stamp  int64  `json:"stamp"` // the copy was complete at this change time, nanoseconds

	// Left are the paths of the source that are not in the copy.
	Left []string `json:"left,omitempty"`
}

// Root returns the folder that the paths of changes are relative to.
func (c Copy) Root() string {
	if c.File {
		return filepath.Dir(c.Source)
	}
	return c.Source
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
	data, err := json.MarshalIndent(r.with(inJSON), "", "  ")
	if err != nil {
		return err
	}
	return files.Replace(filepath.Join(dir, recordName), append(data, '\n'), 0o600)
}

// with returns a record with its paths turned into others.
func (r Record) with(turn func(string) string) Record {
	r.Copies, r.Applied = slices.Clone(r.Copies), slices.Clone(r.Applied)
	for i, c := range r.Copies {
		r.Copies[i].Source, r.Copies[i].Dest = turn(c.Source), turn(c.Dest)
	}
	for i, p := range r.Applied {
		r.Applied[i] = turn(p)
	}
	return r
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

func create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0o600)
}

// writeManifest writes one line for each entry: path, mode, size, times,
// inodes and link target, names quoted: they can hold any byte.
func writeManifest(path string, c Copy, entries []copytree.Entry) error {
	f, err := create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	var line []byte
	for _, e := range entries {
		if c.File {
			e.Path = filepath.Base(c.Source)
		}
		line = strconv.AppendQuote(line[:0], e.Path)
		for _, n := range []uint64{uint64(e.Mode), uint64(e.Size), uint64(e.Mtime), uint64(e.Ctime), e.Ino, e.Copy} {
			line = strconv.AppendUint(append(line, '\t'), n, 10)
		}
		line = append(strconv.AppendQuote(append(line, '\t'), e.Link), '\n')
		if _, err := w.Write(line); err != nil {
			f.Close()
			return err
		}
	}
	return errors.Join(w.Flush(), f.Close())
}

func readManifest(path string) (map[string]copytree.Entry, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[string]copytree.Entry{}
	r := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := r.ReadString('\n')
		if line == "" {
			return out, nil
		}
		e, perr := parseLine(strings.TrimSuffix(line, "\n"))
		if err != nil || perr != nil {
			return nil, fmt.Errorf("%q is damaged", path)
		}
		out[e.Path] = e
	}
}

func parseLine(line string) (copytree.Entry, error) {
	part := strings.Split(line, "\t")
	if len(part) != 8 {
		return copytree.Entry{}, errors.New("not eight fields")
	}
	path, err := strconv.Unquote(part[0])
	link, err2 := strconv.Unquote(part[7])
	var n [6]uint64
	for i := range n {
		var err3 error
		n[i], err3 = strconv.ParseUint(part[i+1], 10, 64)
		err = errors.Join(err, err3)
	}
	was := copytree.State{Mode: fs.FileMode(n[0]), Size: int64(n[1]), Mtime: int64(n[2]), Ctime: int64(n[3]), Ino: n[4]}
	return copytree.Entry{Path: path, State: was, Copy: n[5], Link: link}, errors.Join(err, err2)
}

// Kept is a run whose copies are kept.
type Kept struct {
	Dir     string
	Record  Record
	Damaged error // why nothing but the folder's name is known, or nil
}

// Open reads a kept run.
func Open(dir string) (*Kept, error) {
	f, err := os.OpenFile(filepath.Join(dir, recordName), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	k := &Kept{Dir: dir}
	if err := json.NewDecoder(f).Decode(&k.Record); err != nil {
		return nil, fmt.Errorf("%q is damaged: %w", f.Name(), err)
	}
	k.Record = k.Record.with(outOfJSON)
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
