package strict

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/enr/inner/internal/visible"
)

// Key is one key of a file, with all that may be said of any: where its value is, which is
// decoded, merged and listed without knowing what it means.
type Key struct {
	Path  []string
	Value Field
	Short bool     // of an entry of a Table: what a plain string is
	Words []string // of the tag words:"a,b": all that it takes; nil for any
	Tag   reflect.StructTag
}

// Name is the key as it is written.
func (k Key) Name() string { return Join(k.Path...) }

// Field is a pointer to one of the types that a schema is made of.
type Field interface {
	// Parts are the values that are written: of a list its items, of a table its entries, of a
	// list of tables these.
	Parts() []Part
	// Written reports whether the key is, and where.
	Written() (at Pos, ok bool)
	// Keep takes out the parts that ok is not true of. A list that has none left is not written.
	Keep(ok func(Part) bool)

	decode(d *decoder, n *node, path []string)
	merge(child Field, how, key string, problems *Problems)
}

// Part is one value of a key.
type Part struct {
	Key  string // of an entry of a table
	Text string // of an entry that is a table itself, what a plain string would be
	TOML string // as it would be written
	Rows []Key  // of one of a list of tables
	At   Pos
}

// Keys are the keys of a schema, of which v points to a value, in its order. Those of an embedded
// struct, which are keys of a version before, are decoded alone.
func Keys(v any) []Key { return keysOf(reflect.ValueOf(v).Elem(), nil) }

func keysOf(v reflect.Value, path []string) (out []Key) {
	for _, f := range fields(v.Type()) {
		if len(f.index) > 1 {
			continue
		}
		at, sub := v.FieldByIndex(f.index), append(path[:len(path):len(path)], f.name)
		if x, ok := at.Addr().Interface().(Field); ok {
			out = append(out, Key{Path: sub, Value: x, Short: f.short, Words: f.words, Tag: f.tag})
		} else {
			out = append(out, keysOf(at, sub)...)
		}
	}
	return out
}

// Merge puts child on top of base, both pointers to values of one schema. Scalars: the child's
// when it is written. Lists: the union, base first; "-NAME" removes NAME of the base. Tables: by
// key, an overridden key keeps its place; "-KEY" = "" removes KEY of the base. Lists of tables:
// appended. A tag names the exceptions:
//
//	merge:"own"      stays with the file it is written in
//	merge:"replace"  a list of the child stands in for the base's
//	merge:"first"    a union with the child's items in front
//
// The child is not changed, nor is any list base had before. An empty child changes nothing.
func Merge(base, child any) (problems Problems) {
	children := Keys(child)
	for i, k := range Keys(base) {
		k.Value.merge(children[i].Value, k.Tag.Get("merge"), k.Name(), &problems)
	}
	return problems
}

// Removal returns NAME of "-NAME". No item or key that means something begins with a dash, except
// in lists that are not united.
func Removal(text string) (name string, ok bool) { return strings.CutPrefix(text, "-") }

// removals are the names that a list, or the keys of a table, removes from what its base has. One
// that no base has is a problem, also for the profile at the root of a chain, whose base is empty.
func removals(key string, have, names []string, at func(i int) Pos, problems *Problems) map[string]bool {
	gone := map[string]bool{}
	for i, text := range names {
		name, ok := Removal(text)
		if !ok {
			continue
		}
		if gone[name] = true; !problems.Full() && !slices.Contains(have, name) {
			problems.Add(at(i), key, quote(text)+" removes nothing: no profile this one extends lists "+quote(name), Meant("-", name, have))
		}
	}
	return gone
}

// inline writes a value, a table as {}.
func inline(v any) (text, toml string) {
	switch v := v.(type) {
	case *string:
		return *v, Quote(*v)
	case Field:
		var texts, list []string
		for _, p := range v.Parts() {
			texts, list = append(texts, p.Text), append(list, p.TOML)
		}
		return strings.Join(texts, " "), strings.Join(list, ", ")
	}
	var parts []string
	for _, k := range Keys(v) {
		for _, p := range k.Value.Parts() {
			if parts = append(parts, k.Name()+" = "+p.TOML); k.Short {
				text = p.Text
			}
		}
	}
	if parts == nil {
		return "", "{}"
	}
	return text, "{ " + strings.Join(parts, ", ") + " }"
}

// Quote writes a string as a basic string of TOML, whose escapes are not quite Go's. What does not
// print is escaped.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case visible.Shown(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
