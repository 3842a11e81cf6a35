package profile

import (
	"slices"
	"strings"

	"github.com/enr/inner/profile/strict"
)

// merge puts child on top of base: see strict.Doc.
func merge(base, child *source) strict.Problems {
	// Two spellings of one decision are decided by whoever states either.
	if networkOf(child) != "" {
		*base.Value("sandbox.network"), *base.Value("sandbox.network_mode") = strict.Value{}, strict.Value{}
	}
	if mode := networkOf(child); mode == NetOff || mode == NetFull {
		// A list of hosts belongs to the mode that reads it; exceptions stay.
		base.Value("sandbox.network_allow").Keep(func(p strict.Item) bool { return refuses(p.Text) })
	}
	base.Value("sandbox.allow").Keep(func(p strict.Item) bool { return !slices.Contains(child.without, p.Text) })
	base.former = slices.Concat(base.former, child.former)
	return base.Merge(child.Doc)
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
