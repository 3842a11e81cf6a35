package why

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
)

// staged returns the host path that something made for the run stands for, "" when there is
// none, and whether source is such a thing.
func (t *Table) staged(source string) (string, bool) {
	for _, c := range t.box.Assets.Copies {
		if c.Host != source {
			continue
		}
		i := slices.IndexFunc(t.box.Spec.Mounts, func(m profile.Mount) bool { return m.Dest == c.Dest })
		if i < 0 {
			return "", true
		}
		return t.box.Facts.Look(t.box.Spec.Mounts[i].Source).Real, true
	}
	if source == t.box.Assets.Kept && source != "" {
		return t.box.Facts.Look(t.box.Spec.Workdir).Real, true
	}
	if rest, ok := strings.CutPrefix(source, stage.DryMark+features.CloneOf); ok {
		return t.box.Absolute(rest, "/"), true
	}
	return "", strings.HasPrefix(source, stage.DryMark)
}

// copied reports whether the copy that is mounted at a box path contains this path of its original.
func (t *Table) copied(at, rest string) bool {
	for _, o := range t.box.Plan.Ops {
		if path, ok := strings.CutPrefix(o.Source, stage.DryMark+features.CloneOf); ok && o.Dest == at {
			return cloned(t.box.Agents, path, rest)
		}
	}
	if t.box.Assets.Kept != "" && at == t.box.Facts.Look(t.box.Spec.Workdir).Real {
		link := func(c host.Child) bool { return c.Name == rest && c.Kind == host.Link }
		return slices.Contains(t.box.Assets.KeptFiles, rest) || slices.ContainsFunc(t.box.Facts.Entries, link)
	}
	hidden := plan.Hidden(t.box.Spec, t.box.Facts, t.box.Assets)
	return !slices.ContainsFunc(hidden, func(p string) bool { return paths.Below(p, filepath.Join(at, rest)) })
}

// copiedHome returns the host path that is copied to a path of the box's own home, from an agent's
// folders.
func (t *Table) copiedHome(rest string) (original string, ok bool) {
	at := filepath.Join(t.box.Home, rest)
	for _, c := range t.box.Agents {
		for _, f := range c.Folders {
			if below, in := paths.Rest(f.Place(t.box.Home), at); in && (below == "" || cloned(t.box.Agents, f.Path, below)) {
				return at, true
			}
		}
	}
	return "", false
}

// cloned reports whether the copy of an agent's folder gets a path of it.
func cloned(agents []capability.Capability, path, rest string) bool {
	for _, c := range agents {
		for _, folder := range c.Folders {
			if folder.Path != path {
				continue
			}
			file := slices.ContainsFunc(folder.Files, func(f capability.File) bool { return paths.Below(rest, f.Name) })
			if file || slices.ContainsFunc(folder.Trees, func(tree string) bool { return paths.Below(tree, rest) || paths.Below(rest, tree) }) {
				return true
			}
		}
	}
	return false
}
