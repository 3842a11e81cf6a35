package strict

// Value is one setting. Set tells a written false from a missing key.
type Value[T any] struct {
	V   T
	Set bool
	At  Pos
}

// Get returns the value, whether it was written, and where.
func (x *Value[T]) Get() (v any, set bool, at Pos) { return x.V, x.Set, x.At }

// Take makes the setting what another one of its type is.
func (x *Value[T]) Take(from Setting) { *x = *from.(*Value[T]) }

// Setting is a pointer to a Value of any type.
type Setting interface {
	Get() (v any, set bool, at Pos)
	Take(from Setting)
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
	Set   bool
	At    Pos
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
	Set     bool
	At      Pos
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
	Set  bool
	At   Pos
}

// decodable is a type that decodes itself.
type decodable interface {
	decode(d *decoder, n *node, path []string)
}

func (x *Value[T]) decode(d *decoder, n *node, path []string) {
	if d.scalar(&x.V, n, path) {
		x.Set, x.At = true, d.pos(n)
	}
}

func (x *Words) decode(d *decoder, n *node, path []string) {
	if x.Listed = n.what == "a list"; x.Listed {
		x.List.decode(d, n, path)
		return
	}
	var s string
	if d.scalar(&s, n, path) {
		x.Set, x.At = true, d.pos(n)
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
	x.Set, x.At = true, d.pos(n)
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
	x.Set, x.At = true, d.pos(n)
	d.each(n, path, func(kid *node, sub []string) {
		e := Entry[T]{Key: kid.key, At: d.pos(kid)}
		before := len(d.problems)
		d.into(&e.Value, kid, sub)
		if len(d.problems) == before && !d.full() {
			x.Entries = append(x.Entries, e)
		}
	})
}

func (x *Tables[T]) decode(d *decoder, n *node, path []string) {
	if n.what != "a list" && n.what != "a list of tables" {
		d.wrong(n, path, "a list of tables", "")
		return
	}
	x.Set, x.At = true, d.pos(n)
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
