package features

// The caches that a box has of its own where its home is the host's: they are kept like a home
// of the box's own, by package ownhome; package plan says where each of them goes.

import (
	"github.com/enr/inner/isolator/ownhome"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// caches gives the box its caches.
func caches() Feature {
	var kept *ownhome.Home
	return Feature{
		Name: "caches of its own", Keys: []string{"sandbox.home"},
		Before: func(run *Run) (err error) {
			if !run.Spec.KeepsCaches() {
				return nil
			}
			if kept, err = ownhome.Open(run.InnerHome, CachesOwner(run.Spec)); err != nil {
				return err
			}
			run.Undo(kept.Close)
			return kept.Ready(nil) // others may begin: nothing is mounted in these folders
		},
		Make: func(run *Run) error {
			run.Assets.Caches = cachesOf(run)
			return nil
		},
		Planned: func(run *Run) error {
			if kept == nil {
				return nil
			}
			for _, c := range run.Plan.Caches {
				if err := kept.Folder(c.Rel); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// CachesOwner says whose caches the boxes of a profile have.
func CachesOwner(rc profile.RunConfig) ownhome.Owner {
	owner := HomeOwner(rc)
	owner.Caches = true
	return owner
}

// cachesOf is what the planner has to know; nil when the box has none.
func cachesOf(run *Run) *plan.Caches {
	if !run.Spec.HasCaches() {
		return nil
	}
	c := &plan.Caches{Tools: run.OnPath(plan.CacheTools()...)}
	if run.Spec.KeepsCaches() && run.Mode != Pasted {
		c.Dir = ownhome.Folder(run.InnerHome, CachesOwner(run.Spec))
	}
	return c
}
