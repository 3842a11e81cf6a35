package consent

import (
	"slices"
	"strings"

	"github.com/enr/inner/profile"
)

// together is what several profiles grant, each thing once, with the names of those that have it where
// others do not. One list of grants is one profile's.
func together(names []string, lists [][]profile.Grant) (out []profile.Grant) {
	whose := map[[2]string][]string{}
	for i, list := range lists {
		for _, g := range list {
			at := slices.IndexFunc(out, func(o profile.Grant) bool { return o.Words == g.Words })
			if at < 0 {
				at = len(out)
				out = append(out, g)
				out[at].Items = nil
			}
			for _, it := range append([]profile.Item{{}}, g.Items...) { // first that it is of this profile at all
				thing := [2]string{g.Words, it.Text}
				if whose[thing] == nil && it.Text != "" {
					out[at].Items = append(out[at].Items, it)
				}
				if !slices.Contains(whose[thing], names[i]) {
					whose[thing] = append(whose[thing], names[i])
				}
			}
		}
	}
	all := strings.Join(names, ", ")
	for i := range out {
		g := &out[i]
		things := map[string][]profile.Item{}
		var sets []string // of profiles
		for _, it := range g.Items {
			of := strings.Join(whose[[2]string{g.Words, it.Text}], ", ")
			if things[of] = append(things[of], it); len(things[of]) == 1 {
				sets = append(sets, of)
			}
		}
		slices.SortStableFunc(sets, func(a, b string) int { return strings.Count(b, ",") - strings.Count(a, ",") })
		for j, of := range sets {
			text := (&profile.Grant{Items: things[of]}).List()
			switch {
			case of == all && len(sets) > 1:
				of = "all"
			case of == all || of == text:
				of = ""
			}
			if sets[j] = text; of != "" {
				sets[j] += " (" + of + ")"
			}
		}
		switch of := strings.Join(whose[[2]string{g.Words, ""}], ", "); {
		case len(sets) > 0:
			g.Text = g.Words + ": " + strings.Join(sets, "; ")
		case of != all:
			g.Text = of + ": " + g.Words
		}
	}
	return out
}
