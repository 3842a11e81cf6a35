// Package undo keeps what a project was before a run and after it, so that the run can be taken back: changed files
// as they were, removed ones there, new ones gone, whether git knows them or not.
//
//	s, err := undo.Begin(ctx, project, about) // before the program's first instruction
//	...
//	run, err := s.End(ctx)                    // after the box is gone
//
// Package back takes it back.
//
// A project has a folder among the homes of boxes (package ownhome), which no box sees: git, a bare repository with the
// contents; manifest, what is known of the project; and RUN.json for each run, with RUN.before, the manifest when it
// began, for as long as it goes on. A file is read when its identity, size, times or mode are not those of the
// manifest. A content that the index of the project's repository names is not copied until a run changes it. Neither
// settings nor ignore rules, filters or hooks of the project or the user are in force.
//
// It does not keep what tools make again (node_modules and its kind), files above 10 MiB, what is beyond 500 MiB,
// .git, and owners, times, access lists. What another program changes during the run counts as the run's.
package undo

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/git/index"
	"github.com/enr/inner/isolator/ownhome"
	"github.com/enr/inner/isolator/stage"
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
	GitDir  string // the git directory whose refs the run may move, "" for none
	Index   string // the index of the repository whose work tree it is, "" for none
	Objects string // the git directory with its objects
	Skip    []Path // places in it that the box cannot write, nor move, relative to it
	Early   *Early // a walk that Begin goes on with, or nil
}

func (p Project) owner() ownhome.Owner { return ownhome.Owner{Project: p.Top, Undo: true} }

// Dir is the folder of a project's states.
func (p Project) Dir() string { return ownhome.Folder(p.Home, p.owner()) }

func (p Project) manifest() string { return filepath.Join(p.Dir(), "manifest") }

// lender is a file that says how the packs of the repository were from which contents are borrowed: a git gc
// changes that.
func (p Project) lender() string { return filepath.Join(p.Dir(), "lender") }

func (p Project) packs() string {
	var st unix.Stat_t
	_ = unix.Stat(filepath.Join(p.Objects, "objects/pack"), &st)
	return fmt.Sprintf("%s %+v", p.Objects, copytree.StateOf(st))
}

// record is the file of a run, and before the one that is there until its end is known.
func (p Project) record(run string) string { return filepath.Join(p.Dir(), run+".json") }
func (p Project) before(run string) string { return filepath.Join(p.Dir(), run+".before") }

// State is what a path was: nothing for a zero Mode.
type State struct {
	Mode fs.FileMode `json:"mode"`
	ID   string      `json:"id,omitempty"`
}

// Change is a path that a run changed.
type Change struct {
	Path   Path  `json:"path"` // relative to the project
	Before State `json:"before"`
	After  State `json:"after"`
}

// About says which run it is.
type About struct {
	Run     string `json:"run"`
	Profile string `json:"profile,omitempty"`
	Command string `json:"command,omitempty"`
	Undoes  string `json:"undoes,omitempty"` // no box: that run was taken back
}

// Run is what is kept of one.
type Run struct {
	About
	Top     Path      `json:"project"`
	Begun   time.Time `json:"begun"`
	Ended   time.Time `json:"ended,omitzero"`
	Killed  bool      `json:"killed,omitempty"` // nobody saw its end: what changed until the next look is in it
	Changes []Change  `json:"changes"`
	Refs    []Ref     `json:"refs,omitempty"`     // that were moved; until the end all, as they were
	Head    string    `json:"head,omitempty"`     // the value of HEAD at its end, moved or not
	Left    []string  `json:"left_out,omitempty"` // what it touched and is not kept, with the reason behind a tab
	Skip    []Path    `json:"skip,omitempty"`     // of the project, until the end

	Project Project `json:"-"`
}

// Snapshot is a project before a run.
type Snapshot struct {
	Project
	// Moved are the refs that the run itself moved, with their values before and after it did so last; nil for all
	// that are not as they were.
	Moved map[Path]Ref
	run   *Run
	home  *ownhome.Home // held while the box lives
}

