package plan

import (
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/paths"
)

// What the box sees is what the operations so far say: a later one covers what earlier ones put at or
// below its place.

// bound reports whether the box sees files of the host by the operation. A mask and a device are known
// by their place alone.
func (o Op) bound() bool { return (o.Kind == OpReadOnly || o.Kind == OpBind) && !o.own }

// hostPlace is the host path behind a box path; in a copy, the one in its original.
func (o Op) hostPlace(boxPath string) string {
	rest, _ := paths.Rest(o.Dest, boxPath)
	if o.original != "" {
		return filepath.Join(o.original, rest)
	}
	return filepath.Join(o.Source, rest)
}

// at returns the operation that decides what is seen at box path p, and the host path there ("" in
// a folder in memory).
func (b *builder) at(p string) (o Op, host string) {
	for _, o := range slices.Backward(b.plan.Ops) {
		if rest, ok := paths.Rest(o.Dest, p); ok && o.Mounts() {
			if o.bound() {
				host = filepath.Join(o.Source, rest)
			}
			return o, host
		}
	}
	return b.root, ""
}

// where returns every box path at which host path p can be seen, in the order of the mounts.
func (b *builder) where(p string) []string {
	var out []string
	for i, o := range b.plan.Ops {
		rest, ok := paths.Rest(o.Source, p)
		if !ok || !o.bound() {
			continue
		}
		if box := filepath.Join(o.Dest, rest); !slices.Contains(out, box) && !covered(b.plan.Ops[i+1:], box) {
			out = append(out, box)
		}
	}
	return out
}

// covered reports whether a later operation hides what was at a place of the box.
func covered(later []Op, box string) bool {
	return slices.ContainsFunc(later, func(o Op) bool { return o.Mounts() && paths.Below(o.Dest, box) })
}

// relocates reports whether a bind shows something from inside host path p, but not p itself.
func (b *builder) relocates(p string) (Op, bool) {
	for i, o := range b.plan.Ops {
		if o.bound() && o.Source != p && paths.Below(p, o.hostPlace(o.Dest)) && !covered(b.plan.Ops[i+1:], o.Dest) {
			return o, true
		}
	}
	return Op{}, false
}
