package profile

import (
	"slices"
	"strings"

	"github.com/enr/inner/profile/gitignore"
)

// What two lists of grants differ in. Text is never compared: see Grant.

// DiffGrants tells what became wider and what narrower from old to new, each in
// stable order. A grant that Tightens and is gone is wider; a changed value is
// wider for its new form and narrower for its old one. Of a list only the items
// that changed are returned. Text does not count, nor what is the user's Own.
func DiffGrants(old, new []Grant) (wider, narrower []Grant) {
	gained, lost := missing(new, old), missing(old, new)
	sayHome(gained, &lost)
	for _, g := range gained {
		if g.Tightens {
			narrower = append(narrower, g)
		} else {
			wider = append(wider, g)
		}
	}
	for _, g := range lost {
		switch {
		case !g.Tightens:
			narrower = append(narrower, g)
		case g.Key != noNetwork: // the network that is there now says it
			wider = append(wider, g)
		}
	}
	return wider, narrower
}

// sayHome sees to it that a listed home in the place of a whole one counts as narrower,
// and that of the way back only the whole home is reported.
func sayHome(gained []Grant, lost *[]Grant) {
	of := func(list []Grant, listed bool) int {
		return slices.IndexFunc(list, func(g Grant) bool {
			return g.Kind == "reads" && strings.HasSuffix(g.Key, wholeHome.key) && strings.HasSuffix(g.Key, listedHome.key) == listed
		})
	}
	if now := of(gained, true); now >= 0 && of(*lost, false) >= 0 {
		gained[now].Tightens = true
	}
	if was := of(*lost, true); was >= 0 && of(gained, false) >= 0 {
		*lost = slices.Delete(*lost, was, was+1)
	}
}

// AlignGrants puts grants that were allowed for the folder from in the words of those that
// the same profile has now for the folder to, another worktree of the same repository: an
// item below from stands for the one at the same place below to. What is named by its own
// path, and not by its place in the worktree, stays what it is.
func AlignGrants(approved, now []Grant, from, to string) []Grant {
	if from == to {
		return approved
	}
	out := slices.Clone(approved)
	for i := range out {
		g := &out[i]
		var same []Item
		for _, n := range now {
			if n.Kind == g.Kind && n.Key == g.Key && n.Tightens == g.Tightens {
				same = append(same, n.Items...)
			}
		}
		var items []Item
		for _, it := range g.Items {
			before := len(items)
			for _, n := range same {
				if it.id() == n.id() || it.id() == n.moved(to, from).id() {
					items = append(items, n)
				}
			}
			if len(items) == before {
				items = append(items, it)
			}
		}
		g.Items = items
	}
	return out
}

// moved is an item with its place below one folder put below another.
func (it Item) moved(from, to string) Item {
	move := func(s string) string {
		mark := ""
		if rest, ok := strings.CutPrefix(s, "!"); ok { // of a pattern
			mark, s = "!", rest
		}
		if rest, ok := strings.CutPrefix(s, from); ok && (rest == "" || rest[0] == '/') {
			return mark + to + rest
		}
		if rest, ok := strings.CutPrefix(s, gitignore.Escape(from)); ok && (rest == "" || rest[0] == '/') {
			return mark + gitignore.Escape(to) + rest
		}
		return mark + s
	}
	it.Path, it.At, it.ID = move(it.Path), move(it.At), move(it.ID)
	return it
}

// missing returns what is in a and not in b.
func missing(a, b []Grant) []Grant {
	type atom struct {
		kind, key, id string
		tightens      bool
	}
	have := map[atom]bool{}
	for _, g := range b {
		have[atom{g.Kind, g.Key, "", g.Tightens}] = len(g.Items) == 0
		for _, it := range g.Items {
			if !it.Own {
				have[atom{g.Kind, g.Key, it.id(), g.Tightens}] = true
			}
		}
	}
	var out []Grant
	for _, g := range a {
		if len(g.Items) == 0 {
			if !have[atom{g.Kind, g.Key, "", g.Tightens}] {
				out = append(out, g)
			}
			continue
		}
		g.Items = slices.DeleteFunc(slices.Clone(g.Items), func(it Item) bool {
			return it.Own || have[atom{g.Kind, g.Key, it.id(), g.Tightens}]
		})
		if len(g.Items) > 0 {
			g.Render()
			out = append(out, g)
		}
	}
	return out
}
