package profile

import (
	"slices"
	"strings"

	"github.com/enr/inner/profile/gitignore"
)

// What two lists of grants differ in. Text is never compared: see Grant.

// atom is one thing that a list of grants gives or takes away.
type atom struct {
	kind, key, id string
	tightens      bool
}

func (x Grant) atom(id string) atom { return atom{x.Kind, x.Key, id, x.Tightens} }

// atoms are all that are recorded and compared: not what is the user's Own.
func atoms(list []Grant) map[atom]bool {
	all := map[atom]bool{}
	for _, g := range list {
		if len(g.Items) == 0 {
			all[g.atom("")] = true
		}
		for _, it := range g.Items {
			if !it.Own {
				all[g.atom(it.id())] = true
			}
		}
	}
	return all
}

// missing returns what is in a and not in b.
func missing(a, b []Grant) []Grant {
	have := atoms(b)
	a = keep(a, func(g Grant) bool { return len(g.Items) > 0 || !have[g.atom("")] })
	return Without(a, func(g Grant, it Item) bool { return it.Own || have[g.atom(it.id())] })
}

// Without is a list of grants without some of their items, and without those that have none left.
func Without(list []Grant, drop func(g Grant, it Item) bool) (out []Grant) {
	for _, g := range list {
		if len(g.Items) > 0 {
			if g.Items = keep(g.Items, func(it Item) bool { return !drop(g, it) }); g.Items == nil {
				continue
			}
			g.Render()
		}
		out = append(out, g)
	}
	return out
}

// DiffGrants tells what became wider and what narrower from old to new, each in
// stable order. A grant that Tightens and is gone is wider; a changed value is
// wider for its new form and narrower for its old one, but for what is less in any case: a lower limit, and
// a folder that is read, or copied, in the place of one that can be changed. Of a list only the items
// that changed are returned. Text does not count, nor what is the user's Own.
func DiffGrants(old, new []Grant) (wider, narrower []Grant) {
	gained, lost := missing(new, old), missing(old, new)
	sayHome(gained, &lost)
	gained, lost = Without(gained, changeable(old)), Without(lost, changeable(new))
	lost = Without(lost, func(g Grant, it Item) bool {
		return slices.ContainsFunc(gained, func(now Grant) bool {
			return now.Kind == "limit" && (now.Key == g.Key || g.Key == limitsLoose) && slices.ContainsFunc(now.Items, it.contains)
		})
	})
	for _, g := range gained {
		if g.Tightens {
			narrower = append(narrower, g)
		} else {
			wider = append(wider, g)
		}
	}
	is := func(key string) bool {
		return slices.ContainsFunc(gained, func(g Grant) bool { return g.Kind == "network" && g.Key == key })
	}
	full, off := is("full"), is(noNetwork)
	for _, g := range lost {
		switch {
		case g.Kind == "network" && (full && !g.Tightens || off && g.Tightens): // all is reached now, or nothing
		case !g.Tightens:
			narrower = append(narrower, g)
		case g.Key != noNetwork && g.Key != noHost: // what is there now says it
			wider = append(wider, g)
		}
	}
	return wider, narrower
}

// changeable reports of folders that are read, or copied, whether a list of grants has them to be changed.
func changeable(list []Grant) func(g Grant, it Item) bool {
	have := atoms(list)
	return func(g Grant, it Item) bool {
		return (g.Key == mountRO || g.Key == mountSafeRW) && have[atom{"writes", MountRW, it.id(), false}]
	}
}

// Changes says in words what became wider and what narrower, a line for each; what went away is said
// to be no longer there.
func Changes(wider, narrower []Grant) (lines []string) {
	for i, list := range [][]Grant{wider, narrower} {
		word := []string{"wider: ", "narrower: "}[i]
		for _, g := range list {
			if g.Tightens == (i == 0) {
				g.Text = "no longer: " + g.Text
			}
			lines = append(lines, word+g.Text)
		}
	}
	return lines
}

// sayHome sees to it that a listed home in the place of a whole one, and a minimal base in that of the
// host's, count as narrower, and that of the way back only the whole home is reported.
func sayHome(gained []Grant, lost *[]Grant) {
	of := func(list []Grant, listed bool) int {
		return slices.IndexFunc(list, func(g Grant) bool {
			return g.Kind == "reads" && strings.HasSuffix(g.Key, wholeHome.key) && strings.HasSuffix(g.Key, listedHome.key) == listed
		})
	}
	if now := of(gained, true); now >= 0 && of(*lost, false) >= 0 {
		gained[now].Tightens = true
	}
	for i, g := range gained {
		if rest, minimal := strings.CutPrefix(g.Key, "minimal "); minimal && g.Kind == "reads" {
			gained[i].Tightens = g.Tightens || slices.ContainsFunc(*lost, func(l Grant) bool { return l.Kind == "reads" && l.Key == "host "+rest })
		}
	}
	if was := of(*lost, true); was >= 0 && of(gained, false) >= 0 {
		*lost = slices.Delete(*lost, was, was+1)
	}
}

// AlignGrants compares grants that were allowed for the folder from with those that the same profile has now for
// the folder to, another worktree of the same repository: an item below from stands for the one at
// the same place below to. What is named by its own path, and not by its place in the worktree, stays what it is.
func AlignGrants(approved, now []Grant, from, to string) []Grant {
	have := atoms(now)
	return eachOf(approved, func(g Grant) Grant {
		g.Items = eachOf(g.Items, func(it Item) Item {
			if moved := it.moved(from, to); !have[g.atom(it.id())] && have[g.atom(moved.id())] {
				return moved
			}
			return it
		})
		return g
	})
}

// moved is an item with its place below one folder put below another.
func (it Item) moved(from, to string) Item {
	move := func(s string) string {
		pattern := strings.TrimPrefix(s, "!")
		mark := s[:len(s)-len(pattern)]
		for _, pair := range [][2]string{{from, to}, {gitignore.Escape(from), gitignore.Escape(to)}} {
			if rest, ok := strings.CutPrefix(pattern, pair[0]); ok && (rest == "" || rest[0] == '/') {
				return mark + pair[1] + rest
			}
		}
		return s
	}
	it.Path, it.At, it.ID = move(it.Path), move(it.At), move(it.ID)
	return it
}
