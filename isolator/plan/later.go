package plan

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/profile"
)

// configKey allows changing what later.go protects.
const configKey = "project-config"

// LaterFolders returns the folders that must be there for the run: those of the project and
// of the working folder that a tool on this computer would obey while the box runs.
func LaterFolders(rc profile.RunConfig, there func(sign string) bool) []string {
	if slices.Contains(rc.Allow, configKey) {
		return nil
	}
	return append(inRoots(rc, true, sensitive.Made(there)), treeFolders(rc)...)
}

// treeFolders are those in which agents of the profile keep work trees of their own, in
// folders that are protected otherwise.
func treeFolders(rc profile.RunConfig) []string {
	return inRoots(rc, true, sensitive.WorkTrees(func(sign string) bool { return slices.Contains(rc.Capabilities, sign) }))
}

// openTrees shows the work trees in dir, which the box has read-only at a place, writable
// there. One that a link leads to stays as it is.
func (b *builder) openTrees(dir, at string) {
	for _, p := range treeFolders(b.rc) {
		real := filepath.Join(b.canon(dir), filepath.Base(p))
		if filepath.Dir(p) == dir && (b.made(p) || b.kind(p) == host.Dir && b.canon(p) == real) {
			b.bind("work trees that the agent makes for itself", real, filepath.Join(at, filepath.Base(p)), true)
		}
	}
}

// hasOwnFiles reports whether the box has copies of its own of files of a folder.
func (b *builder) hasOwnFiles(dir string) bool {
	return slices.ContainsFunc(b.s.OwnFiles, func(f Bind) bool { return filepath.Dir(f.Box) == dir })
}

// withOwnFiles shows a protected folder with the box's own copies of some of its files: what
// is in it is read-only, and new names are refused as in a folder that one may not write
// (EACCES). A program that makes a new file to rename it, as Claude Code does, then writes in
// place; after the error of a read-only mount (EROFS) it does not.
func (b *builder) withOwnFiles(reason, dir string) {
	for _, at := range b.writable(b.canon(dir)) {
		b.tmpfs(reason, 0o555, at)
		for _, c := range b.f.Children[dir] {
			switch c.Kind {
			case host.Link:
				b.symlink(reason, c.Target, filepath.Join(at, c.Name))
			case host.Dir, host.File:
				b.bind(reason, filepath.Join(b.canon(dir), c.Name), filepath.Join(at, c.Name), false)
			}
		}
		b.openTrees(dir, at)
		before := b.because("sandbox.home")
		for _, f := range b.s.OwnFiles {
			if filepath.Dir(f.Box) == dir {
				b.bind(f.Reason, f.Host, filepath.Join(at, filepath.Base(f.Box)), true)
			}
		}
		before()
	}
}

// laterRoots are the folders whose configuration is protected: what the box
// can write, only the person's own place of work when own is set.
func laterRoots(rc profile.RunConfig, own bool) []string {
	return slices.DeleteFunc(rc.WritableRoots(), func(p string) bool {
		return p == rc.HomeDir || own && p != rc.Workdir && p != rc.Project
	})
}

// inRoots are these names in each of them.
func inRoots(rc profile.RunConfig, own bool, names []string) (out []string) {
	for _, root := range laterRoots(rc, own) {
		for _, name := range names {
			out = append(out, filepath.Join(root, name))
		}
	}
	return out
}

// laterPaths are the folders that are protected whether they are there or not.
func laterPaths(rc profile.RunConfig) []string {
	if slices.Contains(rc.Allow, configKey) {
		return nil
	}
	return inRoots(rc, false, sensitive.Made(nil))
}

// ObeyedRoots are the folders in which inner looks for what tools outside obey: those that
// the box can write, without the state of programs in the home. ~/.cargo holds a thousand
// packages with settings of editors in them, which nobody opens there.
func ObeyedRoots(rc profile.RunConfig) []string {
	if slices.Contains(rc.Allow, configKey) {
		return nil
	}
	return slices.DeleteFunc(rc.WritableRoots(), func(p string) bool {
		rest, _ := paths.Rest(rc.HomeDir, p)
		state := strings.HasPrefix(rest, ".") || rest == "go" || strings.HasPrefix(rest, "go/pkg")
		return state && p != rc.Workdir && p != rc.Project
	})
}

// made reports whether p was made for the run.
func (b *builder) made(p string) bool {
	return slices.ContainsFunc(b.f.Later, func(l host.Placeholder) bool { return l.Path == p })
}

// madeEmpty reports whether p is a folder that was made for the run, and
// nothing in it: a tmpfs covers it as well as a bind does, at a third of the cost.
// What opencode must find in its folder is a placeholder there. The box of a session has the
// bind: the next call finds the folder there, and has to come to the same plan.
func (b *builder) madeEmpty(p string) bool {
	holds := slices.ContainsFunc(treeFolders(b.rc), func(dir string) bool { return filepath.Dir(dir) == p })
	return !b.rc.SessionBox && filepath.Base(p) != ".opencode" && !holds && !b.hasOwnFiles(p) &&
		slices.ContainsFunc(b.f.Later, func(l host.Placeholder) bool { return l.Path == p && l.Content == nil })
}

// later returns what is protected here: what was found, and what was made.
func (b *builder) later() []string {
	if b.allowed[configKey] {
		return nil
	}
	out := slices.Clone(b.f.Obeyed)
	for _, p := range laterPaths(b.rc) {
		if (b.made(p) || b.kind(p).FileOrDir()) && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	slices.Sort(out) // the same plan whether a folder is to be made or is there
	return out
}

// named returns what is there, or was made for the run, of the paths that settings of git
// name: programs of the work tree that any command of git outside would run.
func (b *builder) named() []string {
	if b.rc.GitDir == "rw" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(b.f.Named),
		func(p string) bool { return !b.kind(p).FileOrDir() && !b.made(p) })
}

// locked refuses a folder in which something is missing that tools outside obey, and that the box could make
// writable.
func (b *builder) locked() error {
	for _, dir := range b.f.Locked {
		if !b.allowed[configKey] && !b.inHidden(dir) {
			return fault.Refuse(125, "chmod u+w "+typed(dir)+", or workdir_mode = \"ro\" under [sandbox]",
				"profile %q: %s is yours and not writable: the program could change that, and make what editors and agents obey", b.rc.Name, dir)
		}
	}
	return nil
}

// obeyedLinks refuses links behind which the box could make something, and one that leads to all of a folder
// that the box writes, which cannot be protected.
func (b *builder) obeyedLinks() error {
	for _, p := range slices.Concat(laterPaths(b.rc), b.later(), b.f.Startup) {
		info := b.f.Look(p)
		way := []string{info.Link}
		for _, h := range info.Hops {
			way = append(way, h.Path)
		}
		writes := func(p string) bool { return len(b.writable(p)) > 0 }
		switch {
		case info.Link != "" && slices.ContainsFunc(way, writes):
			return fault.Refuse(125, "rm "+typed(p)+", or make what it leads to",
				"profile %q: %s is a link that leads nowhere: the program could make there what tools outside obey", b.rc.Name, p)
		case len(info.Hops) > 0 && slices.ContainsFunc(laterRoots(b.rc, false), func(root string) bool { return paths.Inside(root, p) && paths.Below(info.Real, b.canon(root)) }):
			return fault.Refuse(125, "make it a folder of its own, or allow = ["+quote(configKey)+"] under [sandbox] leaves all of them unprotected",
				"profile %q: %s is a link that leads to %s, which cannot be protected", b.rc.Name, p, info.Real)
		}
	}
	return nil
}
