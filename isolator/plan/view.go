package plan

import (
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
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
//
// A host path may have other names, see host.MountAlias: what is said of it holds for all.
type view struct {
	layers []layer
	mounts host.Mounts
}

// names returns host path p, and first of all p, under every name it has.
func (v *view) names(p string) []string { return v.mounts.Names(p) }

// parts returns the other places at which the host shows something of what lies
// below p, but not p itself.
func (v *view) parts(p string) []host.MountAlias {
	var out []host.MountAlias
	for _, name := range v.names(p) {
		for _, t := range v.mounts.MountAliases {
			part := paths.Below(name, t.Path)
			inside := paths.Below(name, t.At)
			if part && !inside && t.Path != name && !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	return out
}

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
	names := v.names(p)
	for i, l := range v.layers {
		if !l.bind() {
			continue
		}
		for _, name := range names {
			rest, ok := paths.Rest(l.source, name)
			if !ok {
				continue
			}
			box := filepath.Join(l.dest, rest)
			if !seen[box] && !v.covered(i, box) {
				seen[box] = true
				out = append(out, box)
			}
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
	names := v.names(p)
	for i, l := range v.layers {
		if !l.bind() || slices.Contains(names, l.source) {
			continue
		}
		for _, name := range names {
			if paths.Below(name, l.hostPlace(l.dest)) && !v.covered(i, l.dest) {
				return l, true
			}
		}
	}
	return layer{}, false
}
