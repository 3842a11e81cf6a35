package plan

import (
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/paths"
)

// bwrap makes the place of a mount that is missing, and follows links on the way there (CVE-2026-87766). In a folder
// that somebody writes while a box starts it would leave files, there or elsewhere, and the secret would be seen by the
// name that it has by then. It also reads its table of mounts again for each mount. So what is hidden in such a folder
// the launcher mounts, from outside, when bwrap has made the rest: on what was looked at, or not at all.

// outside leaves that to the launcher, and the folders on the way there, see pins. It comes after everything is in the
// list: the launcher makes it last, so nothing may come later at or in its place. A folder in which something is shown
// again, be it inner's empty folder of shims, stays with bwrap.
func (b *builder) outside() error {
	if Follows(b.rc, b.f) {
		b.withoutCovered()
		holds := map[string]bool{}
		hold := func(p string) {
			for ; p != "/" && !holds[p]; p = filepath.Dir(p) {
				holds[p] = true
			}
		}
		for _, o := range b.plan.Ops {
			if o.Dest != "" && !o.Mounts() {
				hold(o.Dest)
			}
		}
		for _, o := range slices.Backward(b.visible()) {
			if o.Outside = (!holds[o.Dest] && o.covers() || b.holdsStill(o)) && b.changeable(o); o.Outside {
				rest, _ := paths.Rest(o.over.Dest, o.Dest)
				if p := filepath.Join(o.over.Source, rest); b.canon(p) == p {
					o.Probed = b.f.Look(p).ID
				}
			}
			hold(o.Dest)
		}
	}
	b.sortData()
	return nil
}

// holdsStill reports whether an operation has what is at its place read-only there, and bwrap makes nothing in it.
func (b *builder) holdsStill(o mounted) bool {
	byBwrap := func(in Op) bool { return !in.Outside && in.Dest != o.Dest && paths.Below(o.Dest, in.Dest) }
	served := func(r Repo) bool { return paths.Below(r.Dir, o.Dest) || paths.Below(o.Dest, r.Dir) }
	return o.held && keepsFrom(*o.over, *o.Op) &&
		!slices.ContainsFunc(b.plan.Ops, byBwrap) && !slices.ContainsFunc(b.s.Repos, served)
}

// covers reports whether an operation is there to hide what is at its place.
func (o Op) covers() bool {
	return o.Kind == OpMask || o.Kind == OpData || o.Kind == OpTmpfs && !o.Writable()
}

// changeable reports whether what an operation covers lies in a folder in which somebody may put something else in its
// place: what the box writes, or other boxes do, or the person.
func (b *builder) changeable(o mounted) bool {
	place := o.over.hostPlace(o.Dest)
	switch {
	case !o.over.bound():
		return false
	case o.over.Writable():
		return true
	}
	in := func(root string) bool { return paths.Inside(root, place) }
	return !b.ours(place) && slices.ContainsFunc(append(projectRoots(b.rc), b.homes()...), in)
}

// withoutCovered takes out what hides or holds something that is itself covered later.
func (b *builder) withoutCovered() {
	seen := map[*Op]bool{}
	for _, o := range b.visible() {
		seen[o.Op] = true
	}
	var ops []Op
	for i := range b.plan.Ops {
		if o := &b.plan.Ops[i]; i <= b.homeAt || !o.covers() && !o.held || seen[o] {
			ops = append(ops, *o)
		}
	}
	b.plan.Ops = ops
}

// sortData puts what bwrap gets before the rest.
func (b *builder) sortData() {
	var data [][]byte
	for _, outside := range []bool{false, true} {
		for i := range b.plan.Ops {
			switch o := &b.plan.Ops[i]; {
			case o.Outside != outside:
			case o.Kind == OpData, o.Kind == OpFile, o.Kind == OpFilter:
				data = append(data, b.plan.Data[o.Data])
				o.Data = len(data) - 1
			}
		}
	}
	b.plan.Data = data
}
