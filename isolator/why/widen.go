package why

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/gitignore"
)

// widenOf returns what to write to get more of a whole rule. stated says that this is the whole
// answer; otherwise it depends on the path that is asked for.
func (t *Table) widenOf(r Rule) (text string, stated bool) {
	switch {
	case t.keys[r.Key] && (r.Hides || r.Key == "project-config"):
		return "allow = [" + strconv.Quote(r.Key) + "]", true
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

// widen returns what to write to get more of a path.
func (t *Table) widen(a Answer, r Rule) string {
	if a.Access == ReadWrite {
		return ""
	}
	if t.keys[a.Key] && a.Access == Hidden {
		return "allow = [" + strconv.Quote(a.Key) + "]"
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
		if rest == "" || spec.WorkdirMode != profile.RO && spec.WorkdirMode != profile.Keep {
			return `workdir_mode = "rw"`
		}
		return "writable = [" + strconv.Quote(rest) + "]"
	}
	return strconv.Quote(path) + " = " + strconv.Quote(mode) + " under [mounts]"
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
