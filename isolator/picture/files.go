package picture

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// mounts returns the operations of the plan that put something into the box.
func mounts(p plan.Plan) []plan.Op {
	return slices.DeleteFunc(slices.Clone(p.Ops), func(o plan.Op) bool { return !o.Mounts() })
}

// at returns the index of the mount that decides what a box path shows, and the host path that
// is shown there: -1 without such a mount, "" when it is nothing of the host.
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

// real returns a host path with its links resolved, as far as the facts know it.
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
	things := map[access][]Thing{}
	ms := mounts(s.Plan)
	for i, m := range ms {
		if last, _ := at(ms, m.Dest); last != i || s.isInners(m) {
			continue
		}
		below, before := at(ms[:i], m.Dest)
		to, t := s.accessOf(m, below >= 0 && ms[below].Writable(), before == m.Source)
		if to == toShare && len(things[to]) == 0 { // the first one says it
			t.Text += " (" + m.Reason + ")"
		}
		if !slices.ContainsFunc(things[to], func(o Thing) bool { return o.Path == t.Path && o.Text == t.Text }) {
			things[to] = append(things[to], t)
		}
	}
	if open := things[toChange]; len(open) == 1 { // "but not in it": names below the one folder are enough
		for i, t := range things[toKeep] {
			things[toKeep][i].Text = strings.TrimPrefix(t.Text, s.short(open[0].Path)+"/")
		}
	}
	return []Row{
		row(Open, "can change", things[toChange]...),
		row(Seen, "but not in it", things[toKeep]...),
		row(Note, "git works on", things[toShare]...),
		row(Own, "works on a copy of", append(things[toCopy], things[toClone]...)...),
		row(Seen, "can read", things[toRead]...),
		row(Own, "sees empty, its own", things[ofItsOwn]...),
		row(Own, "keeps for itself", things[toCache]...),
	}
}

// access is what a mount lets the box do, as far as a row is about that.
type access int

const (
	noRow    access = iota // made for the box, or in the rows of hidden
	toChange               // change what is on the host
	toKeep                 // only read, in a folder that it can change
	toCopy                 // change a copy of files
	toShare                // work on a git directory, where every change is checked
	toClone                // change a copy of settings
	toRead                 // only read
	ofItsOwn               // use an empty folder
	toCache                // use a cache that later boxes of the project have, too
)

// accessOf returns the access that a mount gives, and what its row says of it. overWritable
// says that it is mounted over something writable, itself that it is mounted on itself.
func (s Subject) accessOf(m plan.Op, overWritable, itself bool) (access, Thing) {
	place := s.place(m.Dest, m.Reason)
	switch {
	case m.Kind == plan.OpTmpfs:
		return s.inMemory(m, overWritable), place
	case !m.Bind():
		return noRow, place
	}
	to := s.bound(m, overWritable, itself)
	switch {
	case to == toRead && m.Source == "/":
		return toRead, Thing{Text: "the system (/, where nothing else is said)", Path: "/", Why: m.Reason}
	case to == toRead || to == toChange:
		return to, s.mapped(m)
	}
	return to, place
}

// inMemory is accessOf for a folder in memory.
func (s Subject) inMemory(m plan.Op, overWritable bool) access {
	switch {
	case strings.HasPrefix(m.Reason, "hidden:"), !m.Writable() && !overWritable:
		return noRow
	case !m.Writable():
		return toKeep
	case slices.ContainsFunc(s.Plan.Fills, func(f plan.Fill) bool { return f.Dest == m.Dest }):
		return toClone
	}
	return ofItsOwn
}

// bound is accessOf for something of the host, or what was made there for the run.
func (s Subject) bound(m plan.Op, overWritable, itself bool) access {
	switch {
	case s.copied(m):
		return toCopy
	case slices.ContainsFunc(s.Staged.Repos, func(r plan.Repo) bool { return r.Dir == m.Dest }):
		return toShare
	case itself && m.Writable() && overWritable: // mounted so that the box cannot move it away
		return noRow
	case slices.ContainsFunc(s.Plan.Caches, func(c plan.CachePlace) bool { return c.At == m.Dest }):
		return toCache
	case m.Writable():
		return toChange
	case itself && overWritable:
		return toKeep
	}
	return toRead
}

// copied reports whether a mount shows a copy that is made for the run.
func (s Subject) copied(m plan.Op) bool {
	return m.Source == s.Staged.Kept && m.Source != "" || slices.ContainsFunc(s.Staged.Copies, func(c plan.Copy) bool { return c.Host == m.Source })
}

// mapped returns a mount with its name in the box as well, when that differs.
func (s Subject) mapped(m plan.Op) Thing {
	t := s.place(m.Source, m.Reason)
	if s.real(m.Dest) != m.Source {
		t.Text += " as " + s.short(m.Dest)
	}
	return t
}

// isInners reports whether a mount is one that every box needs, which no row is about.
func (s Subject) isInners(m plan.Op) bool {
	return m.Dest == "/run" || m.Dest == paths.BoxMarker ||
		paths.Below(paths.BoxDir, m.Dest) || paths.Below("/proc", m.Dest) || paths.Below("/dev", m.Dest) ||
		m.Bind() && (s.Staged.Noop != "" && paths.Below(s.Staged.Noop, m.Source) || s.Staged.Startup != "" && paths.Below(s.Staged.Startup, m.Source))
}

// meant is files for a run without a plan: what the profile says.
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
