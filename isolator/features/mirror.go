package features

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/paths"
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

// Original is the path of the host whose content a place of a run will have; "" for none.
func (run *Run) Original(place string) string {
	for _, m := range run.Mirrors {
		rest, in := paths.Rest(m.At, place)
		path := filepath.Join(m.Of, rest)
		has := func(only string) bool { return paths.Below(only, rest) || paths.Below(rest, only) }
		if in && (m.Only == nil || rest == "" || slices.ContainsFunc(m.Only, has)) && !slices.ContainsFunc(m.Lacks, func(p string) bool { return paths.Below(p, path) }) {
			return path
		}
	}
	return ""
}
