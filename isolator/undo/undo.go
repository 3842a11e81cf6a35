// Package undo keeps what a project was before a run and after it, so that the run can be taken back: changed files
// as they were, removed ones there, new ones gone, whether git knows them or not.
//
//	s, err := undo.Begin(ctx, project, about) // before the program's first instruction
//	...
//	run, err := s.End(ctx)                    // after the box is gone
//	...
//	b, err := run.Back(folder, id)            // what is to be written to take it back
//	done, err := b.Apply(ctx, review.Apply)
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
}

func (p Project) owner() ownhome.Owner { return ownhome.Owner{Project: p.Top, Undo: true} }

// Dir is the folder of a project's states.
func (p Project) Dir() string { return ownhome.Folder(p.Home, p.owner()) }

func (p Project) manifest() string { return filepath.Join(p.Dir(), "manifest") }

// lender is a file that says how the packs of the repository were from which contents are borrowed: a git gc changes that.
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

	project Project
}

// Snapshot is a project before a run.
type Snapshot struct {
	Project
	run    *Run
	before tree
	home   *ownhome.Home // held while the box lives
}

// locked opens the store of a project while no other process has it, until the home is closed.
func (p Project) locked() (*store, *ownhome.Home, error) {
	if files.Real(p.Top) != p.Top { // the box of a folder above put a link on the way
		return nil, nil, fmt.Errorf("%q leads somewhere else now", p.Top)
	}
	h, err := ownhome.Open(p.Home, p.owner())
	if err != nil {
		return nil, nil, err
	}
	s, err := openStore(p)
	if err != nil {
		h.Close()
		return nil, nil, err
	}
	return s, h, nil
}

// Begin looks at a project, and stores what is not known of it.
func Begin(ctx context.Context, p Project, a About) (_ *Snapshot, err error) {
	if err := p.settle(ctx); err != nil {
		return nil, err
	}
	s, h, err := p.locked()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			h.Close()
		}
	}()
	run := &Run{About: a, Top: Path(p.Top), Begun: time.Now(), Skip: p.Skip, project: p}
	refs := make(chan []Ref, 1)
	go func() { refs <- p.refs() }()
	old, packs := readManifest(p.manifest()), p.packs()
	known, _ := os.ReadFile(p.lender())
	if string(known) != packs {
		err = s.forget(old)
	}
	now := old
	if err == nil {
		now, err = p.look(ctx, s, old, false)
	}
	run.Refs = <-refs
	if err != nil {
		return nil, err
	}
	if err := p.seen(s, &now); err != nil {
		return nil, err
	}
	if string(known) != packs {
		if err := files.Replace(p.lender(), []byte(packs), 0o600); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(os.Link(p.manifest(), p.before(a.Run)), run.write(), h.Ready(nil)); err != nil {
		_ = run.remove()
		return nil, err
	}
	return &Snapshot{Project: p, run: run, before: now, home: h}, nil
}

// Drop lets go of a project whose run has not begun.
func (b *Snapshot) Drop() {
	_ = b.run.remove()
	b.home.Close()
}

// End looks at the project again, and keeps what is different. After an error the next look goes on with it.
func (b *Snapshot) End(ctx context.Context) (*Run, error) {
	defer b.home.Close()
	s, h, err := b.locked()
	if err != nil {
		return nil, err
	}
	defer h.Close()
	now, err := b.look(ctx, s, b.before, true)
	if err != nil {
		return nil, err
	}
	if err := b.run.end(s, b.before, now); err != nil {
		return nil, err
	}
	return b.run, errors.Join(b.seen(s, &now), b.prune(s, h))
}

