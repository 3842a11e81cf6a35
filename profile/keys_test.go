package profile

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/profile/strict"
)

// TestKeysSayTheirGrants: what a profile adds to the grants of a box, or takes from them, is of
// the kinds that the rows of its keys name. A key without a profile in testdata/keys.txtar fails.
func TestKeysSayTheirGrants(t *testing.T) {
	texts := keySamples(t)
	grants := func(text string) (list []Grant, kinds []string, err error) {
		w, p := resolveWorld(t, text)
		rc, err := p.Resolve(w.context())
		for _, r := range keyRules() {
			if slices.ContainsFunc(p.Written(), func(k strict.Key) bool { return k.Name == r.key }) {
				kinds = append(kinds, strings.Fields(r.grants)...)
			}
		}
		list = Grants(rc)
		for i := range list { // each has a home folder of its own
			list[i].Text = strings.ReplaceAll(list[i].Text, w.home, "~")
		}
		return list, kinds, err
	}
	plain, _, err := grants("")
	must(t, err)
	for _, r := range keyRules() {
		if len(texts[r.key]) == 0 {
			t.Errorf("testdata/keys.txtar has no profile for %s", r.key)
		}
		resolved := 0
		for _, text := range texts[r.key] {
			list, kinds, err := grants(text)
			if err != nil { // a folder that is not here
				continue
			}
			resolved++
			for _, g := range append(without(list, plain), without(plain, list)...) {
				if !slices.Contains(kinds, g.Kind) {
					t.Errorf("a profile for %s changes a grant that no row of its keys names: %s (%s)", r.key, g.Kind, g.Text)
				}
			}
		}
		if resolved == 0 && len(texts[r.key]) > 0 {
			t.Errorf("no profile for %s in testdata/keys.txtar resolves", r.key)
		}
	}
}

// keySamples are the profiles of testdata/keys.txtar, by key.
func keySamples(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("testdata/keys.txtar")
	must(t, err)
	texts := map[string][]string{}
	for _, part := range strings.Split("\n"+string(data), "\n-- ")[1:] {
		key, text, _ := strings.Cut(part, " --\n")
		texts[key] = append(texts[key], text)
	}
	return texts
}

// without are the grants of one list that another does not have.
func without(list, other []Grant) []Grant {
	return slices.DeleteFunc(slices.Clone(list), func(g Grant) bool {
		return slices.ContainsFunc(other, func(o Grant) bool { return o.Kind == g.Kind && o.Text == g.Text })
	})
}
