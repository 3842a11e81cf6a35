package features

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/repos"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/profile/gitconfig"
)

// maxNoted is how many folders are noted one by one for the case that the run is killed: the
// note costs each start.
const maxNoted = 200

// leftoversOf are what a run may have left: what the host would obey is switched off.
type leftoversOf struct {
	git   *boxGits
	stood map[string]string // what was there: a mount goes with what it lies on, and leaves the name to the box
	roots repos.Roots

	mu    sync.Mutex
	saved map[string]string // what the host put there since, and no box could write
}

// leftovers makes what is missing in the project and must not be made from inside, and
// looks at the end at what was made all the same.
func leftovers(git *boxGits) Feature {
	l := &leftoversOf{git: git, saved: map[string]string{}}
	return Feature{
		Name: "leftovers", Keys: []string{"sandbox.workdir_mode", "mounts", "sandbox.git_dir"},
		Learn: func(run *Run) error {
			switch {
			case run.Mode == Pasted: // there is nobody who makes placeholders
				run.Facts.Later = nil
			case l.roots != nil: // the host has changed
				return l.begin(run)
			}
			return nil
		},
		Make: func(run *Run) error {
			if !run.Mode.Made() {
				return nil
			}
			run.Undo(func() { l.roots.Close() })
			return l.begin(run)
		},
		Planned: l.watch, Start: func(_ *Run, o *launch.Options) {
			o.Saved = func(place, identity string) {
				l.mu.Lock()
				l.saved[place] = identity
				l.mu.Unlock()
			}
		},
		Between: l.look, Finish: l.look,
	}
}

// look looks at what was left since the program began.
func (l *leftoversOf) look(run *Run, o *Outcome) error {
	s := l.search(run)
	s.Since = o.Clock
	s.Tracked = func(r *git.Repo, place string) git.Tracked { return l.git.tracked(run, r, place) }
	l.mu.Lock()
	s.Stood = maps.Clone(l.stood)
	for p, identity := range l.saved {
		if identity != "" {
			s.Stood[p] = identity
		}
	}
	l.mu.Unlock()
	s.Limit = max(leastLook, min(time.Since(o.Begun)/20, time.Second))
	if s.NoGit {
		s.Before = append(s.Before, run.Facts.Named...)
	}
	s, lost := l.roots.Follow(s)
	s.Summary, s.Noted = run.Spec.Output.Summary, run.Facts.Notes
	o.Aside, o.Left = Hold(run.Caller, s)
	if len(lost) > 0 {
		run.Warn("another folder came to the place of %s meanwhile: what the box wrote was not inspected. Check it yourself, wherever it is now, before you use git or an editor there",
			someFolders(run.Caller, lost))
	}
	return nil
}

// begin makes the placeholders.
func (l *leftoversOf) begin(run *Run) error {
	l.roots.Close() // of what was there before the host changed
	l.roots = repos.Open(run.Spec.WritableRoots())
	return run.Folder.MakePlaceholders(run.Facts.Later...)
}

// watch notes, for the case that this run is killed, that somebody has to look at what it leaves.
func (l *leftoversOf) watch(run *Run) error {
	if !run.Mode.Made() {
		return nil
	}
	s := l.search(run)
	w := s.Watched
	w.Since = runlog.Moment()
	if s.NoGit || len(s.Unlisted) > maxNoted {
		w.Unlisted = WrittenRoots(run.Spec)
	}
	l.stood = repos.Stood(s.Guarded, s.Before)
	w.Stood = l.stood
	return run.Folder.Watch(w)
}

// search says where to look for what a run leaves on the host.
func (l *leftoversOf) search(run *Run) repos.Search {
	rc, f := run.Spec, run.Facts
	s := repos.Search{NoGit: rc.GitDir == "rw", Homes: f.Homes(), Copies: map[string]string{}, Objects: map[string]string{}}
	s.Watched = stage.Watched{
		Roots: rc.WritableRoots(), Obeyed: plan.ObeyedRoots(rc), Guarded: l.git.stays, Unlisted: slices.Concat(f.Unlisted, l.git.passed),
		Before: slices.Concat(run.Plan.Kept, Placeholders(run)), Named: f.Named, Paths: plan.ProgramFolders(rc, f),
	}
	for i, common := range l.git.repositories() {
		s.Objects[fmt.Sprintf(boxObjects, i)] = filepath.Join(common, "objects")
	}
	for _, b := range run.Assets.OwnFiles {
		s.Copies[b.Box] = b.Host
	}
	if s.NoGit {
		s.Named = nil
	}
	return s
}

// leastLook is how long the folders of a short run are looked through, where they are
// many. Some thirty thousand take that long; with fewer of them the end comes as soon as
// all were looked at.
const leastLook = 500 * time.Millisecond

// Placeholders are what inner made in writable folders, for as long as the run
// needs it.
func Placeholders(run *Run) []string {
	var out []string
	for _, p := range run.Facts.Later {
		out = append(out, p.Path)
	}
	return out
}

// Sweep does what follows a run for runs that were killed. stuck and err are those of stage.Sweep.
func Sweep(c *caller.Caller) (stuck []error, err error) {
	stuck, err = stage.Sweep(c.StageBase(), c.InnerHome, func(w stage.Watched) {
		Hold(c, repos.Search{Watched: w, Homes: c.Homes(), Limit: time.Second})
	})
	recoverGit(c)
	return stuck, err
}

// Hold looks, and says what it did. It returns what was moved aside, and all that was found. Inner's own
// folders are covered in every box, and what other boxes have there now is theirs.
func Hold(c *caller.Caller, s repos.Search) (aside []string, found repos.Found) {
	s.Covered = []string{files.Real(c.InnerHome), files.Real(c.StageBase())}
	s.Hooks = host.EverywhereHooks(c.Getenv)
	s.InTree = func(top string) []host.GitPlace {
		return host.NamedByGit(top, gitconfig.Environment(c.Getenv).Load(), files.Real(c.Home))
	}
	found, err := s.Hold()
	aside = sayFound(c, found)
	if n := len(found.Unseen); n > 0 {
		c.Warn("not searched for what git and other tools would obey (no time, no access, or too deep): %s",
			someFolders(c, found.Unseen))
	}
	if err != nil {
		c.Warn("not everything that the run left could be inspected: check %s yourself before you use git or an editor there: %v",
			someFolders(c, s.Roots), err)
	}
	return aside, found
}

// someFolders names a few of many folders, the nearest first.
func someFolders(c *caller.Caller, list []string) string {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(x, y string) int { return cmp.Compare(strings.Count(x, "/"), strings.Count(y, "/")) })
	for i, p := range list {
		list[i] = visible.Text(c.Short(p))
	}
	return strings.Join(visible.Some(list, 4), ", ")
}
