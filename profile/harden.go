package profile

import (
	"fmt"
	"slices"
	"strconv"
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
	h := hardener{src: &hard.src}
	for _, r := range keyRules() {
		r.remote(&h, r.key)
	}
	return &hard, h.lines
}

func reset(words string, field func(*source) *strict.String, bad ...string) func(*hardener, string) {
	return func(h *hardener, key string) {
		if f := field(h.src); slices.Contains(bad, f.V) || len(bad) == 0 && f.V != "" {
			h.say("%s = %q is ignored: %s", key, f.V, words)
			*f = strict.String{}
		}
	}
}

func switchOff(words string, danger bool, field func(*source) *strict.Bool) func(*hardener, string) {
	return func(h *hardener, key string) {
		if f := field(h.src); f.Set && f.V == danger {
			h.say("%s = %t is ignored: %s", key, f.V, words)
			*f = strict.Bool{}
		}
	}
}

func dropAll(words string, field func(*source) *strict.List) func(*hardener, string) {
	return func(h *hardener, key string) {
		for _, it := range field(h.src).Items {
			h.say("%s: %q is dropped: %s", key, it.Text, words)
		}
		*field(h.src) = strict.List{}
	}
}

type hardener struct {
	src   *source
	lines []string
}

func (h *hardener) say(format string, args ...any) {
	h.lines = append(h.lines, fmt.Sprintf(format, args...))
}

// networkAllow drops what host_ports is, and what shows the user's own network.
func (h *hardener) networkAllow(key string) {
	l := &h.src.Sandbox.NetworkAllow
	l.Items = keep(l.Items, func(it strict.Item) bool {
		if refuses(it) {
			return true
		}
		e, err := hosts.ParseAllow(it.Text)
		ok := err == nil && !e.Loopback() && !e.Range.IsValid()
		if !ok {
			h.say("%s: %q is dropped: the services of your computer and your network stay yours", key, it.Text)
		}
		return ok
	})
}

// allow keeps the one key that opens nothing of the user's. What is not known
// here is dropped, so that a new key is not let through.
func (h *hardener) allow(key string) {
	l := &h.src.Sandbox.Allow
	l.Items = keep(l.Items, func(it strict.Item) bool {
		ok := it.Text == "nested-user-ns"
		if !ok {
			why := "it stays hidden"
			if slices.Contains(LayerWords(), it.Text) {
				why = "this layer stays on"
			}
			h.say("%s: %q is dropped: %s", key, it.Text, why)
		}
		return ok
	})
}

// home gives it an empty one: it gets at nothing that other boxes left in theirs.
func (h *hardener) home(key string) {
	if f := &h.src.Sandbox.Home; f.V == "own" {
		h.say(`%s = "own" becomes "isolated": nothing of its home stays`, key)
		f.V = "isolated"
	}
}

// hide keeps it from showing what a profile of the user's own that it extends hides.
func (h *hardener) hide(key string) {
	l := &h.src.Sandbox.Hide
	l.Items = keep(l.Items, func(it strict.Item) bool {
		shows := strings.HasPrefix(it.Text, "!")
		if shows {
			h.say("%s: %q is dropped: what is hidden stays hidden", key, it.Text)
		}
		return !shows
	})
}

// record keeps it from leaving less behind than other runs.
func (h *hardener) record(key string) {
	if h.src.Output.Record.V == "audit" {
		h.say("%s = %q is ignored: its runs are recorded as your others are", key, "audit")
		h.src.Output.Record = strict.Switch{}
	}
}

func (h *hardener) inherit(key string) {
	l := &h.src.Env.Inherit
	l.Items = keep(l.Items, func(it strict.Item) bool {
		secret := LooksSecret(it.Text)
		if secret {
			h.say("%s: %q is dropped: it looks like a secret", key, it.Text)
		}
		return !secret
	})
}

func (h *hardener) list(key string, l *strict.List) {
	l.Items = keep(l.Items, func(it strict.Item) bool { return h.plain(key+": "+strconv.Quote(it.Text), it.Text) })
}

func (h *hardener) set(key string) {
	t := &h.src.Env.Set
	t.Entries = keep(t.Entries, func(e strict.Entry[string]) bool { return h.plain(strict.Join("env", "set", e.Key), e.Value) })
}

func (h *hardener) mounts(string) {
	t := &h.src.Mounts
	t.Entries = slices.Clone(t.Entries)
	for i := range t.Entries {
		if m := &t.Entries[i]; m.Value.Missing.V == "create" {
			h.say("%s: missing = \"create\" is ignored: a remote profile makes no folders", strict.Join("mounts", m.Key))
			m.Value.Missing = strict.String{}
		}
	}
	t.Entries = keep(t.Entries, func(e strict.Entry[mountSpec]) bool {
		return h.plain(strict.Join("mounts", e.Key), e.Key, e.Value.Dest.V)
	})
}

// plain reports whether values use only what a remote profile may know of the
// environment.
func (h *hardener) plain(what string, values ...string) bool {
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
	if len(asked) > 0 {
		h.say("%s is dropped: a remote profile knows HOME, USER and UID, not %s", what, strings.Join(asked, ", "))
	}
	return len(asked) == 0
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
