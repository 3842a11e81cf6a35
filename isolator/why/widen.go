package why

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// allowing returns what to write to see a place that the table of resources hides, and perhaps
// a pattern of hide, too.
func (t *Table) allowing(key, place string) string {
	text := "allow = [" + strconv.Quote(key) + "]"
	switch unhide, possible := unhiding(t.pattern(place)); {
	case !possible:
		return ""
	case unhide != "":
		text += " and " + unhide
	}
	return text
}

// unhiding returns what to write so that a pattern of hide covers nothing, "" for none;
// nothing is possible against a pattern of the organisation's.
func unhiding(from, pattern string) (text string, possible bool) {
	switch {
	case pattern == "":
		return "", true
	case strings.HasPrefix(from, profile.OrganisationFile):
		return "", false
	}
	return "hide without " + strconv.Quote(pattern), true
}

// widen returns what to write to get more of a path.
func (t *Table) widen(a Answer, r rule) string {
	resource := slices.Contains(t.keys, r.Key)
	switch {
	case a.Access == ReadWrite || a.Access == Absent:
		return ""
	case slices.Contains(t.keys, a.Key) && a.Access == Hidden:
		return t.allowing(a.Key, a.Real)
	case resource && (r.Hides || r.Key == "project-config"):
		return t.allowing(r.Key, r.At)
	case r.Hides && r.Key == "sandbox.hide":
		text, _ := unhiding(t.pattern(r.At))
		return text
	case r.Hides && r.Key != "sandbox.home", r.Key == "" && r.kind == shown: // inner's own: .inner, profiles, start-up files, the program
		return ""
	case r.Key == "sandbox.git_dir" && !r.Write:
		return `git_dir = "rw"`
	}
	return t.granting(a, r)
}

// granting returns what to write to have a path of the host in the box, or to write there; "" when
// no profile can.
func (t *Table) granting(a Answer, r rule) string {
	switch {
	case paths.Below("/dev", a.Real) && !paths.Inside("/dev/shm", a.Real): // no mount is made there
		return profile.DevicesOf(a.Real)
	case t.refused(a.Real):
		return ""
	}
	return t.mounting(a, r)
}

// mounting returns what to write to have a path mounted, or to write in the working folder.
func (t *Table) mounting(a Answer, r rule) string {
	spec, path, mode := t.box.Spec, cmp.Or(a.own, a.Real), "rw"
	if a.Access == Outside || a.Access == Hidden {
		mode = "ro"
	}
	if rest, ok := paths.Rest(spec.HomeDir, path); ok && rest != "" {
		path = "~/" + rest
		if mode == "ro" && r.Key == "sandbox.home" { // a mount comes after it
			return "home_allow = [" + strconv.Quote(path) + "]"
		}
	}
	if rest, ok := paths.Rest(spec.Workdir, a.Real); ok && r.Key == "sandbox.workdir_mode" {
		return zone(spec, rest)
	}
	return strconv.Quote(path) + " = " + strconv.Quote(mode) + " under [mounts]"
}

// zone returns what to write to write at a path of the working folder.
func zone(spec profile.RunConfig, rest string) string {
	writable := "writable = [" + strconv.Quote(rest) + "]"
	switch {
	case rest == "" || spec.WorkdirMode != profile.RO && spec.WorkdirMode != profile.Keep:
		return `workdir_mode = "rw"`
	case slices.ContainsFunc(strings.Split(rest, "/"), func(name string) bool { return name == ".git" || name == ".inner" }):
		return "" // these are no zones
	case plan.ObeyedName(spec, rest, true) || plan.ObeyedName(spec, rest, false):
		return `allow = ["project-config"] and ` + writable
	}
	return writable
}

// refused reports whether no profile can mount a place of the host.
func (t *Table) refused(p string) bool {
	return p == "/run" || paths.Below("/proc", p) || paths.Below("/sys", p) || paths.Inside(p, t.box.Spec.HomeDir) ||
		slices.ContainsFunc(t.box.Facts.InnerHomes(), func(home string) bool { return paths.Below(home, p) })
}
