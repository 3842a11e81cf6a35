// Package undo keeps what a project was before a run and after it, so that the run can be taken back: changed files
// as they were, removed ones there, new ones gone, whether git knows them or not.
//
//	s, err := undo.Begin(ctx, project)       // before the program's first instruction
//	...
//	run, err := s.End(ctx, undo.About{Run: id})
//	...
//	list, left, err := run.Back(ctx)         // what is to be written to take it back
//	done, err := review.Apply(ctx, list...)
//
// A project has a folder of INNER_HOME/undo: git, a bare repository with the contents; manifest, what is known of the
// project; and RUN.json for each run. A file is read when its identity, size, times or mode are not those of the
// manifest; in a repository the first manifest is the index of the project, whose contents are not copied until a run
// changes them. Neither settings nor ignore rules, filters or hooks of the project or the user are in force.
//
// It does not keep what tools make again (node_modules and its kind), files above 10 MiB, what is beyond 500 MiB,
// .git, and owners, times, access lists. What another program changes during the run counts as the run's.
package undo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/git/index"
	"github.com/enr/inner/isolator/owned"
)

// Kept is how many runs of a project are kept, and how long.
const (
	KeptRuns = 20
	KeptFor  = 14 * 24 * time.Hour
)

// Project is a folder that runs work in.
type Project struct {
	Top     string // its real path
	Home    string // INNER_HOME
	Git     string // the program
	Index   string // the index of the repository whose work tree it is, "" for none
	Objects string // the git directory with its objects
}

// Dir is the folder of a project's states.
func (p Project) Dir() string {
	sum := sha256.Sum256([]byte(p.Top))
	return filepath.Join(p.Home, "undo", hex.EncodeToString(sum[:8]))
}

func (p Project) manifest() string { return filepath.Join(p.Dir(), "manifest") }

// State is what a path was: nothing for a zero Mode.
type State struct {
	Mode fs.FileMode `json:"mode"`
	ID   string      `json:"id,omitempty"`
}

// Change is a path that a run changed.
type Change struct {
	Path   string `json:"path"` // relative to the project; quoted as Go does where it is no UTF-8
	Before State  `json:"before"`
	After  State  `json:"after"`
}

// Run is what is kept of one.
type Run struct {
	Run     string    `json:"run"`
	Top     string    `json:"project"`
	Begun   time.Time `json:"begun"`
	Ended   time.Time `json:"ended"`
	Changes []Change  `json:"changes"`
	Left    []string  `json:"left_out,omitempty"` // what is not kept, with the reason

	project Project
}

// Snapshot is a project before a run.
type Snapshot struct {
	Project
	Begun time.Time
	Left  []string
	First bool // nothing was known of the project before

	before tree
}

// locked opens the store of a project while no other process has it.
func (p Project) locked() (s *store, unlock func(), err error) {
	if err := os.MkdirAll(p.Dir(), 0o700); err != nil {
		return nil, nil, err
	}
	lock, err := owned.Lock(filepath.Join(p.Dir(), "lock"), unix.LOCK_EX)
	if err != nil {
		return nil, nil, err
	}
	s, err = openStore(p.Git, filepath.Join(p.Dir(), "git"))
	if err != nil {
		lock.Close()
		return nil, nil, err
	}
	return s, func() { lock.Close() }, nil
}

// Begin looks at a project, and stores what is not known of it.
func Begin(ctx context.Context, p Project) (*Snapshot, error) {
	s, unlock, err := p.locked()
	if err != nil {
		return nil, err
	}
	defer unlock()
	old, sure, err := readManifest(p.manifest())
	first := old == nil
	if first && err == nil && p.Index != "" {
		old, sure = borrowed(ctx, p)
	}
	if err != nil {
		old, sure = nil, 0 // a damaged one knows nothing
	}
	l, err := p.look(ctx, s, old, sure)
	if err != nil {
		return nil, err
	}
	return &Snapshot{Project: p, Begun: time.Now(), Left: l.left, First: first, before: l.now}, nil
}

