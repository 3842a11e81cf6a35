package plan

import (
	"fmt"
	"slices"
)

// bwrap reads its table of mounts again for each mask, and so the time for them grows with
// their square: a hundred take fifty milliseconds (measured with bwrap 0.8.0). From
// outsideFrom on the launcher makes them, all but one, after bwrap and before the program
// starts: each is a clone of the one that bwrap makes. Folders are hidden by a tmpfs,
// which costs bwrap a fifth of that, and stay with it.

// outsideFrom is how many masks are worth the process that makes them from outside.
const outsideFrom = 12

// Cover is the mask that the others are clones of.
type Cover struct {
	Path   string // box path; bwrap has made it
	Source string // the empty file on the host
}

// masksOutside leaves masks to the launcher where there are many. It comes after
// everything is mounted: what is mounted over a mask later, or around it, bwrap does in
// its order.
func (b *builder) masksOutside() error {
	last := slices.DeleteFunc(b.onTop(), func(i int) bool { return b.plan.Ops[i].Kind != OpMask || b.plan.Ops[i].Source != b.s.Empty })
	if !Follows(b.rc, b.f) || len(last) <= outsideFrom {
		return nil
	}
	first := b.plan.Ops[last[0]]
	b.plan.Cover = Cover{Path: first.Dest, Source: first.Source}
	for _, i := range last[1:] {
		o := &b.plan.Ops[i]
		o.Outside = true
		b.plan.Masks = append(b.plan.Masks, Mask{Path: o.Dest, Dev: o.Probed.Dev, Ino: o.Probed.Ino})
	}
	b.note(fmt.Sprintf("%d of the files above are hidden from outside, before the program starts", len(b.plan.Masks)))
	return nil
}
