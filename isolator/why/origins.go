package why

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/gitignore"
	"github.com/enr/inner/profile/hosts"
)

// Where what decides about something was written.

// from returns where the key that decides about an operation was written.
func (t *Table) from(o plan.Op) string {
	switch {
	case o.Key == "":
		return "every box has it"
	case slices.Contains(t.keys, o.Key):
		return cmp.Or(t.origin("sandbox.allow", o.Key), t.origin("sandbox.allow", ""), builtIn)
	case o.Key == "sandbox.hide":
		at, _ := t.pattern(o.Dest)
		return at
	case strings.HasPrefix(o.Key, "--mount "):
		return "the command line"
	}
	return cmp.Or(t.item(o), t.origin(o.Key, ""), "the default")
}

// builtIn is where a resource is hidden that inner itself hides.
const builtIn = "built in: inner profile resources"

// item returns where the item of a list that shows a place was written: its path, or else the
// first group, such as @toolchains.
func (t *Table) item(op plan.Op) (at string) {
	for _, o := range t.origins {
		text, err := strconv.Unquote(o.Value)
		if o.Key != op.Key || err != nil {
			continue
		}
		if strings.HasPrefix(text, "@") {
			at = cmp.Or(at, o.Place())
			continue
		}
		dir := t.box.Spec.Workdir
		if rest, ok := paths.Rest("~", text); ok {
			dir, text = t.box.Spec.HomeDir, rest
		}
		if !filepath.IsAbs(text) {
			text = filepath.Join(dir, text)
		}
		if paths.Below(text, op.Dest) || paths.Below(text, op.Source) {
			return o.Place()
		}
	}
	return at
}

// listed returns where the item of network_allow that an entry comes from was written, or the
// capability that brings it; "" for an entry from elsewhere.
func (t *Table) listed(r netproxy.Rule) string {
	for _, o := range t.origins {
		text, err := strconv.Unquote(o.Value)
		if o.Key != "sandbox.network_allow" || err != nil {
			continue
		}
		if e, err := hosts.ParseAllow(text); err == nil && (e.String() == r.String() && r.Origin == "network_allow" || text == r.Origin) {
			return o.Place()
		}
	}
	if name, ok := strings.CutPrefix(r.Origin, "capability "); ok {
		return cmp.Or(t.origin("capabilities", name), t.origin("capabilities", ""))
	}
	return ""
}

// origin returns FILE:LINE of the first value of a key, or of that value in its list; "" when
// there is none.
func (t *Table) origin(key, value string) string {
	for _, o := range t.origins {
		if (o.Key == key || strings.HasPrefix(o.Key, key+".")) && (value == "" || o.Value == strconv.Quote(value)) {
			return o.Place()
		}
	}
	return ""
}

// pattern returns where the last pattern of hide that matches a path was written, and what it
// says there.
func (t *Table) pattern(hostPath string) (from, text string) {
	hide := t.box.Spec.Hide // the profile's own first, the organisation's last
	own, ruled := originsOf(t.origins, "sandbox.hide"), originsOf(t.box.Spec.Organisation, "sandbox.hide")
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
func originsOf(origins []profile.Origin, key string) []profile.Origin {
	return slices.DeleteFunc(slices.Clone(origins), func(o profile.Origin) bool { return o.Key != key })
}

// matches reports whether a pattern matches a path or a folder that it lies in.
func matches(p gitignore.Pattern, path string) bool {
	l := gitignore.List{p}
	s := l.Start()
	list := strings.FieldsFunc(filepath.Clean(path), func(r rune) bool { return r == '/' })
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
