package profile

import (
	"slices"

	"github.com/enr/inner/profile/strict"
)

// Written returns the keys that the profile and what it extends set, in their order.
func (p *Profile) Written() []strict.Key {
	return keep(p.src.Keys(), func(k strict.Key) bool { return k.Parts() != nil })
}

// Portable returns the profile merged with everything it extends, as the text of one
// profile that extends nothing, without the keys named and with no word of the files it
// was read from. inherit are variables that it is given besides. The text depends on the
// profile alone.
//
// proc, unless it is "", is what /proc is where the profile leaves it to what works.
func (p *Profile) Portable(without, inherit []string, proc string) string {
	e := &encoder{bare: true}
	src := p.src.Clone()
	if v := src.Value("sandbox.proc"); proc != "" && (!v.Set || v.V == "auto") {
		v.V, v.Set = proc, true
	}
	list := src.Value("env.inherit")
	list.Items = slices.Clone(list.Items)
	for _, name := range inherit {
		if !slices.Contains(list.Texts(), name) {
			list.Items, list.Set = append(list.Items, strict.Item{Text: name}), true
		}
	}
	return e.file(&src, append(without, "extends"))
}
