package runlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/netproxy"
)

// Names of the files of a run.
const (
	RecordFile = "run.jsonl"
	OutputFile = "output.log"
	CastFile   = "session.cast"
)

// Start is the first line of a record.
type Start struct {
	Event   string    `json:"event"` // "start"
	Time    time.Time `json:"time"`
	Run     string    `json:"run"`
	Inner   string    `json:"inner"` // version
	PID     int       `json:"pid"`
	Profile string    `json:"profile"`
	Path    string    `json:"path"`  // of the profile
	Scope   string    `json:"scope"` // of the profile: global, local, file
	Digest  string    `json:"digest"`
	Command string    `json:"command"` // the word that was typed, or "run"
	Program string    `json:"program"` // absolute
	Args    int       `json:"args"`    // how many arguments; a prompt is one, and may hold a key
	Cwd     string    `json:"cwd"`
	Workdir string    `json:"workdir"`
	Project string    `json:"project,omitempty"`
	Network string    `json:"network"`
	Allow   []string  `json:"allow,omitempty"`
	Clones  []string  `json:"capabilities,omitempty"`
	// Terminal says that the program had the box's own terminal.
	Terminal bool `json:"terminal"`
}

// End is the last line of a record.
type End struct {
	Event    string         `json:"event"` // "end"
	Time     time.Time      `json:"time"`
	Code     int            `json:"code"`
	Signal   string         `json:"signal,omitempty"`
	TimedOut bool           `json:"timed_out,omitempty"`
	Limits   []string       `json:"limits,omitempty"` // of [sandbox.limits], those it came to, in words
	Millis   int64          `json:"ms"`
	Blocked  map[string]int `json:"blocked,omitempty"` // noop: calls per command
	// Network is what the box asked its proxy for, by name; MoreHosts how many
	// hosts are left out.
	Network   []Host    `json:"network,omitempty"`
	MoreHosts int       `json:"more_hosts,omitempty"`
	Output    *Captured `json:"output,omitempty"`
	Changes   *Changes  `json:"changes,omitempty"` // only with [output] summary
	// Later are changed files that run on the host the next time somebody
	// builds, or opens the folder.
	Later []string `json:"runs_later,omitempty"`
	// Aside is what the run made and tools of the host would obey: it has another name now.
	Aside []string `json:"moved_aside,omitempty"`
	// Rewound are the refs of git that the run deleted, or moved to where the old value is no part of the new one;
	// MoreRewound how many are left out.
	Rewound     []Ref `json:"rewound,omitempty"`
	MoreRewound int   `json:"more_rewound,omitempty"`
	// Granted is what the box got while it ran, as inner allow names it.
	Granted []string `json:"granted,omitempty"`
}

// Ref is a ref of a repository that a run rewound.
type Ref struct {
	Repo string `json:"repo"` // the git directory
	Ref  string `json:"ref"`
	Old  string `json:"old"`
	New  string `json:"new,omitempty"` // empty: it was deleted
}

// MaxRewound is how many refs a record lists.
const MaxRewound = 200

// Host is what became of the requests of a run to one host and port.
type Host = netproxy.Host

// MaxHosts is how many hosts a record lists.
const MaxHosts = 500

// Run is the record of one run that is being written.
type Run struct {
	ID     string
	folder *Folder
	record *os.File // locked for as long as the run lives
	ended  bool
}

