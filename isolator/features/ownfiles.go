package features

// Files of the project that an agent writes and the box has read-only, as Claude's answers
// "don't ask again": in a home that stays the box has a copy of its own of them.

import (
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/ownhome"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
)

// maxOwnFile bounds the original of a copy.
const maxOwnFile = 8 << 20

// ownFiles are the files of the working folder that boxes with an agent have copies of.
func ownFiles(rc profile.RunConfig, c capability.Capability) (out []host.Placeholder) {
	if rc.Home == "own" {
		out = inConfig(rc, c.Own)
	}
	return out
}

// lookAround finds out what is in the folders of such files: the box gets each entry by itself.
func lookAround(run *Run) error {
	for _, c := range run.Agents {
		for _, p := range ownFiles(run.Spec, c) {
			dir := filepath.Dir(p.Path)
			list, err := host.Children(dir)
			made := slices.ContainsFunc(run.Facts.Later, func(l host.Placeholder) bool { return l.Path == dir })
			if err != nil && !made || len(list) > mostEntries {
				continue // it is read-only as a whole
			}
			if run.Facts.Children == nil {
				run.Facts.Children = map[string][]host.Child{}
			}
			run.Facts.Children[dir] = list
		}
	}
	return nil
}

// fittingFiles are those that can have a copy: what has the name, if anything, is a file.
func fittingFiles(run *Run, c capability.Capability) []host.Placeholder {
	return slices.DeleteFunc(ownFiles(run.Spec, c), func(p host.Placeholder) bool {
		list, ok := run.Facts.Children[filepath.Dir(p.Path)]
		return !ok || slices.ContainsFunc(list,
			func(c host.Child) bool { return c.Name == filepath.Base(p.Path) && c.Kind != host.File })
	})
}

// ownFile makes the copy of one file.
func (a *agentsOf) ownFile(run *Run, c capability.Capability, p host.Placeholder) (err error) {
	at := ownhome.FileOf(run.InnerHome, HomeOwner(run.Spec), p.Path)
	switch {
	case run.Mode == Pasted && !files.Exists(at):
		return nil
	case run.Mode.Made():
		fresh, err := files.Read(p.Path, files.NoLinks, maxOwnFile)
		if err != nil {
			fresh = p.Content
		}
		if at, err = a.home.File(item(capability.Piece{Path: p.Path, Data: fresh, Mode: 0o600, File: capability.File{Name: p.Path}})); err != nil {
			return err
		}
	}
	run.Assets.OwnFiles = append(run.Assets.OwnFiles,
		plan.Bind{Host: at, Box: p.Path, Write: true, Reason: "capability " + c.Name + ": the box's own copy, kept in its home"})
	return nil
}

// ignored are patterns for the box's git: no commit has what is the box's own, nor, unless the person has committed it
// before, what the profiles of a project are.
func ignored(run *Run) []string {
	out := []string{".inner/"}
	if run.Spec.Home == "own" {
		for _, c := range run.Agents {
			for _, kv := range c.Own {
				out = append(out, "**/"+kv.Key)
			}
		}
	}
	return out
}
