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
	"github.com/enr/inner/profile/capability"
)

// What a run would make has no files yet: the box will have what its original has.

// original returns the host path that a mount shows, or of which it shows a copy, and whether it is a copy; "" for
// what is made for the run and has none.
func (t *Table) original(o plan.Op) (path string, copied bool) {
	name, dry := strings.CutPrefix(o.Source, stage.DryMark)
	switch {
	case !dry:
		return o.Source, false
	case o.Source == t.box.Assets.Kept:
		name = features.CopyOf + t.box.Spec.Workdir
	}
	for _, of := range []string{features.CloneOf, features.CopyOf} {
		if rest, is := strings.CutPrefix(name, of); is {
			path = t.box.Facts.Look(t.box.Absolute(rest, "/")).Real
		}
	}
	return path, true
}

// mounted returns what a mount has at a path below it.
func (t *Table) mounted(o plan.Op, rest string) entry {
	source, copied := t.original(o)
	switch {
	case copied && rest != "" && (source == "" || !t.brings(o, rest)):
		return entry{kind: '-'}
	case source == "": // made for the run, and known by its place alone
		return entry{kind: 'd', read: true, write: true, perms: 0o700}
	}
	e := disk(filepath.Join(source, rest))
	switch home := t.box.Facts.OwnHome; {
	case e.kind != '-':
		return e
	case rest == "": // it is made before the start
		return entry{kind: 'd', read: true, write: true, perms: 0o755}
	case home != nil && source == home.Path && t.cloned(filepath.Join(t.box.Home, rest)): // as it is put there at the start
		if e = disk(filepath.Join(t.box.Home, rest)); e.kind == 'd' || e.kind == 'f' {
			e.read, e.write = true, true
			return e
		}
	}
	return entry{kind: '-'}
}

// brings reports whether the copy that a mount shows contains this path of its original.
func (t *Table) brings(o plan.Op, rest string) bool {
	path, clone := strings.CutPrefix(o.Source, stage.DryMark+features.CloneOf)
	switch {
	case clone:
		return t.cloned(filepath.Join(t.box.Absolute(path, "/"), rest))
	case o.Source == t.box.Assets.Kept:
		link := func(c host.Child) bool { return c.Name == rest && c.Kind == host.Link }
		return slices.Contains(t.box.Assets.KeptFiles, rest) || slices.ContainsFunc(t.box.Facts.Entries, link)
	}
	hidden := plan.Hidden(t.box.Spec, t.box.Facts, t.box.Assets)
	return !slices.ContainsFunc(hidden, func(p string) bool { return paths.Below(p, filepath.Join(o.Dest, rest)) })
}

// cloned reports whether the copies that agents get have a path of the host.
func (t *Table) cloned(path string) bool {
	return slices.ContainsFunc(t.box.Agents, func(c capability.Capability) bool {
		return slices.ContainsFunc(c.Folders, func(f capability.Folder) bool {
			rest, in := paths.Rest(f.Place(t.box.Home), path)
			file := slices.ContainsFunc(f.Files, func(f capability.File) bool { return paths.Below(rest, f.Name) })
			return in && (rest == "" || file || slices.ContainsFunc(f.Trees, func(tree string) bool { return paths.Below(tree, rest) || paths.Below(rest, tree) }))
		})
	})
}
