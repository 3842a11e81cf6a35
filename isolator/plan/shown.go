package plan

import (
	"slices"

	"github.com/enr/inner/internal/paths"
)

// shown notes every mount: another program, in another box, may exchange a folder
// for a link while bwrap resolves a path, and would see what the link leads to
// mounted in this box, or take a cover off. So the box looks at all of them, but for what lies in a repository that is served: the launcher mounts that
// over it, before the box looks or after.
func (b *builder) shown() {
	for _, o := range b.visible() { // what is below is not seen
		if slices.ContainsFunc(b.s.Repos, func(r Repo) bool { return r.Served && paths.Inside(r.Dir, o.Dest) }) {
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
