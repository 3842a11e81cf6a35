package why

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/gitignore"
)

// widenOf returns what to write to get more of a whole rule. stated says that this is the whole
// answer; otherwise it depends on the path that is asked for.
func (t *Table) widenOf(r Rule) (text string, stated bool) {
	switch {
	case t.keys[r.Key] && (r.Hides || r.Key == "project-config"):
		return t.allowing(r.Key, r.At), true
	case r.Hides && r.Key == "sandbox.hide":
		text, _ = t.unhiding(r.At)
		return text, true
	case r.Hides && r.Key != "sandbox.home": // inner's own
		return "", true
	case r.Key == "sandbox.git_dir" && !r.Write:
		return `git_dir = "rw"`, true
	case r.Key == "" && r.kind == shown: // .inner, profiles, start-up files, the program
		return "", true
	}
	return "", false
}

// allowing returns what to write to see a place that the table of resources hides, and perhaps
// the profile, too.
func (t *Table) allowing(key, place string) string {
	text := "allow = [" + strconv.Quote(key) + "]"
	switch unhide, possible := t.unhiding(place); {
	case !possible:
		return ""
	case unhide != "":
		text += " and " + unhide
	}
	return text
}

// unhiding returns what to write so that no pattern of hide covers a place, "" when none does;
// nothing is possible against a pattern of the organisation's.
func (t *Table) unhiding(place string) (text string, possible bool) {
	from, pattern := t.pattern(place)
	switch {
	case pattern == "":
		return "", true
	case strings.HasPrefix(from, profile.OrganisationFile):
		return "", false
	}
	return "hide without " + strconv.Quote(pattern), true
}

// widen returns what to write to get more of a path.
func (t *Table) widen(a Answer, r Rule) string {
	switch {
	case a.Access == ReadWrite || a.Access == Absent:
		return ""
	case t.keys[a.Key] && a.Access == Hidden:
		return t.allowing(a.Key, a.Real)
	case r.Widen != "" || r.stated || t.s == nil:
		return r.Widen
	}
	return t.granting(a, r)
}

// granting returns what to write to have a path of the host in the box, or to write there; "" when
// no profile can.
func (t *Table) granting(a Answer, r Rule) string {
	switch {
	case paths.Below("/dev", a.Real) && !paths.Inside("/dev/shm", a.Real): // no mount is made there
		return profile.DevicesOf(a.Real)
	case t.refused(a.Real):
		return ""
	}
	return t.mounting(a, r)
}

// mounting returns what to write to have a path mounted, or to write in the working folder.
func (t *Table) mounting(a Answer, r Rule) string {
	spec, path, mode := t.s.Spec, cmp.Or(a.own, a.Real), "rw"
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
	return p == "/run" || paths.Below("/proc", p) || paths.Below("/sys", p) || paths.Inside(p, t.s.Spec.HomeDir) ||
		slices.ContainsFunc(t.s.Facts.InnerHomes(), func(home string) bool { return paths.Below(home, p) })
}

// pattern returns where the last pattern of hide that matches a path was written, and what it
// says there.
func (t *Table) pattern(hostPath string) (from, text string) {
	if t.s == nil {
		return "", ""
	}
	hide := t.s.Spec.Hide // the profile's own first, the organisation's last
	own, ruled := originsOf(t.s.Origins, "sandbox.hide"), originsOf(t.s.Spec.Organisation, "sandbox.hide")
	from = "config.toml"
	for i, p := range hide {
		parsed, err := gitignore.Parse(p)
		if err != nil || !matches(parsed, hostPath) {
			continue
		}
		from, text = "config.toml", p
		if j := i - len(hide) + len(ruled); j >= 0 {
			from = ruled[j].Place()
		}
		if i < len(own) {
			from = own[i].Place()
			text, _ = strconv.Unquote(own[i].Value)
		}
	}
	return from, text
}

// originsOf returns the origins of a key.
func originsOf(origins []profile.Origin, key string) (list []profile.Origin) {
	for _, o := range origins {
		if o.Key == key {
			list = append(list, o)
		}
	}
	return list
}

// matches reports whether a pattern matches a path or a folder that it lies in.
func matches(p gitignore.Pattern, path string) bool {
	l := gitignore.List{p}
	s := l.Start()
	list := names(filepath.Clean(path))
	for i, name := range list {
		for _, dir := range []bool{true, i < len(list)-1} {
			if _, _, ok := l.Step(s, name, dir); ok {
				return true
			}
		}
		s, _, _ = l.Step(s, name, true)
	}
	return false
}
