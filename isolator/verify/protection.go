package verify

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

func (c *checker) protection() {
	ch := c.add("inner-protected", Critical, "protected", "profiles of the project cannot be changed")
	roots := []string{c.Config.Project, c.Config.Workdir}
	for _, m := range c.Config.Mounts {
		roots = append(roots, m.Source)
	}
	for _, root := range roots {
		dir := filepath.Join(root, ".inner")
		if root == "" || c.Facts.Paths[dir].Kind != host.Dir {
			continue
		}
		for _, box := range c.shown(dir) {
			ch.Places = append(ch.Places, Place{Path: box, Kind: host.Dir}, Place{Path: filepath.Join(box, "profiles"), Kind: host.Dir}, Place{Path: filepath.Join(box, "config.toml"), Kind: host.File})
		}
	}
	for _, p := range c.Config.Files { // also one that lies elsewhere, and was named by hand
		for _, box := range c.shown(p) {
			ch.Places = append(ch.Places, Place{Path: box, Kind: host.File})
		}
	}
	ch = c.add("inner-home", Critical, "inner-home", "inner's own folder is empty and read-only")
	for _, own := range append(c.Facts.InnerHomes(), c.Facts.StageBase, c.Config.Output.Folder) {
		if own != "" && c.Facts.Paths[own].Kind == host.Dir {
			ch.Places = append(ch.Places, Place{Path: c.canon(own)})
		}
	}
	c.git()
	c.pinned()
	ch = c.add("agent-config", High, "protected", "what editors and agents on the host obey in a project cannot be changed")
	ch.Key = configKey
	ch.lift(c.allowed[configKey], configKey)
	for _, p := range plan.LaterPlaces(c.Config, c.Facts) {
		for _, box := range c.shown(p) {
			ch.Places = append(ch.Places, Place{Path: box, Mode: "exists"})
		}
	}
	ch = c.add("startup-files", High, "protected", "what your shell reads at its start cannot be changed")
	for _, p := range plan.StartupFiles(c.Config, c.Facts) {
		ch.Places = append(ch.Places, Place{Path: c.canon(p), Kind: c.Facts.Paths[p].Kind})
	}
}

// pinned wants every folder between something writable and something protected
// in it to be a mount point: moved away, it would leave its protection behind.
func (c *checker) pinned() {
	targets := c.guarded()
	ch := c.add("pinned", High, "mount-points", "what is protected cannot be moved out of its protection")
	for _, area := range c.areas() {
		if area.mode != profile.RW {
			continue
		}
		for _, t := range targets {
			rest, ok := strings.CutPrefix(c.canon(t), area.source+"/")
			if !ok {
				continue
			}
			for dir := path.Dir(rest); dir != "."; dir = path.Dir(dir) {
				ch.Places = append(ch.Places, Place{Path: filepath.Join(area.dest, dir)})
			}
		}
	}
	c.dropEmpty()
}

// guarded returns everything that is hidden or protected.
func (c *checker) guarded() (out []string) {
	for _, r := range c.table {
		if c.allowed[r.Key] || r.Part {
			continue
		}
		for _, p := range r.At {
			if k := c.Facts.Paths[p].Kind; k != host.Missing && k != host.Denied && k != "" {
				out = append(out, p)
			}
		}
	}
	out = slices.Concat(out, plan.StartupFiles(c.Config, c.Facts), plan.LaterPlaces(c.Config, c.Facts), c.Staged.GitStays)
	for _, m := range c.Config.Mounts {
		if dir := filepath.Join(m.Source, ".inner"); c.Facts.Paths[dir].Kind == host.Dir {
			out = append(out, dir)
		}
	}
	for _, r := range c.Staged.Repos { // what lies in another is served with it, where no folder of these is moved
		if !slices.ContainsFunc(c.Staged.Repos, func(o plan.Repo) bool { return paths.Inside(o.Dir, r.Dir) }) {
			out = append(out, r.Dir)
		}
	}
	return out
}

// area is a part of the host that is mounted.
type area struct {
	source, dest string // canonical
	mode         profile.Mode
}

func (c *checker) areas() []area {
	out := []area{{c.canon(c.Config.Workdir), c.canon(c.Config.Workdir), c.Config.WorkdirMode}}
	for _, m := range c.Config.Mounts {
		a := area{c.canon(m.Source), c.canon(m.Dest), m.Mode}
		out = slices.DeleteFunc(out, func(o area) bool { return o.dest == a.dest }) // the later of two wins
		out = append(out, a)
	}
	return out
}

// git wants the git directories that the box writes to be served, and everything of the latter that the box sees unwritable.
func (c *checker) git() {
	own := Check{ID: "git-own", Severity: Critical, Probe: "not-the-hosts", What: "git in the box works on git directories that are served to it"}
	host := Check{ID: "git-host", Severity: Critical, Probe: "protected", What: "what git outside obeys or reads cannot be changed"}
	pinned := Check{ID: "git-pinned", Severity: High, Probe: "mount-points", What: "git directories cannot be moved away"}
	for _, r := range c.Staged.Repos {
		if at, known := c.Facts.Paths[r.Dir]; known && at.Kind.Seen() { // else the host has none
			own.Places = append(own.Places, Place{Path: r.Dir, ID: at.ID})
		}
		pinned.Places = append(pinned.Places, Place{Path: r.Dir})
		for _, b := range r.Binds {
			if !b.Write && b.Box != r.Dir {
				host.Places = append(host.Places, Place{Path: b.Box})
			}
		}
	}
	for _, p := range c.Staged.GitStays {
		for _, box := range c.shown(p) {
			host.Places = append(host.Places, Place{Path: box})
		}
	}
	for _, ch := range []Check{own, host, pinned} {
		ch.lift(c.Config.GitDir == "rw", `git_dir = "rw"`)
		c.list = append(c.list, ch)
	}
}

// shown returns the box paths at which the mounts of the profile show a host
// path itself; a copy does not.
func (c *checker) shown(p string) []string { return c.shownIn(p, profile.RW, profile.RO) }

func (c *checker) shownIn(p string, modes ...profile.Mode) []string {
	var out []string
	for _, a := range c.areas() {
		if !slices.Contains(modes, a.mode) {
			continue
		}
		if rest, err := filepath.Rel(a.source, c.canon(p)); err == nil && filepath.IsLocal(rest) {
			out = append(out, filepath.Join(a.dest, rest))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
