package plan

import (
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
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

// homePoints lists where the plan mounts something in the box's own home, and binds onto
// itself every folder on the way there and every place where other boxes with this home mount
// something. What is mounted on cannot be renamed or removed, so no box changes where another
// one mounts that is just starting.
func (b *builder) homePoints() error {
	if b.rc.Home != "own" {
		return nil
	}
	seen := map[string]bool{}
	var need []HomePoint
	for _, o := range b.plan.Ops[b.homeAt+1:] {
		rest, _ := paths.Rest(b.home, o.Dest)
		if rest == "" || o.Kind == OpSeal {
			continue
		}
		if _, in := above(o.Dest, seen); in {
			continue
		}
		if !o.Mounts() {
			return fault.Refuse(125, "", "profile %q: %q cannot be made in the home of the box", b.rc.Name, o.Dest)
		}
		seen[o.Dest] = true
		p := HomePoint{Path: rest, File: o.Kind == OpMask || o.Kind == OpData}
		if o.Bind() {
			p.Source = o.Source
		}
		need = append(need, p)
	}
	b.plan.HomePoints = need
	b.plan.Ops = slices.Insert(b.plan.Ops, b.homeAt+1, b.homePins(need)...)
	return nil
}

// homePins are the operations of homePoints, parents first.
func (b *builder) homePins(need []HomePoint) []Op {
	var places []string
	parents := func(rel string) {
		for dir := filepath.Dir(rel); dir != "."; dir = filepath.Dir(dir) {
			places = append(places, dir)
		}
	}
	for _, p := range need {
		parents(p.Path)
	}
	for _, p := range b.f.OwnHome.Points {
		parents(p.Path)
		if !slices.ContainsFunc(need, func(n HomePoint) bool { return n.Path == p.Path }) {
			places = append(places, p.Path)
		}
	}
	slices.Sort(places)
	var out []Op
	for _, rel := range slices.Compact(places) {
		out = append(out, Op{
			Kind: OpBind, Source: filepath.Join(b.f.OwnHome.Path, rel), Dest: filepath.Join(b.home, rel),
			Key: "sandbox.home", Reason: "a place of the home where boxes mount something stays where it is", own: true,
		})
	}
	return out
}

// PointsOf are the places of a plan in the box's own home as a home knows them; folder says
// whether a path of the host is a folder.
func PointsOf(need []HomePoint, folder func(string) bool) []host.HomePoint {
	var out []host.HomePoint
	for _, p := range need {
		file := p.File
		if p.Source != "" {
			file = !folder(p.Source)
		}
		out = append(out, host.HomePoint{Path: p.Path, File: file})
	}
	return out
}
