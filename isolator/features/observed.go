package features

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/learn"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// Observe has every access of the program to files looked at: the kernel tells of each
// call that names a file, and waits for an answer.
type Observe struct {
	*learn.Observer
	Hosts bool                       // hosts are learned, too: every public one is allowed
	Done  func(*Run, *Outcome) error // after the program has ended
}

// learning reports whether hosts are learned.
func (o *Observe) learning() bool { return o != nil && o.Hosts }

// observed looks at the accesses of the program, for inner learn and --explain-denials.
func observed() Feature {
	return Feature{
		Name: "observed accesses",
		Start: func(run *Run, o *launch.Options) {
			if run.Observe != nil {
				o.Observe = run.Observe.Listen
			}
		},
		Finish: func(run *Run, o *Outcome) error {
			if run.Observe == nil {
				return nil
			}
			run.Observe.End()
			return run.Observe.Done(run, o)
		},
	}
}

// Setting is what the box of a run was given.
func Setting(run *Run) learn.Setting {
	rc := run.Spec
	granted := map[string]bool{rc.Workdir: rc.WorkdirMode == profile.RW}
	for _, m := range rc.Mounts {
		granted[m.Dest] = m.Mode != profile.RO
	}
	for _, p := range run.Assets.Places() {
		granted[p] = true
	}
	own := []string{run.InnerHome, filepath.Join(run.Home, ".inner"), run.StageBase(), "/run"}
	if h := run.Facts.Hide; h != nil {
		own = append(own, h.Paths...)
	}
	return learn.Setting{
		Home: run.Home, Granted: granted, Own: own,
		Secret: func(p string) string {
			key := plan.ResourceAt(p, rc, run.Facts)
			if slices.Contains(rc.Allow, key) {
				return ""
			}
			return key
		},
		Exists: func(p string) bool {
			_, err := os.Stat(p)
			return err == nil
		},
	}
}
