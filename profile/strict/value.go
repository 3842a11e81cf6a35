package strict

import (
	"slices"
	"strconv"
	"strings"
)

// Kind is what may be written for a key.
type Kind int

// The kinds. Those before AList are one value.
const (
	AText   Kind = iota
	ABool        // true or false
	AnInt        // a whole number
	ANumber      // "512M" or 512
	ASwitch      // true, false or a word
	AList        // of strings
	AWord        // a string, or a list of strings
	ATable       // with free keys
	Rows         // a list of tables, written inline or as [[name]]
)

// Value is what is written for a key.
type Value struct {
	V     string // of one value: its text
	Items []Item // of a list its items, of a table its entries, in file order
	Place
}

// Place says whether and where a setting is written. Set tells a written false from a missing key.
type Place struct {
	Set bool
	At  Pos
}

// Item is one item of a list, or one entry of a table.
type Item struct {
	Key   string // of an entry
	Text  string // of an entry that is a table itself, what a plain string would be; of a row, its first key's
	At    Pos
	Parts []Item // of an entry or row that is a table its keys, of an entry that is a list its items
	List  bool   // of an entry: it is a list
}

// On reports whether a boolean is true.
func (x Value) On() bool { return x.V == "true" }

// Int is a whole number.
func (x Value) Int() int64 {
	n, _ := strconv.ParseInt(x.V, 10, 64)
	return n
}

// Or returns what is written, or a default.
func (x Value) Or(otherwise string) string {
	if x.Set {
		return x.V
	}
	return otherwise
}

// Texts returns the items without their places; nil when there are none.
func (x Value) Texts() []string { return texts(x.Items) }

// Texts are those of an entry that is a list, or its one.
func (it Item) Texts() []string {
	if it.List {
		return texts(it.Parts)
	}
	return []string{it.Text}
}

func texts(items []Item) (out []string) {
	for _, it := range items {
		out = append(out, it.Text)
	}
	return out
}

// Get returns the entry of a key.
func (x Value) Get(key string) (entry Item, ok bool) { return find(x.Items, key) }

// Get returns the key of an entry that is a table; ok is false where it is not written.
func (it Item) Get(key string) (part Item, ok bool) { return find(it.Parts, key) }

func find(items []Item, key string) (Item, bool) {
	i := slices.IndexFunc(items, func(it Item) bool { return it.Key == key })
	if i < 0 {
		return Item{}, false
	}
	return items[i], true
}

// Keep takes out the items that ok is not true of. A value that has none left is not written. The
// list, which others may share, stays as it is.
func (x *Value) Keep(ok func(Item) bool) {
	var kept []Item
	for _, it := range x.Items {
		if ok(it) {
			kept = append(kept, it)
		}
	}
	if len(kept) < len(x.Items) {
		x.Items, x.Set = kept, kept != nil
	}
}

// merge puts a child's value on top.
func (k Key) merge(child *Value, problems *Problems) {
	x, how := k.Value, k.Merge
	switch {
	case how == "own", child.Set && (how == "replace" || k.Kind < AList):
		*x = *child
	case child.Set && k.Kind == Rows:
		*x = Value{Place: child.Place, Items: slices.Concat(x.Items, child.Items)}
	case child.Set:
		*x = Value{Place: child.Place, Items: k.united(x.Items, child.Items, how == "first", problems)}
	}
}

// united are the items of a base and its child, each name once. One that the child removes and no
// base has is a problem, also for the profile at the root of a chain, whose base is empty.
func (k Key) united(base, child []Item, first bool, problems *Problems) (out []Item) {
	name := func(it Item) string {
		if k.Kind == ATable {
			return it.Key
		}
		return it.Text
	}
	var have []string
	for _, it := range base {
		have = append(have, name(it))
	}
	gone := map[string]bool{}
	var added []Item
	for _, it := range child {
		removed, removes := Removal(name(it))
		switch {
		case !removes:
			added = append(added, it)
			continue
		case !slices.Contains(have, removed) && !problems.Full():
			problems.Add(it.At, k.Name, quote(name(it))+" removes nothing: no profile this one extends lists "+quote(removed), Meant("-", removed, have))
		}
		gone[removed] = true
	}
	stays := Value{Items: base}
	stays.Keep(func(it Item) bool { return !gone[name(it)] })
	all := slices.Concat(stays.Items, added)
	if first {
		all = slices.Concat(added, stays.Items)
	}
	place := map[string]int{}
	for _, it := range all {
		if i, known := place[name(it)]; !known {
			place[name(it)] = len(out)
			out = append(out, it)
		} else if k.Kind == ATable { // at its place, as the child has it
			out[i] = it
		}
	}
	return out
}

// TOML is one part of the key as it would be written.
func (k Key) TOML(it Item) string {
	switch {
	case it.List && k.Kind == AList:
		var list []string
		for _, text := range texts(it.Parts) {
			list = append(list, Quote(text))
		}
		return "[" + strings.Join(list, ", ") + "]"
	case k.Kind == ABool, k.Kind == AnInt, k.Kind == ASwitch && (it.Text == "true" || it.Text == "false"):
		return it.Text
	case k.Kind != ATable || k.Of == nil:
		return Quote(it.Text)
	}
	var parts []string
	for _, of := range k.Of {
		if part, ok := it.Get(of.Name); ok {
			parts = append(parts, of.Name+" = "+of.TOML(part))
		}
	}
	if parts == nil {
		return "{}"
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}
