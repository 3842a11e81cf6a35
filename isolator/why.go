package isolator

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/why"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
)

// Why returns the table that answers questions about the box of this run.
func (b *Prepared) Why() *why.Table {
	return why.Of(why.Subject{
		Spec: b.Spec, Facts: b.Facts, Staged: b.Assets, Plan: b.Plan, Origins: b.Profile.Origins(),
		Allow: b.Reach.Allow, Deny: b.Reach.Deny, Original: b.original, Copied: b.copied, Put: b.put,
	})
}

// build makes the plan, including the summary that answers `inner why` in the box.
func (b *Prepared) build() error {
	var parts []plan.Part
	for _, f := range b.features {
		if f.Parts == nil {
			continue
		}
		more, err := f.Parts(b.Run)
		if err != nil {
			return err
		}
		parts = append(parts, more...)
	}
	b.Assets.Parts = parts
	p, err := plan.Build(b.Spec, b.Facts, b.Assets)
	if err != nil {
		return err
	}
	b.Plan = p
	if b.Plan, err = why.AddTo(p, b.Why()); err != nil {
		return err
	}
	b.Plan, err = features.Contained(b.Run, b.Plan)
	return err
}

// original returns the host path that something made for the run stands for, "" when there is
// none, and whether source is such a thing.
func (b *Prepared) original(source string) (string, bool) {
	for _, c := range b.Assets.Copies {
		if c.Host != source {
			continue
		}
		i := slices.IndexFunc(b.Spec.Mounts, func(m profile.Mount) bool { return m.Dest == c.Dest })
		if i < 0 {
			return "", true
		}
		return b.Facts.Paths[b.Spec.Mounts[i].Source].Real, true
	}
	if source == b.Assets.Kept && source != "" {
		return b.Facts.Paths[b.Spec.Workdir].Real, true
	}
	if rest, ok := strings.CutPrefix(source, features.DryClone); ok {
		return b.Absolute(rest, "/"), true
	}
	return "", strings.HasPrefix(source, features.DryEmpty) || strings.HasPrefix(source, features.DryStage)
}

// copied reports whether the copy that is mounted at a box path contains this path of its original.
func (b *Prepared) copied(at, rest string) bool {
	for _, f := range b.Plan.Fills {
		if path, ok := strings.CutPrefix(f.Source, features.DryClone); ok && f.Dest == at {
			return cloned(b.Agents, path, rest)
		}
	}
	if b.Assets.Kept != "" && at == b.Facts.Paths[b.Spec.Workdir].Real {
		link := func(c host.Child) bool { return c.Name == rest && c.Kind == host.Link }
		return slices.Contains(b.Assets.KeptFiles, rest) || slices.ContainsFunc(b.Facts.Entries, link)
	}
	hidden := plan.Hidden(b.Spec, b.Facts, b.Assets)
	return !slices.ContainsFunc(hidden, func(p string) bool { return paths.Below(p, filepath.Join(at, rest)) })
}

// put returns the host path that is copied to a path of the box's own home, from an agent's
// folders.
func (b *Prepared) put(rest string) (original string, ok bool) {
	at := filepath.Join(b.Home, rest)
	for _, c := range b.Agents {
		for _, f := range c.Folders {
			if below, in := paths.Rest(f.Place(b.Home), at); in && (below == "" || cloned(b.Agents, f.Path, below)) {
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
