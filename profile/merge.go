package profile

import (
	"slices"
	"strings"

	"github.com/enr/inner/profile/strict"
)

// merge puts child on top of base: see strict.Merge.
func merge(base, child *source) strict.Problems {
	// Two spellings of one decision are decided by whoever states either.
	if child.Sandbox.Network.Set || child.Sandbox.NetworkMode.Set {
		base.Sandbox.Network, base.Sandbox.NetworkMode = strict.Bool{}, strict.String{}
	}
	if mode := networkOf(&child.Sandbox); mode == NetOff || mode == NetFull {
		// A list of hosts belongs to the mode that reads it; exceptions stay.
		base.Sandbox.NetworkAllow.Keep(func(p strict.Item) bool { return refuses(p.Text) })
	}
	base.Sandbox.Allow.Keep(func(p strict.Item) bool { return !slices.Contains(child.without, p.Text) })
	base.former = slices.Concat(base.former, child.former)
	return strict.Merge(base, child)
}

// refuses reports whether an item of network_allow is a host that cannot be reached.
func refuses(item string) bool { return strings.HasPrefix(item, "!") }

// keep returns the items of a list that are to stay. The list itself, which others may share,
// is not changed.
func keep[T any](list []T, ok func(T) bool) []T {
	var out []T
	for _, x := range list {
		if ok(x) {
			out = append(out, x)
		}
	}
	return out
}