// settle ends the runs whose end nobody saw: what changed until now is theirs.
func (p Project) settle(ctx context.Context) error {
	list, _ := filepath.Glob(p.before("*"))
	list = slices.DeleteFunc(list, func(name string) bool { return stage.Lives(p.Home, strings.TrimSuffix(filepath.Base(name), ".before")) })
	if len(list) == 0 {
		return nil
	}
	s, h, err := p.locked()
	if err != nil {
		return err
	}
	defer h.Close()
	p.Skip = nil // that of each run counts
	now, err := p.look(ctx, s, readManifest(p.manifest()), true)
	for _, name := range list {
		r, errRead := p.read(strings.TrimSuffix(filepath.Base(name), ".before"))
		before := readManifest(name)
		switch {
		case err != nil:
		case errRead != nil || before.folders == nil || !r.Ended.IsZero():
			err = os.RemoveAll(name) // another may have been faster
		default:
			r.Killed = true
			err = r.end(s, before, now)
		}
	}
	if err == nil {
		err = p.seen(s, &now)
	}
	return err
}

// end writes a run whose project was one tree and is another.
func (r *Run) end(s *store, before, after tree) error {
	skipped := func(rel string) bool {
		return slices.ContainsFunc(r.Skip, func(at Path) bool { return paths.Below(string(at), rel) })
	}
	list, left := different(before, after)
	r.Changes = slices.DeleteFunc(list, func(c Change) bool { return skipped(string(c.Path)) })
	maps.DeleteFunc(left, func(rel string, _ [2]Entry) bool { return skipped(rel) })
	r.Skip = nil
	r.Refs, r.Head = moved(r.Refs, r.project.refs()), r.project.head()
	r.Ended = time.Now()
	var keep bool
	if r.Left, keep = missed(left); len(r.Changes)+len(r.Refs) == 0 && !keep {
		return r.remove()
	}
	if err := r.store(s); err != nil {
		return err // and the record says that it goes on
	}
	if err := r.write(); err != nil {
		return err
	}
	return os.RemoveAll(r.project.before(r.Run))
}

// store has the contents of a run stay: those that only the project's repository has are copied.
func (r *Run) store(s *store) error {
	var ids []index.ID
	for _, c := range r.Changes {
		for _, st := range []State{c.Before, c.After} {
			if id, ok := st.id(); ok {
				ids = append(ids, id)
			}
		}
	}
	err := s.fetch(ids)
	s.keep(r)
	return errors.Join(err, s.flush())
}

// prune drops the runs that are too old, or too many.
func (p Project) prune(s *store, h *ownhome.Home) (err error) {
	names, _ := filepath.Glob(p.record("*"))
	written := map[string]time.Time{}
	for _, name := range names {
		if fi, err := os.Lstat(name); err == nil {
			written[name] = fi.ModTime()
		}
	}
	// A name tells the second alone.
	slices.SortStableFunc(names, func(x, y string) int { return written[x].Compare(written[y]) })
	for i, name := range names {
		id := strings.TrimSuffix(filepath.Base(name), ".json")
		if !files.Exists(p.before(id)) && (i < len(names)-KeptRuns || time.Since(written[name]) > KeptFor) {
			err = errors.Join(err, (&Run{About: About{Run: id}, project: p}).remove())
		}
	}
	return errors.Join(err, p.collect(s, h))
}

// write writes the record of a run, whole or not at all.
func (r *Run) write() error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return files.Replace(r.project.record(r.Run), data, 0o600)
}

// remove removes what is kept of a run.
func (r *Run) remove() error {
	p := r.project
	return errors.Join(os.RemoveAll(p.before(r.Run)), os.RemoveAll(p.record(r.Run)), os.RemoveAll(p.store().ref(r.Run)))
}

func stateOf(e Entry) State {
	st := State{Mode: e.Mode}
	if !e.Mode.IsDir() { // nothing gives a file these
		st.Mode &^= fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	}
	if e.ID != (index.ID{}) {
		st.ID = hex.EncodeToString(e.ID[:])
	}
	return st
}

// unknown reports whether the content is not known of what has one: then nobody may take it for another.
func (st State) unknown() bool { return st.Mode != 0 && !st.Mode.IsDir() && st.ID == "" }

func (st State) id() (id index.ID, ok bool) {
	n, err := hex.Decode(id[:], []byte(st.ID))
	return id, err == nil && n == len(id)
}
