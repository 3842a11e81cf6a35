package profile

import (
	"slices"

	"github.com/enr/inner/profile/strict"
)

// Written returns the keys that the profile and what it extends set, in their order.
func (p *Profile) Written() []strict.Key {
	return keep(p.src.Keys(), func(k strict.Key) bool { return k.Parts() != nil })
}

// Source returns what the profile and everything it extends say.
func (p *Profile) Source() strict.Doc { return p.src.Clone() }

// Merged is Source without mounts whose place a later file gives to another.
func (p *Profile) Merged(c Context) strict.Doc {
	r := &resolver{c: c, s: &p.src, x: expander{home: c.Home, uid: c.UID, lookup: c.Lookup}}
	r.workspaces()
	r.baseFolder(p.Scope)
	r.mounts()
	doc := p.Source()
	mounts := doc.Value("mounts")
	mounts.Items = keep(mounts.Items, func(e strict.Item) bool {
		_, ok := r.mount(e) // or else its place cannot be told
		return !ok || slices.ContainsFunc(r.rc.Mounts, func(m Mount) bool { return m.Written == e.Key })
	})
	return doc
}
