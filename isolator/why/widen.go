package why

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// Line is a line of a profile that widens it.
type Line = profile.Line

const sandbox = "sandbox"

// listing is the line that adds an item to a list of [sandbox].
func listing(key, item string) Line { return Line{Table: sandbox, Key: key, Value: item, Listed: true} }

// Hosts are the lines with which a host can be reached.
func (t *Table) Hosts(host string) []Line {
	listed := listing("network_allow", host)
	if t.Box.Spec.Network == profile.NetOff {
		return []Line{{Table: sandbox, Key: "network_mode", Value: "allowlist"}, listed}
	}
	return []Line{listed}
}

// Port is the line with which a port of this computer can be reached.
func Port(port string) []Line { return []Line{listing("host_ports", port)} }

// propose notes lines that grant what was asked for.
func (a *Answer) propose(lines ...Line) {
	a.Lines = lines
	var texts []string
	for _, l := range lines {
		texts = append(texts, l.String())
	}
	a.Widen = strings.Join(texts, " and ")
}

// allowing proposes what is to be written to see a place that the table of resources hides, and perhaps
// a pattern of hide, too.
func (t *Table) allowing(a *Answer, key, place string) {
	from, pattern := t.pattern(place)
	switch {
	case pattern == "":
		a.propose(listing("allow", key))
	case !strings.HasPrefix(from, profile.OrganisationFile):
		a.Widen = listing("allow", key).String() + " and " + unhiding(from, pattern)
	}
}

// alone proposes the mount of one file that the table hides: no other file of its kind is seen by that. A link to
// such a file has no mount of its own.
func (t *Table) alone(a *Answer) bool {
	spec := t.Box.Spec
	key := plan.KeyOfFile(a.Real, spec, t.Box.Facts)
	dir, _ := real(filepath.Dir(a.Asked))
	if _, pattern := t.pattern(a.Real); key == "" || pattern != "" || filepath.Join(dir, filepath.Base(a.Asked)) != a.Real {
		return false
	}
	line := Line{Table: "mounts", Key: a.Real, Value: "rw", Allow: key}
	if a.Access != ReadOnly && !t.Write {
		line.Value = "ro"
	}
	if rest, ok := paths.Rest(spec.Real[spec.Project], a.Real); ok && spec.Scope == profile.Local {
		line.Key = "${workdir}/" + rest
	} else if rest, ok := paths.Rest(spec.HomeDir, a.Real); ok {
		line.Key = "~/" + rest
	}
	a.propose(line)
	return true
}

// users and projects are the files that hide something besides the profile.
const users, projects = "config.toml", "the project's config.toml"

func unhiding(from, pattern string) string {
	if from == users || from == projects {
		return "[hide] paths of " + from + " without " + strconv.Quote(pattern)
	}
	return "hide without " + strconv.Quote(pattern)
}

// widen proposes what is to be written to get more of a path.
func (t *Table) widen(a *Answer, o plan.Op) {
	resource := slices.Contains(t.keys, o.Key)
	switch {
	case a.Access == ReadWrite && !a.Own || a.Access == Absent:
	case t.alone(a):
	case slices.Contains(t.keys, a.Key) && a.Access == Hidden:
		t.allowing(a, a.Key, a.Real)
	case resource && (hides(o) || o.Key == "project-config" || o.Reason == committed):
		t.allowing(a, o.Key, o.Dest)
	case hides(o) && o.Key == "sandbox.hide":
		if from, pattern := t.pattern(o.Dest); pattern != "" && !strings.HasPrefix(from, profile.OrganisationFile) {
			a.Widen = unhiding(from, pattern)
		}
	case hides(o) && o.Key != "sandbox.home", o.Key == "" && o.Bind(): // inner's own: .inner, profiles, start-up files, the program
	case o.Key == "sandbox.git_dir" && !t.writable(o):
		a.propose(Line{Table: sandbox, Key: "git_dir", Value: "rw"})
		a.Lines = nil // it opens all of git for one path: a person writes it
	case paths.Below("/dev", a.Real) && !paths.Inside("/dev/shm", a.Real): // no mount is made there
		a.Widen = profile.DevicesOf(a.Real)
	case !t.refused(a.Real):
		t.mounting(a, o)
	}
	if a.Access == ReadWrite { // it is granted; the lines are for who wants the host's
		a.Widen = ""
	}
}

