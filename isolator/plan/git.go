package plan

import (
	"slices"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile/gitconfig"
)

// coverGit covers the files the cleaned git configuration was made from: what was
// left out of it must not be read there, and programs that read the first of them
// themselves get the same as git. In a folder that the box can write, a file that
// git includes, or that is a link's target, is what the person works on: it stays.
func (b *builder) coverGit() {
	defer b.because("git")()
	if b.s.GitConfig == nil {
		return
	}
	places := gitconfig.UserFiles(b.f.Home, b.f.Env["XDG_CONFIG_HOME"])
	done := map[string]bool{}
	first := true
	for i, p := range append(places, b.s.GitFiles...) {
		real := b.canon(p)
		if b.kind(p) != host.File || done[real] {
			continue
		}
		done[real] = true
		included := i >= len(places) || real != b.linkFree(p)
		if included && b.worksIn(real) != "" {
			continue
		}
		if !first || i >= len(places) {
			b.maskAt(real, host.File, "what is in it and may be seen is in the cleaned git settings ([git])")
			continue
		}
		first = false
		for _, at := range b.where(real) {
			b.dataFile("your git settings, cleaned ([git])", b.s.GitConfig, at)
		}
	}
}

// worksIn is the folder that the box can write in which a host path lies, as the profile names it; "" for none.
func (b *builder) worksIn(real string) string {
	for _, root := range b.rc.WritableRoots() {
		if paths.Below(b.canon(root), real) {
			return root
		}
	}
	return ""
}

// boxGit puts the host's git directories into the box, read-only, wherever it sees them or at their own path, for
// which bwrap makes folders on a tmpfs of the box only. Over those the launcher mounts what is served.
func (b *builder) boxGit() error {
	b.because("sandbox.git_dir")
	for _, r := range b.s.Repos {
		if b.hides(r.Dir) {
			continue
		}
		for _, g := range r.Binds {
			if paths.Below(paths.BoxDir, g.Box) {
				b.bind(g.Reason, g.Host, g.Box, g.Write)
				continue
			}
			places := b.where(g.Box)
			if !slices.Contains(places, g.Box) && g.Box == r.Dir && b.mountPoint(Op{Kind: OpReadOnly, Dest: g.Box}) == nil {
				places = append(places, g.Box)
			}
			for _, at := range places {
				if at == g.Box && !paths.Below(r.Dir, at) {
					continue // a clone, where inner keeps it: hidden, and not there yet
				}
				b.op(Op{Kind: bindKind(g.Write), Source: g.Host, original: g.Box, Dest: at, Reason: g.Reason})
			}
		}
	}
	return nil
}

// Covered are the places in a folder that the box may not write, and those of them that it does not see,
// relative to it.
func (p Plan) Covered(dir string) (covered, hidden []string) {
	add := func(at string, hides bool) {
		rest, ok := paths.Rest(dir, at)
		if !ok || rest == "" || paths.Below(".git", rest) || slices.Contains(covered, rest) {
			return
		}
		if covered = append(covered, rest); hides {
			hidden = append(hidden, rest)
		}
	}
	for _, o := range p.Ops {
		if o.Mounts() && !o.Writable() {
			add(o.Dest, o.Kind == OpMask || o.Kind == OpData || o.Kind == OpTmpfs)
		}
	}
	return covered, hidden
}