// Begin makes the folder of a run and writes its first line. The Folder is the
// run's from then on, also when there is an error.
func (f *Folder) Begin(s Start) (*Run, error) {
	if !isRun(s.Run) {
		return nil, errors.Join(fmt.Errorf("log: %q is not the id of a run", s.Run), f.Close())
	}
	if err := f.root.Mkdir(s.Run, 0o700); err != nil {
		return nil, errors.Join(f.fault(err), f.Close())
	}
	r := &Run{ID: s.Run, folder: f}
	var err error
	if r.record, err = r.create(RecordFile); err == nil {
		err = syscall.Flock(int(r.record.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err == nil {
		s.Event = "start"
		err = r.write(s)
	}
	if err != nil {
		return nil, errors.Join(f.fault(err), r.Close())
	}
	return r, nil
}

// create makes a file in the run's folder.
func (r *Run) create(name string) (*os.File, error) {
	return r.folder.root.OpenFile(filepath.Join(r.ID, name), os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
}

func (r *Run) write(v any) error {
	_, err := r.record.Write(append(line(v), '\n')) // one write: no line is torn
	return err
}

// Path returns the run's folder.
func (r *Run) Path() string { return filepath.Join(r.folder.Path, r.ID) }

// End writes the last line.
func (r *Run) End(e End) error {
	e.Event = "end"
	if more := len(e.Network) - MaxHosts; more > 0 {
		e.Network, e.MoreHosts = e.Network[:MaxHosts], more
	}
	if more := len(e.Rewound) - MaxRewound; more > 0 {
		e.Rewound, e.MoreRewound = e.Rewound[:MaxRewound], more
	}
	r.ended = true
	if err := r.write(e); err != nil {
		return fmt.Errorf("log of run %s: %w", r.ID, cause(err))
	}
	return nil
}

// Close closes the record. A record without an end is of a run whose program did
// not start, and is removed. Close is safe on nil and can be called twice.
func (r *Run) Close() error {
	if r == nil || r.folder == nil {
		return nil
	}
	var err error
	if !r.ended {
		err = r.folder.root.RemoveAll(r.ID)
	}
	if r.record != nil {
		err = errors.Join(err, r.record.Close())
	}
	err = errors.Join(err, r.folder.Close())
	r.folder = nil
	return err
}

// Tidy removes the oldest runs of the folder when there are too many, more than MaxTotal
// bytes, or older than keep (0: of any age). It looks
// only where there is an age, after one run in 256, and after one that left much.
func (r *Run) Tidy(left int64, keep time.Duration) error {
	seldom := left >= 1<<20 || r.ID[len(r.ID)-2:] == "00"
	if keep == 0 && !seldom { // the list of them grows with every run
		return nil
	}
	ids, err := r.folder.Runs()
	if err != nil || len(ids) == 0 || !seldom && !older(ids[0], keep) {
		return err
	}
	return r.folder.tidy(ids, MaxRuns, MaxTotal, keep)
}

// older reports whether a run began longer ago than keep, as its id says.
func older(id string, keep time.Duration) bool {
	return keep > 0 && id[:len(IDTime)] <= time.Now().Add(-keep).Format(IDTime)
}

func (f *Folder) tidy(ids []string, runs int, total int64, keep time.Duration) error {
	var size int64
	var errs []error
	for i, id := range slices.Backward(ids) { // newest first
		size += f.Size(id)
		if (len(ids)-i > runs || size > total || older(id, keep)) && !f.Alive(id) {
			errs = append(errs, f.root.RemoveAll(id))
		}
	}
	return errors.Join(errs...)
}

// Alive reports whether the run goes on: its record is locked.
func (f *Folder) Alive(id string) bool {
	rec, err := f.File(id, RecordFile)
	if err != nil {
		return false
	}
	defer func() { _ = files.Unlock(rec) }()
	return syscall.Flock(int(rec.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
}

// Size returns how many bytes the files of a run have.
func (f *Folder) Size(id string) (n int64) {
	for _, name := range []string{RecordFile, OutputFile, CastFile} {
		if fi, err := f.root.Lstat(filepath.Join(id, name)); err == nil && fi.Mode().IsRegular() {
			n += fi.Size()
		}
	}
	return n
}

// Remove removes the folder of a run that has ended.
func (f *Folder) Remove(id string) error {
	if f.Alive(id) {
		return fmt.Errorf("run %s is still running", id)
	}
	return f.root.RemoveAll(id)
}

// Changes is what changed in the writable folders during a run, by the run or
// by somebody else: their time of change is not before its start. What was
// removed is only known by the folder it was in.
type Changes struct {
	Files  []string `json:"files,omitempty"`  // new, written, or with other attributes
	Gone   []string `json:"gone,omitempty"`   // folders something was removed from or renamed in
	More   int      `json:"more,omitempty"`   // files not listed
	Partly bool     `json:"partly,omitempty"` // the search ended early: there may be others
}

// Moment returns the time as files know it: their clock ticks every few
// milliseconds only. What changes from now on has this time or a later one.
func Moment() time.Time {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &ts) != nil {
		return time.Now().Add(-10 * time.Millisecond)
	}
	return time.Unix(ts.Unix())
}

// Words says what became of a ref, and which command shows what it had or brings it back.
func (r Ref) Words() (text, command string) {
	dir, short, _ := strings.Cut(strings.TrimPrefix(r.Ref, "refs/"), "/")
	name, words := "the ref "+r.Ref, "update-ref "+quote.POSIX(r.Ref)+" "
	if kind := map[string]string{"heads": "branch", "tags": "tag"}[dir]; kind != "" {
		name, words = "the "+kind+" "+short, kind+" "+quote.POSIX(short)+" "
	} else if r.Ref == "refs/stash" {
		name, words = "the stash", "stash store "
	}
	text = fmt.Sprintf("%s was moved in the box from %.12s to %.12s", name, r.Old, r.New)
	switch {
	case r.New == "":
		text = fmt.Sprintf("%s was deleted in the box: it was %.12s", name, r.Old)
	case dir == "tags":
		words = "tag -f " + quote.POSIX(short) + " "
	default:
		if text += ", which does not have it"; r.Ref != "refs/stash" {
			words = "log --oneline " + r.New + ".."
		}
	}
	return text, "git -C " + quote.POSIX(strings.TrimSuffix(r.Repo, "/.git")) + " " + words + r.Old
}
