package plan

import (
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// Copy is the copy of one safe-rw mount.
type Copy struct {
	Dest string // the mount's, as the RunConfig has it
	Host string // where the copy is on the host
}

// Hidden returns the real host paths that a box of this run must not see: what
// a copy of a folder leaves out. The copy of a secret would have another path,
// and no mask would find it.
func Hidden(rc profile.RunConfig, f host.Facts, s Staged) []string {
	b := newBuilder(rc, f, s)
	var out []string
	for _, h := range b.hidden() {
		out = append(out, h.real)
	}
	for _, p := range slices.Concat(f.InnerHomes(), s.GitFiles, []string{f.StageBase, rc.Output.Folder}) {
		if p != "" {
			out = append(out, b.canon(p))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// copied returns what is bound for a safe-rw mount: the copy, which stands for
// the original when places are looked at.
func (b *builder) copied(m profile.Mount, real, dest, reason string) (Op, error) {
	for _, c := range b.s.Copies {
		if c.Dest == m.Dest {
			return Op{Kind: OpBind, Source: c.Host, original: real, Dest: dest}, nil
		}
	}
	return Op{}, fault.Refuse(125, "", "profile %q: %s: no copy was made", b.rc.Name, reason)
}

// originals keeps the sources of copies from being written where a writable
// mount shows them. It comes right after that mount: what is mounted in them
// goes on top.
func (b *builder) originals(m Op) {
	for _, o := range b.rc.Mounts {
		source := b.canon(o.Source)
		rest, ok := paths.Rest(m.Source, source)
		if o.Mode != profile.SafeRW || !ok || m.original != "" {
			continue
		}
		b.bind("the original of a copy is not written", source, filepath.Join(m.Dest, rest), false)
	}
}

// ownState hides inner's own folder before what is mounted below it: the
// workspaces that are there would be hidden with it otherwise. What shows the
// folder again later is found by hide, as ever.
func (b *builder) ownState(dest string) {
	for _, home := range b.f.InnerHomes() {
		home = b.canon(home)
		if rest, ok := paths.Rest(home, dest); !ok || rest == "" {
			continue
		}
		if l, _ := b.at(home); l.bound() {
			b.maskAt(home, host.Dir, "hidden: inner's own state, but for the workspaces")
		}
	}
}
