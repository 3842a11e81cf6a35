package features

import (
	"cmp"
)

// Mirror is, in a preview, a place of a run that will have what something of the host has.
type Mirror struct {
	At, Of string
	Only   []string // below it; nil where it is all
	Lacks  []string // of the host, and not in it
}

// mirror notes one, unless the run is made.
func (run *Run) mirror(at, of string, only, lacks []string) {
	if !run.Mode.Made() {
		run.Mirrors = append(run.Mirrors, Mirror{at, cmp.Or(run.Facts.Look(of).Real, of), only, lacks})
	}
}