// mounting proposes what is to be written to have a path mounted, or to write in the working folder.
func (t *Table) mounting(a *Answer, o plan.Op) {
	spec, mode := t.Box.Spec, "rw"
	if a.Access != ReadOnly && !t.Write {
		mode = "ro"
	}
	if why := plan.Unwritten(spec, t.Box.Facts, a.Real); mode == "rw" && why != "" { // whatever the profile says
		a.How += "; it cannot be written: " + why
		return
	}
	_, onHost := real(a.Real)
	if _, how := onHost.barred(mode == "rw"); how != "" { // nor does any profile change that
		a.How += "; " + strings.TrimPrefix(strings.TrimPrefix(how, "shown, and "), "shown, but ")
		return
	}
	rest, inHome := paths.Rest(spec.HomeDir, cmp.Or(a.own, a.Real))
	// A mount comes after it. Of a folder that is mounted, the project's secrets are hidden, too.
	if inHome && mode == "ro" && o.Key == "sandbox.home" && rest != "" && t.Box.Facts.Look(a.Real).Kind != host.Dir {
		a.propose(listing("home_allow", "~/"+rest))
		return
	}
	if !t.led(a) {
		return
	}
	if rest, ok := paths.Rest(spec.Workdir, a.Real); ok && o.Key == "sandbox.workdir_mode" {
		a.propose(zone(spec, rest)...)
		return
	}
	a.propose(Line{Table: "mounts", Key: t.Box.Short(a.Real), Value: mode})
}

// led follows the links by which somebody asked for a path that the box does not have. What they lead to is granted by
// its own name, which a person sees; it reports false where that is there already, or a box may have made one of them.
func (t *Table) led(a *Answer) bool {
	if a.own == "" || t.Box.Short(a.own) == t.Box.Short(a.Real) {
		return true
	}
	hops, _, _ := files.Follow(a.own) // that it leads somewhere was seen
	for _, hop := range hops {
		if t.Box.Context.BoxFolder(t.Box.Spec, filepath.Dir(hop.Path)) != "" {
			a.How += "; boxes can change the link " + t.Box.Short(hop.Path) + ", which leads there"
			return false
		}
	}
	a.Link = true
	_, e := t.follow(a.Real)
	if e.kind != '-' {
		a.How += "; what it leads to is there, by its own name"
	}
	return e.kind == '-'
}

// zone are the lines with which the box can write at a path of the working folder.
func zone(spec profile.RunConfig, rest string) []Line {
	writable := listing("writable", rest)
	switch {
	case rest == "" || spec.WorkdirMode != profile.RO && spec.WorkdirMode != profile.Keep:
		return []Line{{Table: sandbox, Key: "workdir_mode", Value: "rw"}}
	case slices.ContainsFunc(strings.Split(rest, "/"), func(name string) bool { return name == ".git" || name == ".inner" }):
		return nil // these are no zones
	case plan.ObeyedName(spec, rest, true) || plan.ObeyedName(spec, rest, false):
		return []Line{listing("allow", "project-config"), writable}
	}
	return []Line{writable}
}

// refused reports whether no profile can mount a place of the host.
func (t *Table) refused(p string) bool {
	return p == "/run" || paths.Below("/proc", p) || paths.Below("/sys", p) || paths.Inside(p, t.Box.Spec.HomeDir) ||
		slices.ContainsFunc(t.Box.Facts.InnerHomes(), func(home string) bool { return paths.Below(home, p) })
}
