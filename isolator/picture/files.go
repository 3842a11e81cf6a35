package picture

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// mounts are the operations of the plan that put something into the box.
func mounts(p plan.Plan) []plan.Op {
	return slices.DeleteFunc(slices.Clone(p.Ops), func(o plan.Op) bool { return !o.Mounts() })
}

// at returns which mount decides about a box path, and the host path it shows there;
// -1 for none, "" for nothing of the host.
func at(ms []plan.Op, p string) (i int, hostPath string) {
	for i, m := range slices.Backward(ms) {
		if rest, ok := paths.Rest(m.Dest, p); ok {
			if !m.Bind() {
				return i, ""
			}
			return i, filepath.Join(m.Source, rest)
		}
	}
	return -1, ""
}

// canWrite reports whether the box can write a host path where that is mounted.
func (s Subject) canWrite(hostPath string) bool {
	ms := mounts(s.Plan)
	i, shown := at(ms, s.real(hostPath))
	return i >= 0 && ms[i].Writable() && shown == s.real(hostPath)
}

// real is a host path with its links resolved, as far as the facts know it.
func (s Subject) real(p string) string {
	if info, ok := s.Facts.Paths[p]; ok && info.Real != "" {
		return info.Real
	}
	return p
}

// files says what the box can change, what it can read, and what it has of its own.
func (s Subject) files() []Row {
	if !s.planned() {
		return s.meant()
	}
	things := map[group][]Thing{}
	ms := mounts(s.Plan)
	for i, m := range ms {
		if last, _ := at(ms, m.Dest); last != i || s.inners(m) {
			continue
		}
		below, before := at(ms[:i], m.Dest)
		to, t := s.grouped(m, below >= 0 && ms[below].Writable(), before == m.Source)
		if !slices.ContainsFunc(things[to], func(o Thing) bool { return o.Path == t.Path && o.Text == t.Text }) {
			things[to] = append(things[to], t)
		}
	}
	if change, stays := things[change], things[stays]; len(change) == 1 { // one place of work: what lies in it needs no more words
		for i, t := range stays {
			stays[i].Text = strings.TrimPrefix(t.Text, s.short(change[0].Path)+"/")
		}
	}
	return []Row{
		row(Open, "can change", things[change]...),
		row(Seen, "but not in it", things[stays]...),
		row(Own, "works on a copy of", append(things[copies], things[clones]...)...),
		row(Seen, "can read", things[read]...),
		row(Own, "sees empty, its own", things[own]...),
		row(Own, "keeps for itself", things[caches]...),
	}
}

// group is what the picture says about a mount.
type group int

const (
	untold group = iota // made for the box, or see hidden
	change
	stays
	copies
	clones
	read
	own
	caches
)

// grouped is the group of a mount, and what is said of it there. overWritable says that it is
// mounted over something writable, itself that it is mounted on itself.
func (s Subject) grouped(m plan.Op, overWritable, itself bool) (group, Thing) {
	place := s.place(m.Dest, m.Reason)
	switch {
	case m.Kind == plan.OpTmpfs:
		return s.inMemory(m, overWritable), place
	case !m.Bind():
		return untold, place
	}
	to := s.shown(m, overWritable, itself)
	switch {
	case to == read && m.Source == "/":
		return read, Thing{Text: "the system (/, where nothing else is said)", Path: "/", Why: m.Reason}
	case to == read || to == change:
		return to, s.mapped(m)
	}
	return to, place
}

// inMemory is the group of a folder in memory.
func (s Subject) inMemory(m plan.Op, overWritable bool) group {
	switch {
	case strings.HasPrefix(m.Reason, "hidden:"), !m.Writable() && !overWritable:
		return untold
	case !m.Writable():
		return stays
	case slices.ContainsFunc(s.Plan.Fills, func(f plan.Fill) bool { return f.Dest == m.Dest }):
		return clones
	}
	return own
}

// shown is the group of something of the host, or of what was made for the run there.
func (s Subject) shown(m plan.Op, overWritable, itself bool) group {
	switch {
	case s.copied(m):
		return copies
	case slices.ContainsFunc(s.Staged.BoxGit, func(b plan.Bind) bool { return b.Write && b.Host == m.Source }):
		return clones
	case itself && m.Writable() && overWritable: // to stay where it is
		return untold
	case slices.ContainsFunc(s.Plan.Caches, func(c plan.CachePlace) bool { return c.At == m.Dest }):
		return caches
	case m.Writable():
		return change
	case itself && overWritable:
		return stays
	}
	return read
}

// copied reports whether a mount shows a copy that is made for the run.
func (s Subject) copied(m plan.Op) bool {
	return m.Source == s.Staged.Kept && m.Source != "" || slices.ContainsFunc(s.Staged.Copies, func(c plan.Copy) bool { return c.Host == m.Source })
}

// mapped is a mount with both its names, when they differ.
func (s Subject) mapped(m plan.Op) Thing {
	t := s.place(m.Source, m.Reason)
	if s.real(m.Dest) != m.Source {
		t.Text += " as " + s.short(m.Dest)
	}
	return t
}

// inners reports whether a mount is a part of the box itself.
func (s Subject) inners(m plan.Op) bool {
	return m.Dest == "/run" || m.Dest == paths.BoxMarker ||
		paths.Below(paths.BoxDir, m.Dest) || paths.Below("/proc", m.Dest) || paths.Below("/dev", m.Dest) ||
		m.Bind() && (s.Staged.Noop != "" && paths.Below(s.Staged.Noop, m.Source) || s.Staged.Startup != "" && paths.Below(s.Staged.Startup, m.Source))
}

// meant is what the profile says of files, for a run that has no plan.
func (s Subject) meant() []Row {
	rc := s.Config
	by := map[profile.Mode][]Thing{}
	if rc.WorkdirMode != "" && rc.Workdir != "" {
		by[rc.WorkdirMode] = []Thing{s.place(rc.Workdir, "the working folder")}
	}
	for _, m := range rc.Mounts {
		t := s.place(m.Source, "mounts")
		if m.Mode == profile.Tmpfs {
			t = s.place(m.Dest, "mounts")
		} else if m.Dest != m.Source {
			t.Text += " as " + s.short(m.Dest)
		}
		by[m.Mode] = append(by[m.Mode], t)
	}
	read := words("the system")
	own := words("/tmp", "/var/tmp")
	if rc.HidesHome() {
		own = append(own, Thing{Text: "~", Path: rc.HomeDir})
		for _, p := range rc.HomeAllow {
			read = append(read, s.place(p, "home_allow"))
		}
	} else {
		read = append(read, Thing{Text: "~", Path: rc.HomeDir})
	}
	return []Row{
		row(Open, "may change", by[profile.RW]...),
		row(Own, "works on a copy of", by[profile.SafeRW]...),
		row(Seen, "may read", append(read, by[profile.RO]...)...),
		row(Own, "sees empty, its own", append(own, by[profile.Tmpfs]...)...),
	}
}
