package strict

import (
	"fmt"
	"slices"
)

// Place says whether and where a setting is written. Set tells a written false from a missing key.
type Place struct {
	Set bool
	At  Pos
}

// Written reports whether the setting is written, and where.
func (x *Place) Written() (at Pos, ok bool) { return x.At, x.Set }

// Value is one setting.
type Value[T any] struct {
	V T
	Place
}

// Scalar is the text of a value that may be written as a string or a number.
type Scalar string

// Choice is the text of a value that may be written as a word, or as true or false.
type Choice string

// The settings a schema is made of.
type (
	String = Value[string]
	Bool   = Value[bool]
	Int    = Value[int64]
	Number = Value[Scalar] // "512M" or 512
	Switch = Value[Choice] // true, false or "audit"
)

// List is a list of strings.
type List struct {
	Items []Item
	Place
}

// Item is one entry of a list.
type Item struct {
	Text string
	At   Pos
}

// Words is a string, or a list of strings where Listed is true.
type Words struct {
	List
	Listed bool
}

// Texts returns the items without their places; nil when there are none.
func (x List) Texts() []string {
	if len(x.Items) == 0 {
		return nil
	}
	out := make([]string, len(x.Items))
	for i, it := range x.Items {
		out[i] = it.Text
	}
	return out
}

// Table is a table whose keys are free. Entries are in file order. The values
// are strings or structs; a struct field tagged `toml:"name,short"` makes
// key = "text" mean key = { name = "text" }.
type Table[T any] struct {
	Entries []Entry[T]
	Place
}

// Entry is one key of a Table.
type Entry[T any] struct {
	Key   string
	Value T
	At    Pos
}

// Get returns the value of a key.
func (x Table[T]) Get(key string) (value T, ok bool) {
	for _, e := range x.Entries {
		if e.Key == key {
			return e.Value, true
		}
	}
	return value, false
}

// Keys returns the keys, in file order.
func (x Table[T]) Keys() []string {
	out := make([]string, len(x.Entries))
	for i, e := range x.Entries {
		out[i] = e.Key
	}
	return out
}

// Tables is a list of tables, written inline or as [[name]].
type Tables[T any] struct {
	Rows []T
	Place
}

func (x *Value[T]) decode(d *decoder, n *node, path []string) {
	if d.scalar(&x.V, n, path) {
		x.Place = Place{true, d.pos(n)}
	}
}

func (x *Words) decode(d *decoder, n *node, path []string) {
	if x.Listed = n.what == "a list"; x.Listed {
		x.List.decode(d, n, path)
		return
	}
	var s string
	if d.scalar(&s, n, path) {
		x.Place = Place{true, d.pos(n)}
		x.Items = []Item{{Text: s, At: x.At}}
	}
}

func (x *List) decode(d *decoder, n *node, path []string) {
	if n.what != "a list" {
		hint := ""
		if s, ok := n.value.(string); ok && len(s) < 40 {
			hint = "write [" + quote(s) + "]"
		}
		d.wrong(n, path, "a list of strings", hint)
		return
	}
	x.Place = Place{true, d.pos(n)}
	for i, kid := range n.kids {
		if s, ok := kid.value.(string); !ok {
			d.add(kid, path, "wants a list of strings, item "+itoa(i+1)+" is "+kid.what, "")
		} else if d.clean(kid, path, s) {
			x.Items = append(x.Items, Item{Text: s, At: d.pos(kid)})
		}
	}
}

func (x *Table[T]) decode(d *decoder, n *node, path []string) {
	if n.what != "a table" {
		d.wrong(n, path, "a table", "")
		return
	}
	x.Place = Place{true, d.pos(n)}
	d.each(n, path, func(kid *node, sub []string) {
		e := Entry[T]{Key: kid.key, At: d.pos(kid)}
		before := len(d.problems)
		d.into(&e.Value, kid, sub)
		if len(d.problems) == before && !d.problems.Full() {
			x.Entries = append(x.Entries, e)
		}
	})
}

func (x *Tables[T]) decode(d *decoder, n *node, path []string) {
	if n.what != "a list" && n.what != "a list of tables" {
		d.wrong(n, path, "a list of tables", "")
		return
	}
	x.Place = Place{true, d.pos(n)}
	for i, kid := range n.kids {
		if kid.what != "a table" {
			d.add(kid, path, "wants a list of tables, item "+itoa(i+1)+" is "+kid.what, "")
			continue
		}
		var t T
		d.into(&t, kid, path)
		x.Rows = append(x.Rows, t)
	}
}

