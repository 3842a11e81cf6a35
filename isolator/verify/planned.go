package verify

import (
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
)

// planned is a check for each kind of operation of the plan: what is mounted is a mount point,
// shows what it was made from, and can be written or not as the plan says. What lies under a later mount
// is not seen.
func (c *checker) planned() (list []Check) {
	because := func(reasons ...string) func(plan.Op) bool {
		return func(o plan.Op) bool { return slices.Contains(reasons, o.Reason) }
	}
	type kind struct {
		Check
		of func(plan.Op) bool
	}
	kinds := []kind{
		{Check{ID: "mounts", Severity: Critical, What: "every mount is there, as planned"}, nil}, // all others
		{Check{ID: "workdir", Severity: High, What: "the working folder is mounted as declared"}, func(o plan.Op) bool { return o.Dest == c.canon(c.Config.Workdir) }},
		{
			Check{ID: "home-own", Severity: Critical, What: "the home is the box's own: nothing in it is yours, but what is listed"},
			func(o plan.Op) bool { return c.Facts.OwnHome != nil && o.Dest == c.canon(c.Facts.Home) },
		},
		{Check{ID: "inner-home", Severity: Critical, What: "inner's own folder is empty and read-only"}, because("hidden: inner's own state")},
		{
			Check{ID: "inner-protected", Severity: Critical, What: "profiles of the project cannot be changed"},
			because("profiles cannot be changed from inside", "the profile cannot be changed from inside"),
		},
		{
			Check{ID: "agent-config", Severity: High, What: "what editors and agents on the host obey in a project cannot be changed", Key: configKey},
			func(o plan.Op) bool { return o.Key == configKey },
		},
		{Check{ID: "startup-files", Severity: High, What: "what your shell reads at its start cannot be changed"}, because("it runs on the host later")},
		{Check{ID: "pinned", Severity: High, What: "what is protected cannot be moved out of its protection"}, because("what is in it cannot be moved away")},
		{Check{ID: "masks", Severity: High, What: "what is hidden is a mount of its own"}, func(o plan.Op) bool { return strings.HasPrefix(o.Reason, "hidden:") }},
	}
	for i, o := range c.Plan.Ops {
		if (o.Mounts() || o.Kind == plan.OpSeal) && !c.coveredLater(i) {
			k := 1 + slices.IndexFunc(kinds[1:], func(k kind) bool { return k.of(o) })
			kinds[k].Places = append(kinds[k].Places, c.mountOf(o))
		}
	}
	for _, k := range kinds {
		if k.Probe = "mounts"; len(k.Places) > 0 {
			list = append(list, k.Check)
		}
	}
	return list
}

// coveredLater reports whether something that is mounted later lies over an operation.
func (c *checker) coveredLater(i int) bool {
	dest := c.Plan.Ops[i].Dest
	for _, r := range c.Staged.Repos { // served, over what the plan has there
		if paths.Below(r.Dir, dest) {
			return true
		}
	}
	for _, later := range c.Plan.Ops[i+1:] {
		if later.Mounts() && paths.Below(later.Dest, dest) {
			return true
		}
	}
	return false
}

// mountOf is what an operation mounts, as it must look from inside.
func (c *checker) mountOf(o plan.Op) Place {
	p := Place{Path: o.Dest, ID: o.Probed, Mode: "ro"}
	switch {
	case o.Kind == plan.OpSeal:
	case o.Kind == plan.OpTmpfs && o.Writable():
		p.Mode = "tmpfs"
	case o.Kind == plan.OpTmpfs:
		p.Mode = "empty"
	case !o.Bind():
		p.Mode = ""
	case o.Writable():
		p.Mode = "rw"
	}
	kernel := paths.Below("/proc", o.Source) || paths.Below("/sys", o.Source) || paths.Below("/dev", o.Source)
	if !o.Bind() || kernel { // a file of its own, or another for each namespace
		p.ID = host.ID{}
	} else if p.ID == (host.ID{}) {
		p.ID = host.Look(o.Source).ID
	}
	return p
}

// git wants the git directories that the box writes to be served, as mounts of their own, and everything of the latter
// that the box sees unwritable.
func (c *checker) git() []Check {
	own := Check{ID: "git-own", Severity: Critical, What: "git in the box works on git directories that are served to it, which cannot be moved away"}
	outside := Check{ID: "git-host", Severity: Critical, What: "what git outside obeys or reads cannot be changed"}
	for _, r := range c.Staged.Repos {
		own.Places = append(own.Places, Place{Path: r.Dir, ID: c.Facts.Look(r.Dir).ID, Mode: "own"})
		for _, b := range r.Binds {
			if !b.Write && b.Box != r.Dir {
				outside.Places = append(outside.Places, Place{Path: b.Box, Mode: "kept"})
			}
		}
	}
	for _, o := range c.Plan.Ops {
		if slices.Contains(c.Staged.GitStays, o.Dest) && !o.Writable() {
			outside.Places = append(outside.Places, Place{Path: o.Dest, Mode: "kept"})
		}
	}
	list := []Check{own, outside}
	for i := range list {
		list[i].Probe, list[i].Allowed = "mounts", lifted(c.Config.GitDir == "rw", `git_dir = "rw"`)
	}
	return list
}
