package strict

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/enr/inner/internal/visible"
)

// Key is one key of a file, with all that may be said of any: where its value is, which is
// decoded, merged and listed without knowing what it means.
type Key struct {
	Path  []string
	Kind  Kind
	Value *Value   // nil of a key of an entry
	Entry Kind     // of a Table: what its entries are, unless they have keys
	Of    []Key    // of a Table and of Tables: the keys of an entry that is a table itself
	Short bool     // of an entry of a Table: what a plain string is
	Words []string // of the tag words:"a,b": all that it takes; nil for any
	Tag   reflect.StructTag

	index []int // in its struct, as reflect.Value.FieldByIndex has it
}

// Name is the key as it is written.
func (k Key) Name() string { return Join(k.Path...) }

// Parts are the values that are written: of a list its items, of a table its entries, of a list of
// tables these.
func (k Key) Parts() []Item {
	switch {
	case k.Kind >= AList:
		return k.Value.Items
	case !k.Value.Set:
		return nil
	}
	return []Item{{Text: k.Value.V, At: k.Value.At}}
}

// Keep is that of the value; of one value, which is left out if ok is not true of it.
func (k Key) Keep(ok func(Item) bool) {
	if k.Kind >= AList {
		k.Value.Keep(ok)
	} else if k.Value.Set && !ok(k.Parts()[0]) {
		*k.Value = Value{}
	}
}

// Keys are the keys of a schema, of which v points to a value, in its order. Those of an embedded
// struct, which are keys of a version before, are decoded alone.
func Keys(v any) []Key { return keysOf(make([]Key, 0, 80), reflect.ValueOf(v).Elem(), nil) }

func keysOf(out []Key, v reflect.Value, path []string) []Key {
	for _, k := range fields(v.Type()) {
		if len(k.index) > 1 {
			continue
		}
		at, sub := v.FieldByIndex(k.index), append(path[:len(path):len(path)], k.Path...)
		if x, ok := at.Addr().Interface().(Field); ok {
			k.Path, k.Value = sub, x.value()
			out = append(out, k)
		} else {
			out = keysOf(out, at, sub)
		}
	}
	return out
}

// known are the fields of each type, which are asked for at each merge.
var known sync.Map

// fields are the keys of a struct, without their values; those of an embedded one are its own.
func fields(t reflect.Type) (out []Key) {
	if list, ok := known.Load(t); ok {
		return list.([]Key)
	}
	for _, f := range reflect.VisibleFields(t) {
		tag, ok := f.Tag.Lookup("toml")
		if !ok {
			continue
		}
		name, opt, _ := strings.Cut(tag, ",")
		k := Key{Path: []string{name}, Short: opt == "short", Tag: f.Tag, index: f.Index}
		if words, ok := f.Tag.Lookup("words"); ok {
			k.Words = strings.Split(words, ",")
		}
		v := reflect.New(f.Type).Interface()
		if x, ok := v.(Field); ok {
			k.Kind = x.kind()
		}
		if with, ok := v.(interface{ entry() any }); ok {
			if one, ok := with.entry().(Field); ok {
				k.Entry = one.kind()
			} else {
				k.Of = Keys(with.entry())
			}
		}
		out = append(out, k)
	}
	known.Store(t, out)
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
		k.merge(children[i].Value, k.Tag.Get("merge"), &problems)
	}
	return problems
}

// Removal returns NAME of "-NAME". No item or key that means something begins with a dash, except
// in lists that are not united.
func Removal(text string) (name string, ok bool) { return strings.CutPrefix(text, "-") }

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