// Locked opens the store of a project while no other process has it, until the home is closed. A git gc may
// have it for long.
func (p Project) Locked(ctx context.Context) (s *Store, h *ownhome.Home, err error) {
	if files.Real(p.Top) != p.Top { // the box of a folder above put a link on the way
		return nil, nil, fmt.Errorf("%q leads somewhere else now", p.Top)
	}
	opened := make(chan *ownhome.Home)
	var errOpen error
	go func() {
		var h *ownhome.Home
		h, errOpen = ownhome.Open(p.Home, p.owner())
		select {
		case opened <- h:
		case <-ctx.Done():
			if h != nil {
				h.Close()
			}
		}
	}()
	select {
	case h = <-opened:
		err = errOpen
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil {
		if s, err = openStore(p); err != nil {
			h.Close()
		}
	}
	return s, h, err
}

// Begin looks at a project, and stores what is not known of it.
func Begin(ctx context.Context, p Project, a About) (_ *Snapshot, err error) {
	early := p.Early
	p.Early = nil
	if err := p.Settle(ctx); err != nil {
		return nil, err
	}
	s, h, err := p.Locked(ctx)
	if err != nil {
		return nil, err
	}
	run := &Run{About: a, Top: Path(p.Top), Begun: time.Now(), Skip: p.Skip, Project: p}
	defer func() {
		if err != nil {
			_ = run.Remove()
			h.Close()
		}
	}()
	refs := make(chan []Ref, 1)
	go func() { refs <- p.Refs(false) }()
	var now tree
	switch known, _ := os.ReadFile(p.lender()); {
	case string(known) != p.packs():
		now = readManifest(p.manifest())
		now.written = false
		err = errors.Join(s.forget(now), os.RemoveAll(p.manifest()), files.Replace(p.lender(), []byte(p.packs()), 0o600))
		if err == nil {
			now, err = p.look(ctx, s, now, false)
		}
	case early.ready(p):
		now, err = early.finish(ctx, s, true, p.Skip)
	default:
		now, err = p.look(ctx, s, readManifest(p.manifest()), false)
	}
	run.Refs = <-refs
	if err == nil {
		err = p.seen(s, &now)
	}
	if err == nil {
		err = errors.Join(os.Link(p.manifest(), p.before(a.Run)), run.Write(), h.Ready(nil))
	}
	if err != nil {
		return nil, err
	}
	return &Snapshot{Project: p, run: run, home: h}, nil
}

// Drop lets go of a project whose run has not begun.
func (b *Snapshot) Drop() {
	_ = b.run.Remove()
	b.home.Close()
}

// End looks at the project again, and keeps what is different. After an error the next look goes on with it.
func (b *Snapshot) End(ctx context.Context) (*Run, error) {
	defer b.home.Close()
	r, err := b.end(ctx, b.run.Run, false, b.Moved)
	if r == nil && err == nil {
		err = errors.New("what the project was before is gone")
	}
	return r, err
}

// Settle ends the runs whose end nobody saw: what changed until now is theirs.
func (p Project) Settle(ctx context.Context) error {
	list, _ := filepath.Glob(p.before("*"))
	for _, name := range list {
		id := strings.TrimSuffix(filepath.Base(name), ".before")
		if stage.Lives(p.Home, id) {
			continue
		}
		if _, err := p.end(ctx, id, true, nil); err != nil {
			return err
		}
	}
	return nil
}

// end looks at the project, and writes what is different from what it was when a run began; nil when that is not known.
func (p Project) end(ctx context.Context, id string, killed bool, by map[Path]Ref) (*Run, error) {
	s, h, err := p.Locked(ctx)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	r, err := p.Read(id)
	before := readManifest(p.before(id))
	if err != nil || before.folders == nil || !r.Ended.IsZero() {
		return nil, os.RemoveAll(p.before(id)) // another may have been faster
	}
	p.Skip = r.Skip
	now, err := p.look(ctx, s, before, true)
	if err != nil {
		return nil, err
	}
	skipped := func(rel string) bool {
		return slices.ContainsFunc(r.Skip, func(at Path) bool { return paths.Below(string(at), rel) })
	}
	list, left := different(before, now)
	r.Changes = slices.DeleteFunc(list, func(c Change) bool { return skipped(string(c.Path)) })
	maps.DeleteFunc(left, func(rel string, _ [2]Entry) bool { return skipped(rel) })
	was, is := r.Refs, p.Refs(false)
	r.Skip, r.Refs, r.Head, r.Ended, r.Killed = nil, moved(was, is, by), p.Head(), time.Now(), killed
	var keep bool
	if r.Left, keep = missed(left); p.GitDir != "" && (was == nil || is == nil) {
		r.Left = append(r.Left, ".git\tits refs are not known: git did not say them")
	}
	if len(r.Changes)+len(r.Refs) == 0 && !keep {
		err = r.Remove()
	} else if err = r.Store(s); err == nil { // else the record says that it goes on
		err = errors.Join(r.Write(), os.RemoveAll(p.before(id)))
	}
	if err == nil {
		err = p.seen(s, &now)
	}
	if err == nil && !killed { // else somebody waits
		err = p.prune(s, h)
	}
	return r, err
}

// Store has the contents of a run stay: those that only the project's repository has are copied.
func (r *Run) Store(s *Store) error {
	var ids []index.ID
	for _, c := range r.Changes {
		for _, st := range []State{c.Before, c.After} {
			if id, ok := st.BlobID(); ok {
				ids = append(ids, id)
			}
		}
	}
	err := s.fetch(ids)
	s.keep(r)
	if r.Undoes != "" {
		s.ids = nil // they are named by that alone, and go with it
	}
	return errors.Join(err, s.flush())
}

// prune drops the runs that are too old, or too many.
func (p Project) prune(s *Store, h *ownhome.Home) (err error) {
	names, _ := filepath.Glob(p.record("*"))
	written := func(name string) (at time.Time) { // a name tells the second alone
		if fi, err := os.Lstat(name); err == nil {
			at = fi.ModTime()
		}
		return at
	}
	slices.SortStableFunc(names, func(x, y string) int { return written(x).Compare(written(y)) })
	for i, name := range names {
		id := strings.TrimSuffix(filepath.Base(name), ".json")
		if !files.Exists(p.before(id)) && (i < len(names)-KeptRuns || time.Since(written(name)) > KeptFor) {
			err = errors.Join(err, (&Run{About: About{Run: id}, Project: p}).Remove())
		}
	}
	return errors.Join(err, p.collect(s, h))
}

// Read reads the record of a run.
func (p Project) Read(id string) (*Run, error) {
	r := &Run{Project: p}
	data, err := os.ReadFile(p.record(id))
	if err == nil {
		err = json.Unmarshal(data, r)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.record(id), err)
	}
	r.Top = Path(p.Top) // inner home move
	for _, c := range r.Changes {
		if !filepath.IsLocal(string(c.Path)) || slices.ContainsFunc(strings.Split(string(c.Path), "/"), func(name string) bool { return strings.EqualFold(name, ".git") }) {
			return nil, fmt.Errorf("%s: %q is no path of a project", p.record(id), c.Path)
		}
	}
	return r, nil
}

// Write writes the record of a run, whole or not at all.
func (r *Run) Write() error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return files.Replace(r.Project.record(r.Run), data, 0o600)
}

// Remove removes what is kept of a run.
func (r *Run) Remove() error {
	p := r.Project
	return errors.Join(os.RemoveAll(p.before(r.Run)), os.RemoveAll(p.record(r.Run)), os.RemoveAll(p.Store().ref(r.Run)))
}

// StateOf is what an entry says of a path.
func StateOf(e Entry) State {
	st := State{Mode: e.Mode}
	if !e.Mode.IsDir() { // nothing gives a file these
		st.Mode &^= fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	}
	if e.ID != (index.ID{}) {
		st.ID = hex.EncodeToString(e.ID[:])
	}
	return st
}

// BlobID is the name of the content in git.
func (st State) BlobID() (id index.ID, ok bool) {
	n, err := hex.Decode(id[:], []byte(st.ID))
	return id, err == nil && n == len(id)
}
