package features

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/isolator/git/server"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/undo"
)

// UndoProject is a folder whose state inner undo can bring back, with the repository that it is in.
func UndoProject(c *caller.Caller, top string) undo.Project {
	program, _ := host.FindHelper("git", c.Getenv("PATH"))
	p := undo.Project{Top: top, Home: c.InnerHome, Git: program}
	if r, err := git.Find(top); err == nil && r.Reason == "" && !r.Led {
		if p.GitDir = r.Dir; r.Digits == 40 {
			p.Objects = r.Common
		}
		if r.Top == top && p.Objects != "" {
			p.Index = filepath.Join(r.Dir, "index")
		}
	}
	return p
}

// undoable keeps what the working folder is before the box begins, and what it was changed to when that is gone.
func undoable(gits *boxGits) Feature {
	var before *undo.Snapshot
	var early *undo.Early
	drop := func() { // the program has not run
		if before != nil {
			before.Drop()
			before = nil
		}
	}
	return Feature{
		Name: "undo", Keys: []string{"sandbox.undo"},
		Ask: func(run *Run) error {
			if keepsUndo(run) { // the walk takes longer than all that comes before the box
				p := undo.Project{Top: files.Real(run.Spec.Workdir), Home: run.InnerHome}
				if early = p.Walk(); early != nil {
					run.Undo(early.Stop)
				}
			}
			return nil
		},
		Start: func(run *Run, o *launch.Options) {
			if !keepsUndo(run) {
				return
			}
			top := files.Real(run.Spec.Workdir)
			drop() // of a try before this one
			run.Undo(drop)
			watch, rest := o.Watch, o.Meanwhile
			begin := sync.OnceValue(func() (err error) {
				before, err = beginUndo(run, top, early)
				early = nil // another try walks again
				return err
			})
			o.Meanwhile = func() (launch.Watcher, error) {
				if err := begin(); err != nil || rest == nil {
					return watch, err
				}
				return rest()
			}
		},
		Finish: func(run *Run, _ *Outcome) error {
			if before == nil {
				return nil
			}
			state := before
			before = nil
			state.Moved = gits.movedIn(run, state.GitDir)
			if _, err := state.End(context.Background()); err != nil {
				return fmt.Errorf("what the run changed could not be looked at: %w; inner undo %s looks again",
					err, run.ID())
			}
			return nil
		},
	}
}

// movedIn returns what the box moved in the repository of a git directory, nil where nobody saw all of it.
func (b *boxGits) movedIn(run *Run, dir string) map[undo.Path]undo.Ref {
	if run.Spec.GitDir == "rw" || len(b.moved) == server.MaxMoved {
		return nil
	}
	by := map[undo.Path]undo.Ref{}
	for _, m := range b.moved {
		name := m.Ref
		if strings.Contains(name, "\ufffd") { // what is told has no bytes that are no characters
			return nil
		}
		if path.Base(name) == "HEAD" && filepath.Join(m.Repo, name) == filepath.Join(dir, "HEAD") {
			name = "HEAD"
		}
		if paths.Below(m.Repo, dir) {
			by[undo.Path(name)] = undo.Ref{Name: undo.Path(name), Old: m.Old, New: m.New}
		}
	}
	return by
}

// keepsUndo reports whether a run is one that can be taken back.
func keepsUndo(run *Run) bool {
	return run.Spec.Undo && run.Mode == Program && slices.Contains(run.Spec.WritableRoots(), run.Spec.Workdir)
}

// beginUndo keeps the state of a folder before a run, or says why the run does not start.
func beginUndo(run *Run, top string, early *undo.Early) (*undo.Snapshot, error) {
	p := UndoProject(run.Caller, top)
	if early != nil {
		defer early.Stop()
		if p.Early = early; early.Top != top {
			p.Early = nil
		}
	}
	if p.Git == "" {
		return nil, fault.Refuse(125, "install git, or undo = false under [sandbox]",
			"the state of %s cannot be kept for inner undo: there is no git", run.Short(top))
	}
	if run.Spec.GitDir == "rw" { // what the box says of the repository is not believed
		p.Index, p.Objects = "", ""
	}
	for _, dir := range []string{top, run.Spec.Workdir} { // what is hidden or read-only the run cannot have changed
		covered, _ := run.Plan.Covered(dir)
		for _, rel := range covered {
			p.Skip = append(p.Skip, undo.Path(rel))
		}
	}
	ctx, stop := Interruptible(run.Done)
	defer stop()
	defer time.AfterFunc(time.Second, func() {
		if caller.IsTerminal(run.Stderr) { // where somebody waits
			run.Say("looking at %s, so that this run can be taken back", run.Short(top))
		}
	}).Stop()
	s, err := undo.Begin(ctx, p, undo.About{Run: run.ID(), Profile: run.Spec.Name, Command: filepath.Base(run.Plan.Program)})
	var signalled *SignalledError
	switch {
	case err == nil:
		return s, nil
	case errors.As(context.Cause(ctx), &signalled):
		return nil, &fault.Refusal{Code: 128 + int(signalled.Signal), Msg: "interrupted before the program began; nothing has run"}
	}
	hint := "undo = false under [sandbox] starts it without"
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || strings.Contains(err.Error(), "space") { // git says it so
		hint = "free some space (inner home list), or " + hint
	}
	return nil, fault.Refuse(125, hint, "the state of %s cannot be kept for inner undo: %v", run.Short(top), err)
}
