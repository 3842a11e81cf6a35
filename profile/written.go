package profile

import (
	"cmp"
	"slices"

	"github.com/enr/inner/profile/strict"
)

// Written is a key that a merged profile has.
type Written struct {
	Key    string   // as in the manual, such as sandbox.network_allow
	Values []string // of a list its items, of a table its keys, else the value
	Pairs  []KV     // of a table: its entries, of [mounts] with the mode for a value
	At     strict.Pos
}

// Value is the value of a key that has one.
func (w Written) Value() string {
	if len(w.Values) == 0 {
		return ""
	}
	return w.Values[0]
}

// Keys lists every key of the language, in the order of the schema.
func Keys() []string { return eachOf(strict.Keys(&source{}), strict.Key.Name) }

// Written returns the keys that the profile and what it extends set, in the order of the schema.
func (p *Profile) Written() (out []Written) {
	for _, k := range strict.Keys(&p.src) {
		w := Written{Key: k.Name()}
		for _, v := range k.Value.Parts() {
			if w.At = v.At; v.Key == "" {
				w.Values = append(w.Values, v.Text)
				continue
			}
			if w.Key == "mounts" {
				v.Text = cmp.Or(v.Text, string(RO))
			}
			w.Values, w.Pairs = append(w.Values, v.Key), append(w.Pairs, KV{v.Key, v.Text})
		}
		if list, ok := k.Value.(*strict.List); ok {
			w.At = list.At
		}
		if w.Values != nil {
			out = append(out, w)
		}
	}
	return out
}

// Portable returns the profile merged with everything it extends, as the text of one
// profile that extends nothing, without the keys named and with no word of the files it
// was read from. inherit are variables that it is given besides. The text depends on the
// profile alone.
//
// proc, unless it is "", is what /proc is where the profile leaves it to what works.
func (p *Profile) Portable(without, inherit []string, proc string) string {
	e := &encoder{bare: true}
	src := p.src
	if v := &src.Sandbox.Proc; proc != "" && (!v.Set || v.V == "auto") {
		v.V, v.Set = proc, true
	}
	list := &src.Env.Inherit
	list.Items = slices.Clone(list.Items)
	for _, name := range inherit {
		if !slices.Contains(list.Texts(), name) {
			list.Items, list.Set = append(list.Items, strict.Item{Text: name}), true
		}
	}
	return e.file(&src, append(without, "extends"))
}
