package profile

import (
	"reflect"
	"slices"
	"strings"

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
func Keys() []string {
	var out []string
	walkKeys(reflect.ValueOf(&source{}).Elem(), nil, func(key string, _ any) { out = append(out, key) })
	return out
}

// Written returns the keys that the profile and what it extends set, in the order of the schema.
func (p *Profile) Written() []Written {
	var out []Written
	src := p.src
	walkKeys(reflect.ValueOf(&src).Elem(), nil, func(key string, x any) {
		if w, ok := written(x); ok {
			w.Key = key
			out = append(out, w)
		}
	})
	return out
}

// walkKeys calls f for every key below a struct of the schema, with a pointer to its value.
func walkKeys(v reflect.Value, path []string, f func(key string, x any)) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Anonymous || !field.IsExported() { // of the version before
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("toml"), ",")
		sub := append(slices.Clip(path), name)
		if strings.HasSuffix(field.Type.PkgPath(), "/strict") {
			f(strings.Join(sub, "."), v.Field(i).Addr().Interface())
		} else {
			walkKeys(v.Field(i), sub, f)
		}
	}
}

func written(x any) (w Written, set bool) {
	for _, v := range parts(x) {
		w.At = v.at
		switch x.(type) {
		case *strict.Table[string], *strict.Table[mountSpec]:
			w.Values, w.Pairs = append(w.Values, v.key), append(w.Pairs, KV{v.key, v.value})
		default:
			w.Values = append(w.Values, v.value)
		}
	}
	if list, ok := x.(*strict.List); ok {
		w.At = list.At
	}
	return w, len(w.Values) > 0
}

// Portable returns the profile merged with everything it extends, as the text of one
// profile that extends nothing, without the keys named and with no word of the files it
// was read from. inherit are variables that it is given besides. The text depends on the
// profile alone.
//
// proc, unless it is "", is what /proc is where the profile leaves it to what works.
func (p *Profile) Portable(without, inherit []string, proc string) string {
	e := &encoder{bare: true, without: without}
	src := p.src
	src.Extends = strict.String{}
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
	e.table(reflect.ValueOf(&src).Elem(), nil)
	return e.b.String()
}
