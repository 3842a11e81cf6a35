package plan

import (
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// The kernel takes a mount away when the host removes or renames over what it is on. So the
// launcher follows the box's mounts, and makes these again for what comes to their place.

// Follows reports whether the launcher can mount something in the box of a run.
func Follows(rc profile.RunConfig, f host.Facts) bool {
	// Where containers are made, the mounts are not the launcher's to change.
	return !slices.Contains(rc.Allow, nestedKey) && f.MoveMount
}

// followed names what is hidden, and what is read-only where the box could write it, or is not
// the host's. It comes after everything is mounted.
func (b *builder) followed() error {
	if !Follows(b.rc, b.f) {
		return nil
	}
	top := map[int]bool{}
	for _, i := range b.onTop() {
		top[i] = true
	}
	under := map[string]layer{}
	for i, o := range b.plan.Ops {
		if !o.Mounts() {
			continue
		}
		l, _ := above(o.Dest, under)
		under[o.Dest] = o.layer()
		switch {
		case !top[i]:
		case o.Kind == OpMask, o.Kind == OpTmpfs && !o.Writable() && l.bind():
			b.plan.Masked = append(b.plan.Masked, o.Dest)
		case l.write && l.bind() && b.keepsFrom(l, o):
			b.plan.Protected = append(b.plan.Protected, o.Dest)
		}
	}
	return nil
}

// keepsFrom reports whether an operation keeps the box from writing what a layer has at its place:
// it shows the same read-only, or a copy, as of a git directory. In a home of the box's own there is
// nothing of the host to be kept.
func (b *builder) keepsFrom(l layer, o Op) bool {
	same := b.shows(l, o)
	own := b.f.OwnHome != nil && paths.Below(b.f.OwnHome.Path, l.source)
	return o.Kind == OpReadOnly && same || o.Kind == OpBind && !same && !own
}

// shows reports whether a layer has at the place of an operation what that shows there.
func (b *builder) shows(l layer, o Op) bool {
	rest, _ := paths.Rest(l.dest, o.Dest)
	return o.Source == filepath.Join(l.source, rest)
}

// onTop returns the operations of the plan that mount something, and that nothing later covers.
func (b *builder) onTop() []int {
	var out []int
	later := map[string]bool{}
	for i, o := range slices.Backward(b.plan.Ops) {
		if !o.Mounts() {
			continue
		}
		if _, covered := above(o.Dest, later); !covered {
			out = append(out, i)
		}
		later[o.Dest] = true
	}
	slices.Reverse(out)
	return out
}
