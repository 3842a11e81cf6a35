package plan

import (
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
)

// GitPlaces are the files git reads the user's settings from. xdg is
// $XDG_CONFIG_HOME.
func GitPlaces(home, xdg string) []string {
	if !filepath.IsAbs(xdg) {
		xdg = filepath.Join(home, ".config")
	}
	return []string{filepath.Join(home, ".gitconfig"), filepath.Join(xdg, "git", "config")}
}

// coverGit covers the files the cleaned git configuration was made from: what was
// left out of it must not be read there, and programs that read the first of them
// themselves get the same as git. In a folder that the box can write, a file that
// git includes, or that is a link's target, is what the person works on: it stays.
func (b *builder) coverGit() {
	defer b.because("git")()
	if b.s.GitConfig == nil {
		return
	}
	places := GitPlaces(b.f.Home, b.f.Env["XDG_CONFIG_HOME"])
	done := map[string]bool{}
	first := true
	for i, p := range append(places, b.s.GitFiles...) {
		real := b.canon(p)
		if b.kind(p) != host.File || done[real] {
			continue
		}
		done[real] = true
		included := i >= len(places) || real != b.linkFree(p)
		if included && b.worksIn(real) {
			continue
		}
		if !first || i >= len(places) {
			b.maskAt(real, host.File, "what is in it and may be seen is in the cleaned git settings ([git])")
			continue
		}
		first = false
		for _, at := range b.view.where(real) {
			b.dataFile("your git settings, cleaned ([git])", b.s.GitConfig, at)
		}
	}
}

// worksIn reports whether a host path lies in a folder that the box can write.
func (b *builder) worksIn(real string) bool {
	return slices.ContainsFunc(b.rc.WritableRoots(), func(root string) bool { return paths.Below(b.canon(root), real) })
}

// boxGit puts the box's own git directories over the host's, at every place where the box
// sees those. A repository that lies elsewhere, as that of a linked worktree does, appears at its
// own path, for which bwrap makes folders on a tmpfs of the box only.
func (b *builder) boxGit() error {
	b.because("sandbox.git_dir")
	var shown []layer // git directories of the box, at each of their places
	hidden := false   // what follows a git directory belongs to it
	for _, g := range b.s.BoxGit {
		if g.Write {
			hidden = b.hides(g.Box)
		}
		if hidden {
			continue
		}
		if paths.Below(paths.BoxDir, g.Box) {
			b.bind(g.Reason, g.Host, g.Box, g.Write)
			continue
		}
		places := b.view.where(g.Box)
		for _, l := range shown {
			if rest, ok := paths.Rest(l.original, g.Box); ok {
				places = append(places, filepath.Join(l.dest, rest))
			}
		}
		if !g.Write { // a file that leads to the repository, or a part of it
			for _, at := range places {
				if l, _ := b.view.at(at); l.write {
					b.bind(g.Reason, g.Host, at, false)
				}
			}
			continue
		}
		if !slices.Contains(places, g.Box) && b.mountPoint(g.Box, g.Reason) == nil {
			places = append(places, g.Box)
		}
		for _, at := range places {
			l := layer{source: g.Host, original: g.Box, dest: at, write: true}
			b.bindLayer(g.Reason, l)
			shown = append(shown, l)
		}
	}
	return nil
}
