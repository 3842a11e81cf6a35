package why

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/gitignore"
	"github.com/enr/inner/profile/hosts"
)

// Where what decides about something was written.

// builtIn is where a resource is hidden that inner itself hides.
const builtIn = "built in: inner profile resources"

// from returns where the key that decides about an operation was written.
func (t *Table) from(o plan.Op) string {
	switch {
	case strings.HasPrefix(o.Reason, plan.Closed):
		return strings.TrimPrefix(o.Reason, "hidden: ")
	case o.Key == "":
		return "every box has it"
	case slices.Contains(t.keys, o.Key):
		return cmp.Or(t.written("sandbox.allow", is(o.Key)), t.written("sandbox.allow", nil), builtIn)
	case o.Key == "sandbox.hide":
		at, _ := t.pattern(o.Dest)
		return at
	case strings.HasPrefix(o.Key, "--mount "):
		return "the command line"
	}
	shows := func(item string) bool { // the item of a list that shows a place is a folder that it lies in
		dir := t.Box.Spec.Workdir
		if rest, ok := paths.Rest("~", item); ok {
			dir, item = t.Box.Spec.HomeDir, rest
		}
		if !filepath.IsAbs(item) {
			item = filepath.Join(dir, item)
		}
		return paths.Below(item, o.Dest) || paths.Below(item, o.Source)
	}
	group := func(item string) bool { return strings.HasPrefix(item, "@") } // such as @toolchains
	return cmp.Or(t.written(o.Key, shows), t.written(o.Key, group), t.written(o.Key, nil), "the default")
}

// written returns where the first value of a key, or of one below it, was written that is meant, be it any; ""
// for nowhere.
func (t *Table) written(key string, meant func(value string) bool) string {
	return written(t.origins, key, meant)
}

func written(origins []profile.Origin, key string, meant func(value string) bool) string {
	for _, o := range origins {
		if (o.Key == key || strings.HasPrefix(o.Key, key+".")) && (meant == nil || meant(o.Text())) {
			return o.Place()
		}
	}
	return ""
}

func is(value string) func(string) bool { return func(v string) bool { return v == value } }

// listed returns where the item of network_allow that an entry comes from was written, or the
// capability that brings it.
func (t *Table) listed(r netproxy.Rule) string {
	if name, is := strings.CutPrefix(r.Origin, "credential "); is {
		_, at := t.credential(profile.Credential{Name: name})
		return at
	}
	name, brought := strings.CutPrefix(r.Origin, "capability ")
	at := t.written("sandbox.network_allow", func(item string) bool {
		e, err := hosts.ParseAllow(item)
		return err == nil && (e.String() == r.String() && r.Origin == "network_allow" || item == r.Origin)
	})
	if at == "" && brought {
		at = cmp.Or(t.written("capabilities", is(name)), t.written("capabilities", nil))
	}
	return cmp.Or(at, t.at("sandbox.network_allow"))
}

// pattern returns where the last pattern of hide that matches a path was written, and what it
// says there.
func (t *Table) pattern(hostPath string) (from, text string) {
	hide, written := t.Box.Spec.Hide, t.Box.Spec.WrittenHide // the profile's own first, the organisation's last, and then a run's
	own, ruled := originsOf(t.origins, "sandbox.hide"), originsOf(t.Box.Spec.Organisation, "sandbox.hide")
	from = users
	for i, p := range hide {
		parsed, err := gitignore.Parse(p)
		if err != nil || !matches(parsed, hostPath) {
			continue
		}
		if from, text = users, p; i < t.Box.Spec.AskedHide {
			from = projects
		}
		if j := i - written + len(ruled); j >= 0 && j < len(ruled) {
			from = ruled[j].Place()
		}
		if i < len(own) {
			from, text = own[i].Place(), own[i].Text()
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
