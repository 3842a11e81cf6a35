package plan

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
)

// What is protected may be reached through a link: a .claude that is one, a .git, a
// start-up file. What is there is bound read-only; the link itself is no place
// that bwrap can mount on, and whoever can write its folder could replace it. The
// launcher pins it: it binds the link onto itself, as open_tree(2) and
// move_mount(2) can, before the program starts. A name that is mounted on cannot be
// removed, renamed or replaced (measured with Linux 6.18: EBUSY).

// hops are the links that lead to what is protected.
func (b *builder) hops() []host.Hop {
	var lead []string
	for _, h := range b.held() {
		lead = append(lead, h.path)
	}
	if b.rc.GitDir != "rw" { // also what is not there yet
		lead = append(lead, b.f.Named...)
	}
	out := slices.Clone(b.s.GitLinks)
	for _, p := range lead {
		for _, h := range b.f.Look(p).Hops {
			if !slices.Contains(out, h) {
				out = append(out, h)
			}
		}
	}
	return out
}

// pinLinks has the launcher pin those that the box could replace. It comes after
// everything is mounted that the box can write.
func (b *builder) pinLinks() error {
	for _, h := range b.hops() {
		if b.inHidden(h.Path) {
			continue
		}
		for _, dir := range b.writable(filepath.Dir(h.Path)) {
			if b.allowed[nestedKey] {
				// The mounts of its user namespace are not the launcher's to change: move_mount
				// answers EPERM.
				return fault.Refuse(125, "make it a folder or a file of its own",
					"profile %q: %s is a link the box could replace, and in a box that makes containers (%s) none can be pinned", b.rc.Name, h.Path, nestedKey)
			}
			at := filepath.Join(dir, filepath.Base(h.Path))
			b.note(fmt.Sprintf("the link %s stays as it is: pinned before the program starts", at))
			b.plan.Pins = append(b.plan.Pins, Pin{Path: at, Target: h.Target})
		}
	}
	return nil
}

// inPlace is why a folder is bound onto itself.
const inPlace = "what is in it cannot be moved away"

// pins binds every folder between something writable and what is mounted, or pinned, below it onto
// itself: a mount point cannot be renamed, so nothing is moved out from under what covers or
// protects it. Each comes right after the mount that it is in, so that what is mounted goes on top. It lists where
// something is mounted in the box's own home, too.
func (b *builder) pins() error {
	under, pins := map[string]int{}, make([][]string, len(b.plan.Ops))
	way := func(place string) (in int) {
		in = last(filepath.Dir(place), under)
		if in < 0 || b.plan.Ops[in].Kind != OpBind {
			return in
		}
		for dir := filepath.Dir(place); dir != b.plan.Ops[in].Dest; dir = filepath.Dir(dir) {
			pins[in] = append(pins[in], dir)
		}
		return in
	}
	for i, o := range b.plan.Ops {
		if !o.Mounts() {
			continue
		}
		known, again := under[o.Dest]
		if in := way(o.Dest); b.rc.Home == "own" && in == b.homeAt && !(again && known > in) {
			p := HomePoint{File: o.Kind == OpMask || o.Kind == OpData}
			if p.Path, _ = paths.Rest(b.home, o.Dest); o.Bind() {
				p.Source = o.Source
			}
			b.plan.HomePoints = append(b.plan.HomePoints, p)
		}
		under[o.Dest] = i
	}
	for _, p := range b.plan.Pins {
		way(p.Path)
	}
	if b.rc.Home == "own" {
		pins[b.homeAt] = append(pins[b.homeAt], b.otherPoints()...)
	}
	var ops []Op
	outside := Follows(b.rc, b.f)
	for i, m := range b.plan.Ops {
		ops = append(ops, m)
		slices.Sort(pins[i]) // parents first
		for _, p := range slices.Compact(pins[i]) {
			rest, _ := paths.Rest(m.Dest, p)
			pinned := Op{Kind: OpBind, Key: m.Key, Source: filepath.Join(m.Source, rest), Dest: p, own: m.own, Reason: inPlace, Outside: outside}
			if m.original != "" {
				pinned.original = filepath.Join(m.original, rest)
			}
			ops = append(ops, pinned)
		}
	}
	b.plan.Ops = ops
	return nil
}