// look looks at a project, stores the contents that are not known, and writes the manifest.
func (p Project) look(ctx context.Context, s *store, old tree, sure int64) (*looker, error) {
	begun := moment()
	l, err := look(ctx, p.Top, old, sure)
	if err != nil {
		return nil, err
	}
	defer l.close()
	var all int64
	for _, rel := range l.changed {
		if err := ctx.Err(); err != nil {
			return nil, errors.Join(err, s.flush())
		}
		if all > MaxAll {
			l.left = append(l.left, rel+"\tis beyond 500 MiB")
			delete(l.now, rel)
			continue
		}
		data, ok := l.content(rel)
		if !ok {
			continue
		}
		all += int64(len(data))
		if err := s.put(data); err != nil {
			return nil, errors.Join(s.flush(), err)
		}
	}
	if err := s.flush(); err != nil {
		return nil, err
	}
	if len(l.changed) == 0 && len(l.now) == len(old) && sure > 0 {
		return l, nil
	}
	return l, writeManifest(p.manifest(), l.now, begun)
}

// moment is the time as files know it, in nanoseconds: what changes from now on has this time or a later one.
func moment() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &ts)
	return ts.Nano()
}

// About says which run it was.
type About struct {
	Run string
}

// End looks at the project again, and keeps what is different.
func (b *Snapshot) End(ctx context.Context, about About) (*Run, error) {
	s, unlock, err := b.locked()
	if err != nil {
		return nil, err
	}
	defer unlock()
	l, err := b.look(ctx, s, b.before, b.Begun.UnixNano())
	if err != nil {
		return nil, err
	}
	run := &Run{Run: about.Run, Top: b.Top, Begun: b.Begun, Ended: time.Now(), Left: b.Left, project: b.Project}
	return run, run.keep(s, b.before, l.now)
}

// keep writes a run whose project was one tree and is another.
func (r *Run) keep(s *store, before, after tree) error {
	add := func(rel string) {
		was, is := before[rel], after[rel]
		if was.ID == is.ID && was.Mode == is.Mode {
			return
		}
		r.Changes = append(r.Changes, Change{rel, stateOf(was), stateOf(is)})
	}
	for rel := range before {
		add(rel)
	}
	for rel := range after {
		if _, both := before[rel]; !both {
			add(rel)
		}
	}
	slices.SortFunc(r.Changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	if len(r.Changes) == 0 {
		return nil
	}
	var ids []index.ID
	for _, c := range r.Changes {
		for _, st := range []State{c.Before, c.After} {
			if id, ok := st.id(); ok {
				ids = append(ids, id)
			}
		}
	}
	slices.SortFunc(ids, func(a, b index.ID) int { return strings.Compare(string(a[:]), string(b[:])) })
	ids = slices.Compact(ids)
	missing, err := s.get(s.dir, ids, func(index.ID, []byte) error { return nil })
	if err == nil && r.project.Objects != "" {
		missing, err = s.get(r.project.Objects, missing, func(_ index.ID, data []byte) error { return s.put(data) })
	}
	if err != nil {
		return errors.Join(s.flush(), err)
	}
	ids = slices.DeleteFunc(ids, func(id index.ID) bool { return slices.Contains(missing, id) })
	if err := errors.Join(s.keep(r.Run, ids), s.flush()); err != nil {
		return err
	}
	data, err := json.Marshal(r.quoted())
	if err != nil {
		return err
	}
	return files.Replace(filepath.Join(r.project.Dir(), r.Run+".json"), data, 0o600)
}

func stateOf(e Entry) State {
	st := State{Mode: e.Mode}
	if e.ID != (index.ID{}) {
		st.ID = hex.EncodeToString(e.ID[:])
	}
	return st
}

func (st State) id() (id index.ID, ok bool) {
	n, err := hex.Decode(id[:], []byte(st.ID))
	return id, err == nil && n == len(id)
}
