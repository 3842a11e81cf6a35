package picture

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// mount is one argument of the plan that puts something into the box.
type mount struct {
	source string // "" for what is made for the box
	dest   string
	write  bool
	kind   string // the option
	reason string
}

// mounts reads the arguments, as bwrap(1) documents them.
func mounts(plan plan.Plan) []mount {
	var out []mount
	for _, a := range plan.Args {
		w, write := a.Words, true
		for len(w) > 2 && (w[0] == "--perms" || w[0] == "--size") {
			write = write && w[1] != "0555"
			w = w[2:]
		}
		switch {
		case len(w) == 3 && (w[0] == "--bind" || w[0] == "--ro-bind" || w[0] == "--dev-bind"):
			out = append(out, mount{w[1], w[2], w[0] != "--ro-bind", w[0], a.Reason})
		case len(w) == 3 && w[0] == "--ro-bind-data":
			out = append(out, mount{"", w[2], false, w[0], a.Reason})
		case len(w) == 2 && (w[0] == "--tmpfs" || w[0] == "--dev" || w[0] == "--proc"):
			out = append(out, mount{"", w[1], write, w[0], a.Reason})
		}
	}
	return out
}

// at returns which mount decides about a box path, and the host path it shows there;
// -1 for none, "" for nothing of the host.
func at(ms []mount, p string) (i int, hostPath string) {
	for i, m := range slices.Backward(ms) {
		if paths.Below(m.dest, p) {
			if m.source == "" {
				return i, ""
			}
			return i, filepath.Join(m.source, strings.TrimPrefix(p, m.dest))
		}
	}
	return -1, ""
}

// canWrite reports whether the box can write a host path where that is mounted.
func (s Subject) canWrite(hostPath string) bool {
	ms := mounts(s.Plan)
	i, shown := at(ms, s.real(hostPath))
	return i >= 0 && ms[i].write && shown == s.real(hostPath)
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
	var change, copies, clones, stays, own, read []Thing
	list := func(to *[]Thing, t Thing) {
		if !slices.ContainsFunc(*to, func(o Thing) bool { return o.Path == t.Path && o.Text == t.Text }) {
			*to = append(*to, t)
		}
	}
	ms := mounts(s.Plan)
	for i, m := range ms {
		if last, _ := at(ms, m.dest); last != i || s.inners(m) {
			continue
		}
		below, before := at(ms[:i], m.dest)
		overWritable := below >= 0 && ms[below].write
		switch {
		case m.kind == "--tmpfs" && !m.write && overWritable && !strings.HasPrefix(m.reason, "hidden:"):
			list(&stays, s.place(m.dest, m.reason))
		case m.kind == "--tmpfs" && (!m.write || strings.HasPrefix(m.reason, "hidden:")), m.source == s.Staged.Empty && m.source != "":
			continue // see hidden
		case slices.ContainsFunc(s.Plan.Fills, func(f plan.Fill) bool { return f.Dest == m.dest }):
			list(&clones, s.place(m.dest, m.reason))
		case m.kind == "--tmpfs":
			list(&own, s.place(m.dest, m.reason))
		case m.source == "": // made for the box
		case slices.ContainsFunc(s.Staged.Copies, func(c plan.Copy) bool { return c.Host == m.source }):
			list(&copies, s.place(m.dest, m.reason))
		case slices.ContainsFunc(s.Staged.BoxGit, func(b plan.Bind) bool { return b.Write && b.Host == m.source }):
			list(&clones, s.place(m.dest, m.reason))
		case before == m.source && m.write && overWritable: // mounted on itself, to stay where it is
		case m.write:
			list(&change, s.mapped(m))
		case before == m.source && overWritable:
			list(&stays, s.place(m.dest, m.reason))
		case m.source == "/":
			list(&read, Thing{Text: "the system (/, where nothing else is said)", Path: "/", Why: m.reason})
		default:
			list(&read, s.mapped(m))
		}
	}
	if len(change) == 1 { // one place of work: what lies in it needs no more words
		for i, t := range stays {
			stays[i].Text = strings.TrimPrefix(t.Text, s.short(change[0].Path)+"/")
		}
	}
	return []Row{
		row(Open, "can change", change...),
		row(Seen, "but not in it", stays...),
		row(Own, "works on a copy of", append(copies, clones...)...),
		row(Seen, "can read", read...),
		row(Own, "sees empty, its own", own...),
	}
}

// mapped is a mount with both its names, when they differ.
func (s Subject) mapped(m mount) Thing {
	t := s.place(m.source, m.reason)
	if s.real(m.dest) != m.source {
		t.Text += " as " + s.short(m.dest)
	}
	return t
}

// inners reports whether a mount is a part of the box itself.
func (s Subject) inners(m mount) bool {
	return m.dest == "/run" || m.dest == plan.BoxMarker || m.kind == "--dev" || m.kind == "--proc" || m.source != "" && m.source == s.Staged.Noop ||
		paths.Below(plan.BoxDir, m.dest) || paths.Below("/proc", m.dest) || paths.Below("/dev", m.dest) ||
		s.Staged.Noop != "" && paths.Below(s.Staged.Noop, m.source) || s.Staged.Startup != "" && paths.Below(s.Staged.Startup, m.source)
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
	if rc.Home == "isolated" {
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
