package profile

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestKeysSayTheirGrants: what a profile adds to the grants of a box comes from one of its lines. A key without a
// profile in testdata/keys.txtar fails.
func TestKeysSayTheirGrants(t *testing.T) {
	texts := keySamples(t)
	grants := func(text string) (p *Profile, list []Grant, err error) {
		w, p := resolveWorld(t, text)
		rc, err := p.Resolve(w.context())
		list = Grants(rc)
		for i := range list { // each has a home folder of its own
			list[i].Text = strings.ReplaceAll(list[i].Text, w.home, "~")
		}
		return p, list, err
	}
	_, plain, err := grants("")
	must(t, err)
	for _, r := range keyRules() {
		if len(texts[r.key]) == 0 {
			t.Errorf("testdata/keys.txtar has no profile for %s", r.key)
		}
		resolved := 0
		for _, text := range texts[r.key] {
			p, list, err := grants(text)
			if err != nil { // a folder that is not here
				continue
			}
			resolved++
			for _, g := range without(list, plain) {
				if len(p.OriginsOf(g)) == 0 {
					t.Errorf("a profile for %s changes a grant that comes from none of its lines: %s (%s)", r.key, g.Kind, g.Text)
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
