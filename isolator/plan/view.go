package plan

import (
	"path/filepath"

	"github.com/enr/inner/internal/paths"
)

// layer is one mount of the box, in the order bwrap makes them.
type layer struct {
	source string // canonical host path; "" for a tmpfs or file data
	dest   string // canonical box path
	write  bool   // the box can write below it

	original string // what source is a copy of, or ""
	mask     bool   // a tmpfs that is there to hide, not to be written
}

func (l layer) bind() bool { return l.source != "" }

// view is what the box will see: the mounts made so far. A later layer covers
// what earlier ones put at or below its destination.
type view struct{ layers []layer }

func (v *view) add(l layer) { v.layers = append(v.layers, l) }

// at returns the layer that decides what is seen at box path p, and its host
// path there ("" on a tmpfs).
func (v *view) at(p string) (l layer, host string) {
	for i := len(v.layers) - 1; i >= 0; i-- {
		if rest, ok := paths.Rest(v.layers[i].dest, p); ok {
			l = v.layers[i]
			if l.bind() {
				host = filepath.Join(l.source, rest)
			}
			return l, host
		}
	}
	return layer{}, ""
}

// where returns every box path at which host path p can be seen, in the order
// the mounts were made.
func (v *view) where(p string) []string {
	var out []string
	seen := map[string]bool{}
	for i, l := range v.layers {
		rest, ok := paths.Rest(l.source, p)
		if !l.bind() || !ok {
			continue
		}
		if box := filepath.Join(l.dest, rest); !seen[box] && !v.covered(i, box) {
			seen[box] = true
			out = append(out, box)
		}
	}
	return out
}

// covered reports whether a layer after i hides what layer i shows at box.
func (v *view) covered(i int, box string) bool {
	for _, l := range v.layers[i+1:] {
		if paths.Below(l.dest, box) {
			return true
		}
	}
	return false
}

// relocates reports whether a bind shows something from inside host path p,
// but not p itself: the source lies below p.
func (v *view) relocates(p string) (layer, bool) {
	for i, l := range v.layers {
		if l.bind() && l.source != p && paths.Below(p, l.hostPlace(l.dest)) && !v.covered(i, l.dest) {
			return l, true
		}
	}
	return layer{}, false
}
