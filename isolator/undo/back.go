package undo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/changes"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/git/index"
)

// quoted is a run whose paths JSON can have; unquoted undoes it.
func (r Run) quoted() Run {
	r.Changes = slices.Clone(r.Changes)
	for i, c := range r.Changes {
		if !utf8.ValidString(c.Path) || strings.HasPrefix(c.Path, `"`) {
			r.Changes[i].Path = strconv.Quote(c.Path)
		}
	}
	return r
}

func (r *Run) unquote() {
	for i, c := range r.Changes {
		if p, err := strconv.Unquote(c.Path); err == nil {
			r.Changes[i].Path = p
		}
	}
}

// List returns the runs of a project, the oldest first, and those that cannot be read as errors.
func (p Project) List() (list []*Run, err error) {
	names, err := filepath.Glob(filepath.Join(p.Dir(), "*.json"))
	for _, name := range names {
		data, errRead := os.ReadFile(name)
		r := &Run{project: p}
		if errRead == nil {
			errRead = json.Unmarshal(data, r)
		}
		if errRead != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, errRead))
			continue
		}
		r.unquote()
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *Run) int { return a.Ended.Compare(b.Ended) })
	return list, err
}

// Back is what takes a run back.
type Back struct {
	Kept  *changes.Kept    // of what was before, for review.Apply
	List  []changes.Change // that are to be applied
	Stays []string         // what somebody changed after the run, and what is not kept any more
	now   tree             // of the changed paths, as they are
	run   *Run
}

// Back compares a run with the project as it is, and lays out below a private folder what was before. A path that is
// not what the run left stays, and is named.
func (r *Run) Back(dir string) (*Back, error) {
	p := r.project
	s, unlock, err := p.locked()
	if err != nil {
		return nil, err
	}
	defer unlock()
	top, err := changes.OpenDir(r.Top)
	if err != nil {
		return nil, err
	}
	defer unix.Close(top)
	b := &Back{run: r, now: tree{}, Kept: &changes.Kept{Dir: dir, Record: changes.Record{Run: r.Run, Begun: r.Begun}}}
	root := filepath.Join(dir, changes.TreeName(0))
	if err := os.Mkdir(root, 0o700); err != nil {
		return nil, err
	}
	l := &looker{top: top, now: b.now}
	want := map[index.ID][]Change{}
	for _, c := range r.Changes {
		if st, err := copytree.Lstat(top, c.Path); err == nil {
			b.now[c.Path] = Entry{State: copytree.StateOf(st)}
			if !b.now[c.Path].Mode.IsDir() {
				if data, ok := l.content(c.Path); ok {
					if err := s.put(data); err != nil {
						return nil, errors.Join(err, s.flush())
					}
				}
			}
		}
		switch now := stateOf(b.now[c.Path]); now {
		case c.Before: // it is back already
		case c.After:
			if id, ok := c.Before.id(); ok {
				want[id] = append(want[id], c)
				continue
			}
			b.add(c, root)
		default:
			b.Stays = append(b.Stays, c.Path+"\twas changed after the run")
		}
	}
	if err := s.flush(); err != nil {
		return nil, err
	}
	var ids []index.ID
	for id := range want {
		ids = append(ids, id)
	}
	missing, err := s.get(s.dir, ids, func(id index.ID, data []byte) error {
		for _, c := range want[id] {
			if err := lay(root, c, data); err != nil {
				return err
			}
			b.add(c, root)
		}
		return nil
	})
	for _, id := range missing {
		for _, c := range want[id] {
			b.Stays = append(b.Stays, c.Path+"\tis not kept any more")
		}
	}
	slices.Sort(b.Stays)
	return b, err
}

// lay writes what a path was below root.
func lay(root string, c Change, data []byte) error {
	at := filepath.Join(root, c.Path)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	if c.Before.Mode&fs.ModeSymlink != 0 {
		return os.Symlink(string(data), at)
	}
	return os.WriteFile(at, data, 0o600)
}

// add has a change be applied.
func (b *Back) add(c Change, root string) {
	ch := changes.Change{
		Source: b.run.Top, Path: c.Path, Root: b.run.Top, Tree: root, Old: c.After.Mode, New: c.Before.Mode, Current: b.now[c.Path].State,
		Kind: changes.Modified,
	}
	switch {
	case ch.New == 0 && c.Before.ID == "":
		ch.Kind = changes.Deleted
	case ch.Old == 0 && c.After.ID == "":
		ch.Kind = changes.Added
	case ch.Old.Type() != ch.New.Type():
		ch.Kind = changes.Type
	case c.Before.ID == c.After.ID:
		ch.Kind = changes.Mode
	}
	b.List = append(b.List, ch)
}

// Done keeps what the project was before it was taken back, so that this can be taken back, too.
func (b *Back) Done(ctx context.Context, name string) error {
	p := b.run.project
	s, unlock, err := p.locked()
	if err != nil {
		return err
	}
	defer unlock()
	top, err := changes.OpenDir(b.run.Top)
	if err != nil {
		return err
	}
	defer unix.Close(top)
	after := tree{}
	l := &looker{top: top, now: after}
	for _, c := range b.run.Changes {
		if st, err := copytree.Lstat(top, c.Path); err == nil {
			after[c.Path] = Entry{State: copytree.StateOf(st)}
			if !after[c.Path].Mode.IsDir() {
				l.content(c.Path)
			}
		}
	}
	run := &Run{Run: name, Top: b.run.Top, Begun: time.Now(), Ended: time.Now(), project: p}
	return run.keep(s, b.now, after)
}