// Parts is the value.
func (x *Value[T]) Parts() []Part {
	if !x.Set {
		return nil
	}
	text := fmt.Sprint(x.V)
	toml := Quote(text)
	switch any(x.V).(type) {
	case bool, int64:
		toml = text
	case Choice:
		if text == "true" || text == "false" {
			toml = text
		}
	}
	return []Part{{Text: text, TOML: toml, At: x.At}}
}

// Parts are the items.
func (x *List) Parts() (list []Part) {
	for _, it := range x.Items {
		list = append(list, Part{Text: it.Text, TOML: Quote(it.Text), At: it.At})
	}
	return list
}

// Parts are the entries.
func (x *Table[T]) Parts() (list []Part) {
	for _, e := range x.Entries {
		text, toml := inline(&e.Value)
		list = append(list, Part{Key: e.Key, Text: text, TOML: toml, At: e.At})
	}
	return list
}

// Parts are the tables, each with its first value.
func (x *Tables[T]) Parts() (list []Part) {
	for i := range x.Rows {
		p := Part{Rows: Keys(&x.Rows[i])}
		if first := p.Rows[0].Value.Parts(); first != nil {
			p.Text, p.TOML, p.At = first[0].Text, first[0].TOML, first[0].At
		}
		list = append(list, p)
	}
	return list
}

// Keep leaves the value out if ok is not true of it.
func (x *Value[T]) Keep(ok func(Part) bool) {
	if parts := x.Parts(); len(kept(parts, parts, ok)) < len(parts) {
		*x = Value[T]{}
	}
}

// Keep leaves items out.
func (x *List) Keep(ok func(Part) bool) {
	if items := kept(x.Items, x.Parts(), ok); len(items) < len(x.Items) {
		x.Items, x.Set = items, len(items) > 0
	}
}

// Keep leaves entries out.
func (x *Table[T]) Keep(ok func(Part) bool) { x.Entries = kept(x.Entries, x.Parts(), ok) }

// Keep leaves tables out.
func (x *Tables[T]) Keep(ok func(Part) bool) { x.Rows = kept(x.Rows, x.Parts(), ok) }

// kept are the items of a list of whose parts ok is true. The list, which others may share, stays
// as it is.
func kept[T any](list []T, parts []Part, ok func(Part) bool) (out []T) {
	for i, x := range list {
		if ok(parts[i]) {
			out = append(out, x)
		}
	}
	return out
}

func (x *Value[T]) merge(child Field, how, _ string, _ *Problems) {
	if c := child.(*Value[T]); c.Set || how == "own" {
		*x = *c
	}
}

func (x *List) merge(child Field, how, key string, problems *Problems) {
	c := child.(*List)
	switch {
	case !c.Set:
		return
	case how == "replace":
		*x = *c
		return
	}
	gone := removals(key, x.Texts(), c.Texts(), func(i int) Pos { return c.Items[i].At }, problems)
	have, added := *x, *c
	have.Keep(func(p Part) bool { return !gone[p.Text] })
	added.Keep(func(p Part) bool { _, is := Removal(p.Text); return !is })
	if how == "first" {
		have, added = added, have
	}
	*x = List{Place: c.Place}
	seen := map[string]bool{}
	for _, it := range slices.Concat(have.Items, added.Items) { // each once
		if !seen[it.Text] {
			x.Items = append(x.Items, it)
		}
		seen[it.Text] = true
	}
}

func (x *Table[T]) merge(child Field, _, key string, problems *Problems) {
	c := child.(*Table[T])
	if !c.Set {
		return
	}
	gone := removals(key, x.Keys(), c.Keys(), func(i int) Pos { return c.Entries[i].At }, problems)
	x.Place = c.Place
	x.Keep(func(p Part) bool { return !gone[p.Key] })
	place := map[string]int{}
	for i, e := range x.Entries {
		place[e.Key] = i
	}
	for _, e := range c.Entries {
		if i, known := place[e.Key]; known {
			x.Entries[i] = e
		} else if _, is := Removal(e.Key); !is {
			x.Entries = append(x.Entries, e)
		}
	}
}

func (x *Tables[T]) merge(child Field, _, _ string, _ *Problems) {
	if c := child.(*Tables[T]); c.Set {
		*x = Tables[T]{Place: c.Place, Rows: slices.Concat(x.Rows, c.Rows)}
	}
}
