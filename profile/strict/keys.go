package strict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/enr/inner/internal/visible"
)

// Key is one key of a language, with all that may be said of any: what is written for it is
// decoded, merged and listed without knowing what it means.
type Key struct {
	Name   string // as it is written: sandbox.network_mode
	Kind   Kind
	Entry  Kind     // of ATable: what its entries are, unless they have keys
	Of     []Key    // of ATable and Rows: the keys of an entry that is a table itself
	Short  bool     // of an entry of ATable: what one is that is no table itself
	Words  []string // all that it takes; nil for any
	Merge  string   // see Doc.Merge
	Former bool     // a key of a version before: it is decoded, and neither listed nor merged

	Value *Value // of one of Doc.Keys
}

// Path are the parts of the name.
func (k Key) Path() []string { return strings.Split(k.Name, ".") }

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

// Doc is what one file says, or several of them merged, in a language. The zero Doc says nothing.
type Doc struct {
	language []Key
	values   []Value
}

// NewDoc returns one that says nothing.
func NewDoc(language []Key) Doc { return Doc{language, make([]Value, len(language))} }

// Clone returns one that can be changed by itself. The items of its values are shared.
func (d *Doc) Clone() Doc { return Doc{d.language, slices.Clone(d.values)} }

// Value is what is written for a key of the language.
func (d *Doc) Value(name string) *Value {
	if d.language == nil {
		return &Value{}
	}
	return &d.values[index(d.language, name)]
}

// In is Value for the keys of one table.
func (d *Doc) In(table string) func(key string) *Value {
	return func(key string) *Value { return d.Value(table + "." + key) }
}

func index(keys []Key, name string) int {
	return slices.IndexFunc(keys, func(k Key) bool { return k.Name == name })
}

// Keys are the keys of the language with their values, in its order.
func (d *Doc) Keys() []Key {
	out := make([]Key, 0, len(d.language))
	for i, k := range d.language {
		if k.Value = &d.values[i]; !k.Former {
			out = append(out, k)
		}
	}
	return out
}

// Merge puts child on top of d, of the same language. Scalars: the child's when it is written.
// Lists: the union, the base's first; "-NAME" removes NAME of the base. Tables: by key, an
// overridden key keeps its place; "-KEY" = "" removes KEY of the base. Lists of tables: appended.
// Key.Merge names the exceptions:
//
//	own      stays with the file it is written in
//	replace  a list of the child stands in for the base's
//	first    a union with the child's items in front
//
// The child is not changed, nor is any list d had before. An empty child changes nothing.
func (d *Doc) Merge(child Doc) (problems Problems) {
	children := child.Keys()
	for i, k := range d.Keys() {
		k.merge(children[i].Value, &problems)
	}
	return problems
}

// Removal returns NAME of "-NAME". No item or key that means something begins with a dash, except
// in lists that are not united.
func Removal(text string) (name string, ok bool) { return strings.CutPrefix(text, "-") }

// Quoted writes strings as the items of a list, without its brackets.
func Quoted(list []string) string {
	var items []string
	for _, s := range list {
		items = append(items, Quote(s))
	}
	return strings.Join(items, ", ")
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
