package plan

import (
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
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
	for i := len(b.plan.Ops) - 1; i >= 0; i-- {
		o := &b.plan.Ops[i]
		if rest, ok := paths.Rest(o.Dest, p); ok && o.Mounts() {
			if o.bound() {
				host = filepath.Join(o.Source, rest)
			}
			return *o, host
		}
	}
	return b.root, ""
}

// mountPoint refuses an operation for which bwrap would have to make the place anywhere but on a tmpfs of the
// box: bwrap before 0.12 follows planted links when it makes mount points (CVE-2026-87766).
func (b *builder) mountPoint(o Op) error {
	l, hostPath := b.at(o.Dest)
	switch {
	case o.Dest == "" || o.Dest == l.Dest:
		return nil
	case slices.ContainsFunc(b.plan.Caches, func(c CachePlace) bool { return c.At == l.Dest }): // where programs of boxes have left links
		return fault.Refuse(125, "", "profile %q: %q cannot be made in a cache of the box", b.rc.Name, o.Dest)
	case b.s.Tmp != "" && l.Dest == "/tmp": // as there
		return fault.Refuse(125, "start it without a session",
			"profile %q puts %q below /tmp, which a session keeps", b.rc.Name, o.Dest)
	case l.own && l.Dest == b.home && !o.Mounts() && o.Kind != OpSeal:
		return fault.Refuse(125, "", "profile %q: %q cannot be made in the home of the box", b.rc.Name, o.Dest)
	case !l.bound():
		return nil // in memory, or in a home of the box's own, see pins
	case l.original != "":
		hostPath = l.hostPlace(o.Dest)
	}
	switch at := b.f.Look(hostPath); {
	case at.Kind != host.Missing && at.Real == hostPath, b.made(hostPath):
		return nil
	case at.Kind != host.Missing:
		return fault.Refuse(125, "use "+quote(at.Real),
			"profile %q: %s: dest %q goes through a link", b.rc.Name, o.Reason, o.Dest)
	case l.Writable():
		return fault.Refuse(125, "create it first",
			"profile %q: %s: dest %q does not exist, and nothing is created in a writable folder", b.rc.Name, o.Reason, o.Dest)
	case at.Real == hostPath && slices.ContainsFunc(b.rc.Mounts, func(m profile.Mount) bool { return m.Workspace && b.canon(m.Dest) == o.Dest }):
		return nil // it is made for the run, where the box cannot write
	}
	return fault.Refuse(125, "create it first",
		"profile %q: %s: dest %q does not exist on the host", b.rc.Name, o.Reason, o.Dest)
}

// where returns every box path at which host path p can be seen, in the order of the mounts.
func (b *builder) where(p string) []string {
	var out []string
	for i := range b.plan.Ops {
		o := &b.plan.Ops[i]
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
	for i := range later {
		if paths.Below(later[i].Dest, box) && later[i].Mounts() {
			return true
		}
	}
	return false
}

// mounted is an operation that mounts something, and what was at its place before.
type mounted struct {
	*Op
	over *Op
}

// visible are the operations that mount something and that nothing later covers, in their order.
func (b *builder) visible() []mounted {
	all := make([]mounted, 0, len(b.plan.Ops))
	under := make(map[string]int, len(b.plan.Ops))
	for i := range b.plan.Ops {
		if o := &b.plan.Ops[i]; o.Mounts() {
			over := &b.root
			if at := last(o.Dest, under); at >= 0 {
				over = &b.plan.Ops[at]
			}
			under[o.Dest] = i
			all = append(all, mounted{o, over})
		}
	}
	clear(under) // from here on, of later ones
	for i, o := range slices.Backward(all) {
		if covered := last(o.Dest, under) >= 0; covered {
			all[i].Op = nil
		}
		under[o.Dest] = i
	}
	return slices.DeleteFunc(all, func(o mounted) bool { return o.Op == nil })
}

// last returns the index of the operation that decides about a place, of those with indices: the last one at it or a
// folder it is in; -1 for none.
func last(p string, under map[string]int) int {
	at := -1
	for ; ; p = filepath.Dir(p) {
		if i, ok := under[p]; ok {
			at = max(at, i)
		}
		if p == "/" {
			return at
		}
	}
}
