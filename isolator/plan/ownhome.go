package plan

import (
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/fault"
)

// ownHome shows the home that the box has of its own. Of the host there is nothing in it, so
// to the view it is as an empty home. Every place in it where something is mounted is made
// before bwrap starts (see package ownhome), and the supervisor looks whether each mount is
// there.
func (b *builder) ownHome(reason string) error {
	if b.f.OwnHome == nil {
		return fault.Refuse(125, "", "profile %q: the home of the box was not made", b.rc.Name)
	}
	b.homeAt = len(b.plan.Ops)
	b.op(Op{Kind: OpBind, Source: b.f.OwnHome.Path, Dest: b.home, Reason: reason, own: true})
	return nil
}

// otherPoints are the places in the home where other boxes with it mount something, and the folders on the way
// there. They are bound onto themselves: what is mounted on cannot be renamed or removed, so no box changes
// where another one mounts that is just starting.
func (b *builder) otherPoints() (out []string) {
	for _, p := range b.f.OwnHome.Points {
		place := p.Path
		if slices.ContainsFunc(b.plan.HomePoints, func(n HomePoint) bool { return n.Path == p.Path }) {
			place = filepath.Dir(place)
		}
		for ; place != "."; place = filepath.Dir(place) {
			out = append(out, filepath.Join(b.home, place))
		}
	}
	return out
}
