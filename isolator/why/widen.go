package why

import (
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
		from, pattern := t.pattern(r.At)
		if strings.HasPrefix(from, profile.OrganisationFile) {
			return "", true
		}
		return "hide without " + strconv.Quote(pattern), true
	case r.Hides: // inner's own
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
	switch from, pattern := t.pattern(place); {
	case pattern == "":
		return text
	case strings.HasPrefix(from, profile.OrganisationFile):
		return ""
	default:
		return text + " and hide without " + strconv.Quote(pattern)
	}
}

// widen returns what to write to get more of a path.
func (t *Table) widen(a Answer, r Rule) string {
	if a.Access == ReadWrite {
		return ""
	}
	if t.keys[a.Key] && a.Access == Hidden && t.s != nil {
		return t.allowing(a.Key, a.Real)
	}
	if r.Widen != "" || r.stated || t.s == nil && a.Access != Absent {
		return r.Widen
	}
	switch { // where no mount is made
	case paths.Below("/dev", a.Real) && !paths.Inside("/dev/shm", a.Real):
		return profile.DevicesOf(a.Real)
	case paths.Below("/proc", a.Real), paths.Below("/sys", a.Real):
		return ""
	}
	spec := t.s.Spec
	if t.refused(a.Real) {
		return ""
	}
	mode := "rw"
	path := a.Real
	if a.Access == Outside {
		mode = "ro"
	}
	if rest, ok := paths.Rest(spec.HomeDir, path); ok && rest != "" {
		path = "~/" + rest
		if a.Access == Outside && spec.Base != "minimal" {
			return "home_allow = [" + strconv.Quote(path) + "]"
		}
	}
	if rest, ok := paths.Rest(spec.Workdir, a.Real); ok && r.Key == "sandbox.workdir_mode" {
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
	return strconv.Quote(path) + " = " + strconv.Quote(mode) + " under [mounts]"
}

// refused reports whether no profile can mount a place of the host.
func (t *Table) refused(p string) bool {
	return p == "/run" || paths.Inside(p, t.s.Spec.HomeDir) ||
		slices.ContainsFunc(t.s.Facts.InnerHomes(), func(home string) bool { return paths.Below(home, p) })
}

// pattern returns where the last pattern of hide that matches a path was written, and what it
// says there.
func (t *Table) pattern(hostPath string) (from, text string) {
	if t.s == nil {
		return "", ""
	}
	own := 0
	for _, o := range t.s.Origins {
		if o.Key == "sandbox.hide" {
			own++
		}
	}
	from = "config.toml"
	for i, p := range t.s.Spec.Hide {
		parsed, err := gitignore.Parse(p)
		if err != nil || !matches(parsed, hostPath) {
			continue
		}
		from, text = "config.toml", p
		if ruled := t.ruledHides(); i >= len(t.s.Spec.Hide)-len(ruled) {
			from = place(ruled[i-len(t.s.Spec.Hide)+len(ruled)])
		}
		if i < own {
			n := 0
			for _, o := range t.s.Origins {
				if o.Key != "sandbox.hide" {
					continue
				}
				if n == i {
					from = place(o)
					text, _ = strconv.Unquote(o.Value)
				}
				n++
			}
		}
	}
	return from, text
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
