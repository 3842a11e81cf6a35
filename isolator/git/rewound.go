package git

import (
	"context"
	"slices"
	"strings"
)

// Rewound returns the refs that a run moved and whose earlier value is not part of the new one: refs that were deleted, tags that
// name something else, and branches that were forced. moved is what all exchanges of the run moved, in order. It leaves out refs
// that the run itself made, and remote branches, which follow another repository. When in doubt, because time ran out or an
// object is missing, a ref is included.
func (c *Copy) Rewound(ctx context.Context, moved []Change) []Change {
	var list []Change
	for _, ch := range moved {
		i := slices.IndexFunc(list, func(l Change) bool { return l.Repo == ch.Repo && l.Ref == ch.Ref })
		if i < 0 {
			list = append(list, ch)
		} else {
			list[i].New = ch.New
		}
	}
	list = slices.DeleteFunc(list, func(ch Change) bool {
		return ch.Old == "" || ch.Old == ch.New || hasPrefix(ch.Ref, "refs/remotes")
	})
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	for _, u := range c.meta.Units {
		of := func(ch Change) bool { return ch.Repo == u.Common }
		if !slices.ContainsFunc(list, func(ch Change) bool { return of(ch) && ch.New != "" }) {
			continue
		}
		has, done := c.contains(ctx, u)
		asked := 0
		list = slices.DeleteFunc(list, func(ch Change) bool {
			if !of(ch) || ch.New == "" || hasPrefix(ch.Ref, "refs/tags") {
				return false
			}
			asked++
			return asked <= maxAsked && has(ch)
		})
		done()
	}
	return list
}

// contains returns a function that reports whether the history of a ref's new value includes the old one. done releases it.
func (c *Copy) contains(ctx context.Context, u *unit) (has func(Change) bool, done func()) {
	none := func(Change) bool { return false }
	host, box, err := c.openUnit(u)
	if err != nil {
		return none, func() {}
	}
	box.close()
	p, err := c.newPlumbing(u, host)
	if err != nil {
		return none, host.close
	}
	return func(ch Change) bool {
		if ch.Ref == stashRef {
			log, err := host.read("logs/"+stashRef, maxLog)
			return err == nil && strings.Contains(string(log), " "+ch.Old+" ")
		}
		return p.run(ctx, call{args: []string{"merge-base", "--is-ancestor", ch.Old, ch.New}}) == nil
	}, func() { p.store.close(); host.close() }
}
