package features

// The home that a box has of its own (sandbox.home = "own"): package ownhome keeps it.

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/ownhome"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// ownHome is the home of one run; nothing when the profile asks for none, and in a preview.
type ownHome struct{ *ownhome.Home }

func (h *ownHome) feature() Feature {
	return Feature{
		Name: "a home of its own", Keys: []string{"sandbox.home"},
		Ask: h.open, Learn: h.tell, Planned: h.places,
		Start: func(run *Run, o *launch.Options) {
			if h.Home != nil {
				run.watchDisk("the box's home", h.Dir, h.Used, o)
			}
		},
		Finish: func(run *Run, o *Outcome) error {
			h.sayKept(run, o)
			return nil
		},
	}
}

// HomeOwner says whose home the boxes of a profile have: that of the project, or of the working folder
// where there is none.
func HomeOwner(rc profile.RunConfig) ownhome.Owner {
	agents := slices.Compact(slices.Sorted(slices.Values(rc.Capabilities)))
	return ownhome.Owner{Project: files.Real(cmp.Or(rc.Project, rc.Workdir)), Agents: strings.Join(agents, "+")}
}

// open makes the home, before anything is put into it.
func (h *ownHome) open(run *Run) (err error) {
	if run.Spec.Home != "own" || !run.Mode.Made() {
		return nil
	}
	owner := HomeOwner(run.Spec)
	if was := ownhome.Was(run.InnerHome, owner); was != "" {
		run.Say("this project has a home from when it was %s, which the box does not have: inner home move %s %s",
			run.Short(was), quote.POSIX(was), quote.POSIX(owner.Project))
	}
	if h.Home, err = ownhome.Open(run.InnerHome, owner); err != nil {
		return err
	}
	run.Undo(h.Close)
	return nil
}

// tell says to the planner which home it is.
func (h *ownHome) tell(run *Run) error {
	if run.Spec.Home != "own" {
		return nil
	}
	owner := HomeOwner(run.Spec)
	at := ownhome.Folder(run.InnerHome, owner)
	run.Facts.OwnHome = &host.OwnHome{Path: at, ID: host.Look(at).ID, Points: ownhome.Points(run.InnerHome, owner)}
	return nil
}

// places makes what the plan mounts on. From then on others may start with this home.
func (h *ownHome) places(run *Run) error {
	if h.Home == nil {
		return nil
	}
	points := func() (list []host.HomePoint) {
		for _, p := range run.Plan.HomePoints {
			if p.Source != "" {
				fi, err := os.Stat(p.Source)
				p.File = err != nil || !fi.IsDir()
			}
			list = append(list, host.HomePoint{Path: p.Path, File: p.File})
		}
		return list
	}
	err := h.Ready(points())
	if busy, ok := errors.AsType[*ownhome.Busy](err); ok && plan.Follows(run.Spec,
		run.Facts) && run.Facts.Engine == nil {
		// What can be mounted from outside, as in a box that runs, needs no place that nobody exchanges.
		spec := run.Spec
		for _, p := range busy.Places {
			run.Plan, spec = plan.Later(run.Plan, spec, run.Facts, run.Assets, p.Path)
		}
		err = h.Ready(points())
	}
	if err != nil {
		return err
	}
	for _, l := range run.Plan.HomeLinks {
		if err := h.Link(l.Path, l.Target); err != nil {
			return err
		}
	}
	if err := cmp.Or(h.pythonOutside(run), h.begin(run), h.unlink(run)); err != nil {
		return err
	}
	if n := len(h.Aside); n > 0 {
		run.Say("in the box's home something was in the way, and is there under another name: %s",
			strings.Join(h.Aside, ", "))
		h.Aside = nil
	}
	return nil
}

// mostKept is how many things the line about what was kept names.
const mostKept = 3

// sayKept names what the run left in the home, other than settings and caches.
func (h *ownHome) sayKept(run *Run, o *Outcome) {
	if h.Home == nil || run.Mode != Program {
		return
	}
	kept := h.Written(o.Clock)
	if len(kept) == 0 {
		return
	}
	var names []string
	for _, k := range kept {
		name := "~/" + k.Path
		if k.Folder {
			name += "/ (" + visible.Counted(k.Files, "file", "files") + ")"
		}
		names = append(names, name)
	}
	last := kept[len(kept)-1]
	if i := slices.IndexFunc(kept, func(k ownhome.Kept) bool { return k.Folder }); i >= 0 {
		last = kept[i]
	}
	typed := quote.POSIX(last.Path)
	if visible.Text(last.Path) != last.Path { // what is shown escaped must be typed otherwise
		typed = quote.Bash(last.Path)
	}
	run.Say("kept in the box's home: %s; inner home get ~/%s",
		strings.Join(visible.Some(names, mostKept), ", "), typed)
}
