package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/enr/inner/profile/hosts"
	"github.com/enr/inner/profile/strict"
)

// Harden returns a Remote profile without what a stranger must not decide, and
// one line for each thing that was removed. What is kept is safe to keep because
// Grants shows it and the user is asked. The profile itself is not changed.
//
// It works on the merged profile: a remote profile may extend one of the user's
// own, and must not gain what that one grants.
func (p *Profile) Harden() (*Profile, []string) {
	hard := *p
	hard.src.Doc = p.src.Clone()
	var h hardener
	keys := hard.src.Keys()
	for i, r := range keyRules() {
		r.remote(&h, keys[i])
	}
	return &hard, h.lines
}

type hardener struct{ lines []string }

func (h *hardener) say(format string, args ...any) {
	h.lines = append(h.lines, fmt.Sprintf(format, args...))
}

// each drops the values of a key about which a function says why; what it says nothing about is kept.
func each(why func(p strict.Item) string) func(*hardener, strict.Key) {
	return func(h *hardener, k strict.Key) {
		k.Keep(func(p strict.Item) bool {
			reason := why(p)
			switch {
			case reason == "":
				return true
			case k.Kind == strict.AList:
				h.say("%s: %q is dropped: %s", k.Name, p.Text, reason)
			case p.Key != "":
				h.say("%s.%s is dropped: %s", k.Name, strict.Join(p.Key), reason)
			default:
				h.say("%s = %s is ignored: %s", k.Name, k.TOML(p), reason)
			}
			return false
		})
	}
}

// dropped drops the values named, or all but an empty text; of a table each entry.
func dropped(why string, bad ...string) func(*hardener, strict.Key) {
	return each(func(p strict.Item) string {
		if slices.Contains(bad, p.Text) || len(bad) == 0 && (p.Text != "" || p.Parts != nil) {
			return why
		}
		return ""
	})
}

// near are entries of network_allow that are what host_ports is, or show the user's own network.
func near(p strict.Item) string {
	e, err := hosts.ParseAllow(p.Text)
	ok := err == nil && !e.Loopback() && !e.Range.IsValid()
	if ok || refuses(p.Text) {
		return ""
	}
	return "the services of your computer and your network stay yours"
}

// notAllowed keeps the one word of allow that opens nothing of the user's. What is not known
// here is dropped, so that a new word is not let through.
func notAllowed(p strict.Item) string {
	switch {
	case p.Text == "nested-user-ns":
		return ""
	case slices.Contains(LayerWords(), p.Text):
		return "this layer stays on"
	}
	return "it stays hidden"
}

// revealing are patterns that show what a profile of the user's own that it extends hides.
func revealing(p strict.Item) string {
	if strings.HasPrefix(p.Text, "!") {
		return "what is hidden stays hidden"
	}
	return ""
}

func secret(p strict.Item) string {
	if LooksSecret(p.Text) {
		return "it looks like a secret"
	}
	return ""
}

// home gives it an empty one: it gets at nothing that other boxes left in theirs.
func (h *hardener) home(k strict.Key) {
	if f := k.Value; f.V == "own" {
		h.say(`%s = "own" becomes "isolated": nothing of its home stays`, k.Name)
		f.V = "isolated"
	}
}

func (h *hardener) mounts(k strict.Key) {
	k.Value.Items = slices.Clone(k.Value.Items)
	for i := range k.Value.Items {
		m := &k.Value.Items[i]
		if missing, _ := m.Get("missing"); missing.Text == "create" {
			h.say("%s: missing = \"create\" is ignored: a remote profile makes no folders", strict.Join("mounts", m.Key))
			m.Parts = keep(m.Parts, func(p strict.Item) bool { return p.Key != "missing" })
		}
	}
	k.Keep(func(e strict.Item) bool {
		dest, _ := e.Get("dest")
		why := foreign(e.Key, dest.Text)
		if allow, ok := e.Get("allow"); ok {
			why = cmp.Or(why, notAllowed(allow))
		}
		if why != "" {
			h.say("%s is dropped: %s", strict.Join("mounts", e.Key), why)
		}
		return why == ""
	})
}

// variables are values that use more than a remote profile may know of the environment.
func variables(p strict.Item) string { return foreign(p.Text) }

func foreign(values ...string) string {
	var asked []string
	x := expander{home: "/", workdir: "/", workspaces: "/", lookup: func(name string) (string, bool) {
		if _, ok := remoteLookup(func(string) (string, bool) { return "", true })(name); !ok && !slices.Contains(asked, name) {
			asked = append(asked, name)
		}
		return "", true
	}}
	for _, v := range values {
		_, _ = x.expand(v, tilde|vars|workdir|workspaces) // what is malformed is told when it is resolved
	}
	if len(asked) == 0 {
		return ""
	}
	return "a remote profile knows HOME, USER and UID, not " + strings.Join(asked, ", ")
}

// remoteLookup is the environment as a remote profile may know it.
func remoteLookup(lookup func(string) (string, bool)) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if name != "HOME" && name != "USER" {
			return "", false
		}
		return lookup(name)
	}
}
