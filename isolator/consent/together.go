package consent

import (
	"cmp"
	"slices"
	"strings"

	"github.com/enr/inner/profile"
)

// together is what several profiles grant, each sort once: what all have, then what some have, with
// their names. One list of grants is one profile's.
func together(names []string, lists [][]profile.Grant) (out []profile.Grant) {
	type item struct{ words, text string }
	var order []item
	whose := map[item][]string{}
	for i, list := range lists {
		for _, g := range list {
			if !slices.ContainsFunc(out, func(o profile.Grant) bool { return o.Words == g.Words }) {
				out = append(out, g)
			}
			items := g.Items
			if len(items) == 0 {
				items = []profile.Item{{}}
			}
			for _, it := range items {
				key := item{g.Words, it.Text}
				if whose[key] == nil {
					order = append(order, key)
				}
				if !slices.Contains(whose[key], names[i]) {
					whose[key] = append(whose[key], names[i])
				}
			}
		}
	}
	for i := range out {
		var parts []part
		for _, it := range order {
			if it.words == out[i].Words {
				parts = share(parts, whose[it], it.text)
			}
		}
		slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(len(b.of), len(a.of)) })
		out[i].Text = inWords(out[i], parts, len(names))
	}
	return out
}

// part is what the same profiles have of a sort of grant.
type part struct {
	of    []string
	items []profile.Item
}

// share puts an item with those of the same profiles.
func share(parts []part, of []string, text string) []part {
	i := slices.IndexFunc(parts, func(p part) bool { return slices.Equal(p.of, of) })
	if i < 0 {
		i, parts = len(parts), append(parts, part{of: of})
	}
	parts[i].items = append(parts[i].items, profile.Item{Text: text})
	return parts
}

// inWords is one sort of grant, of so many profiles in all.
func inWords(g profile.Grant, parts []part, all int) string {
	if len(parts) == 1 {
		if len(g.Items) > 0 {
			g.Items = parts[0].items
		}
		g.Render()
		if of := parts[0].of; len(of) < all {
			return strings.Join(of, ", ") + ": " + g.Text
		}
		return g.Text
	}
	var texts []string
	for _, p := range parts {
		g.Items = p.items
		text := g.List()
		switch {
		case len(p.of) == all:
			text += " (all)"
		case len(p.of) > 1 || p.of[0] != text:
			text += " (" + strings.Join(p.of, ", ") + ")"
		}
		texts = append(texts, text)
	}
	return g.Words + ": " + strings.Join(texts, "; ")
}
