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
	under := map[string]Op{}
	for i, o := range b.plan.Ops {
		if !o.Mounts() {
			continue
		}
		l, _ := above(o.Dest, under)
		under[o.Dest] = o
		switch {
		case !top[i]:
		case o.Kind == OpMask, o.Kind == OpData && l.bound(), o.Kind == OpTmpfs && !o.Writable() && l.bound():
			b.plan.Masked = append(b.plan.Masked, o.Dest)
		case l.Writable() && l.bound() && keepsFrom(l, o):
			b.plan.Protected = append(b.plan.Protected, o.Dest)
		}
	}
	return nil
}

// keepsFrom reports whether an operation keeps the box from writing what another, l, has at its place:
// it shows the same read-only, or a copy, as of a git directory.
func keepsFrom(l, o Op) bool {
	rest, _ := paths.Rest(l.Dest, o.Dest)
	same := o.Source == filepath.Join(l.Source, rest)
	return o.Kind == OpReadOnly && same || o.Kind == OpBind && !same
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
