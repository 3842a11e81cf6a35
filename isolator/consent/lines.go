package consent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/enr/inner/profile"
)

// line is one grant, or one item of it, of some of the profiles.
type line struct {
	grant profile.Grant // with at most one item
	of    []string      // the profiles, in order
}

// lines takes grants apart into items, each once, with the profiles that have it.
type lines struct {
	list  []line
	index map[string]int
}

func (l *lines) add(name string, grants []profile.Grant) {
	for _, g := range grants {
		items := g.Items
		if len(items) == 0 {
			items = []profile.Item{{}}
		}
		for _, it := range items {
			one := g
			if one.Items = nil; len(g.Items) > 0 {
				one.Items = []profile.Item{it}
			}
			key := fmt.Sprint(g.Tightens, "\x00", g.Words, "\x00", it.Text)
			i, known := l.index[key]
			if !known {
				if l.index == nil {
					l.index = map[string]int{}
				}
				i = len(l.list)
				l.index[key] = i
				l.list = append(l.list, line{grant: one})
			}
			if !slices.Contains(l.list[i].of, name) {
				l.list[i].of = append(l.list[i].of, name)
			}
		}
	}
}

// verb is a sort of grant: what can be changed, read, reached. Its parts are the items,
// by the profiles that have them.
type verb struct {
	grant profile.Grant // without items
	parts []part
}

type part struct {
	of    []string
	items []profile.Item // none when the grant has none
}

// verbs puts the lines together again: for each sort what all have stands first.
func (l *lines) verbs() []verb {
	var out []verb
	for _, x := range l.list {
		i := slices.IndexFunc(out, func(v verb) bool {
			return v.grant.Words == x.grant.Words && v.grant.Tightens == x.grant.Tightens && len(x.grant.Items) > 0 && len(v.parts[0].items) > 0
		})
		if i < 0 {
			i = len(out)
			v := verb{grant: x.grant}
			v.grant.Items = nil
			out = append(out, v)
		}
		v := &out[i]
		j := slices.IndexFunc(v.parts, func(p part) bool { return slices.Equal(p.of, x.of) })
		if j < 0 {
			j = len(v.parts)
			v.parts = append(v.parts, part{of: x.of})
		}
		v.parts[j].items = append(v.parts[j].items, x.grant.Items...)
	}
	for _, v := range out {
		slices.SortStableFunc(v.parts, func(a, b part) int { return cmp.Compare(len(b.of), len(a.of)) })
	}
	return out
}

// text is a verb in words, of so many profiles. Items say in brackets whose they are,
// where not all are everybody's.
func (v verb) text(all int) string {
	if len(v.parts) == 1 {
		g := v.grant
		g.Items = v.parts[0].items
		g.Render()
		if of := v.parts[0].of; len(of) < all {
			return strings.Join(of, ", ") + ": " + g.Text
		}
		return g.Text
	}
	var parts []string
	for _, p := range v.parts {
		g := v.grant
		g.Items = p.items
		text := g.Words
		if len(g.Items) > 0 {
			text = g.List()
		}
		switch {
		case len(p.of) == all:
			text += " (all)"
		case len(p.of) > 1 || p.of[0] != text:
			text += " (" + strings.Join(p.of, ", ") + ")"
		}
		parts = append(parts, text)
	}
	return v.grant.Words + ": " + strings.Join(parts, "; ")
}
