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
	for _, o := range b.visible() {
		switch {
		case o.Kind == OpMask, o.Kind == OpData && o.over.bound(), o.Kind == OpTmpfs && !o.Writable() && o.over.bound():
			b.plan.Masked = append(b.plan.Masked, o.Dest)
		case o.over.Writable() && o.over.bound() && keepsFrom(*o.over, *o.Op):
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

// shown notes every mount: another program, in another box, may exchange a folder
// for a link while bwrap resolves a path, and would see what the link leads to
// mounted in this box, or take a cover off. So the box looks at all of them, but for what lies in a repository
// that is served: the launcher mounts that over it, before the box looks or after.
func (b *builder) shown() {
	for _, o := range b.visible() { // what is below is not seen
		if o.Outside || slices.ContainsFunc(b.s.Repos,
			func(r Repo) bool { return r.Served && paths.Inside(r.Dir, o.Dest) }) {
			continue
		}
		s := Shown{Path: o.Dest}
		served := o.Kind == OpReadOnly && slices.ContainsFunc(b.s.Repos, func(r Repo) bool { return r.Dir == o.Dest }) // or not yet
		if o.Bind() && !served {
			s.Source, s.Dev, s.Ino = o.Source, o.Probed.Dev, o.Probed.Ino
		}
		b.plan.Shown = append(b.plan.Shown, s)
	}
}
