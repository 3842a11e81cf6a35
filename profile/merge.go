package profile

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/profile/strict"
)

// merge puts child on top of base. Scalars: the child's when it is written.
// Lists: the union, base first; "-NAME" takes NAME of the base out. Tables: by
// key, an overridden key keeps its place; "-KEY" = "" takes KEY of the base out.
// Checks: appended. The child is not changed, nor is any list base had before.
// An empty child changes nothing.
func merge(base, child *source) strict.Problems {
	// Two spellings of one decision are decided by whoever states either.
	if child.Sandbox.Network.Set || child.Sandbox.NetworkMode.Set {
		base.Sandbox.Network, base.Sandbox.NetworkMode = strict.Bool{}, strict.String{}
	}
	if mode := networkOf(&child.Sandbox); mode == NetOff || mode == NetFull {
		// A list of hosts belongs to the mode that reads it; exceptions stay.
		base.Sandbox.NetworkAllow = strict.List{}
	}
	if child.Env.Clearenv.Set || child.Env.InheritAll.Set {
		base.Env.Clearenv, base.Env.InheritAll = strict.Bool{}, strict.Bool{}
	}
	m := merger{}
	m.object(reflect.ValueOf(base).Elem(), reflect.ValueOf(child).Elem())
	return m.problems
}

type merger struct {
	path     []string // of the table at hand
	problems strict.Problems
}

// object merges a struct, field by field; out holds the base.
func (m *merger) object(out, child reflect.Value) {
	t := out.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		m.field(out.Field(i).Addr().Interface(), child.Field(i).Addr().Interface(), name, f.Tag.Get("merge"))
	}
}

func (m *merger) field(out, child any, name, how string) {
	switch out := out.(type) {
	case *strict.String:
		scalar(out, child.(*strict.String), how)
	case *strict.Bool:
		scalar(out, child.(*strict.Bool), how)
	case *strict.Int:
		scalar(out, child.(*strict.Int), how)
	case *strict.Number:
		scalar(out, child.(*strict.Number), how)
	case *strict.Switch:
		scalar(out, child.(*strict.Switch), how)
	case *strict.List:
		m.list(out, child.(*strict.List), name, how)
	case *strict.Table[string]:
		table(m, out, child.(*strict.Table[string]), name)
	case *strict.Table[mountSpec]:
		table(m, out, child.(*strict.Table[mountSpec]), name)
	case *strict.Tables[checkRow]:
		c := child.(*strict.Tables[checkRow])
		if c.Set {
			out.Set, out.At = true, c.At
		}
		out.Rows = append(out.Rows[:len(out.Rows):len(out.Rows)], c.Rows...)
	default:
		m.path = append(m.path, name)
		m.object(reflect.ValueOf(out).Elem(), reflect.ValueOf(child).Elem())
		m.path = m.path[:len(m.path)-1]
	}
}

func scalar[T any](out, child *strict.Value[T], how string) {
	if child.Set || how == "own" {
		*out = *child
	}
}

func table[T any](m *merger, out, child *strict.Table[T], key string) {
	if !child.Set {
		return
	}
	merged := strict.Table[T]{Set: true, At: child.At}
	place := make(map[string]int, len(out.Entries)+len(child.Entries))
	put := func(e strict.Entry[T]) {
		if i, ok := place[e.Key]; ok {
			merged.Entries[i] = e
			return
		}
		place[e.Key] = len(merged.Entries)
		merged.Entries = append(merged.Entries, e)
	}
	inherited := make(map[string]bool, len(out.Entries))
	for _, e := range out.Entries {
		inherited[e.Key] = true
	}
	gone := make(map[string]bool)
	for _, e := range child.Entries {
		name, ok := removal(e.Key)
		if !ok {
			continue
		}
		if gone[name] = true; !inherited[name] {
			m.nothing(e.At, key, e.Key, keys(*out))
		}
	}
	for _, e := range out.Entries {
		if !gone[e.Key] {
			put(e)
		}
	}
	for _, e := range child.Entries {
		if _, ok := removal(e.Key); !ok {
			put(e)
		}
	}
	*out = merged
}

func keys[T any](t strict.Table[T]) []string {
	out := make([]string, len(t.Entries))
	for i, e := range t.Entries {
		out[i] = e.Key
	}
	return out
}

// removal returns NAME of "-NAME". No item or key that means something begins
// with a dash, except in args and [shim] commands, which are not united.
func removal(text string) (name string, ok bool) { return strings.CutPrefix(text, "-") }

// nothing reports a removal of what no base has.
func (m *merger) nothing(at strict.Pos, name, text string, have []string) {
	if len(m.problems) >= maxProblems {
		return
	}
	gone, _ := removal(text)
	hint := strict.Nearest(gone, have)
	if hint != "" {
		hint = "did you mean " + strconv.Quote("-"+hint) + "?"
	}
	m.problems = append(m.problems, at.Problem(strict.Join(append(slices.Clone(m.path), name)...),
		strconv.Quote(text)+" removes nothing: no profile this one extends lists "+strconv.Quote(gone), hint))
}

// list merges a list of the base with that of the child. For the profile at the
// root of a chain the base is empty, so its repeated items go away and a
// removal is an error there too.
func (m *merger) list(out, child *strict.List, key, how string) {
	if !child.Set {
		return
	}
	if how == "replace" || len(out.Items) == 0 && plainList(child.Items) {
		*out = *child
		return
	}
	have := make(map[string]bool, len(out.Items)+len(child.Items))
	for _, it := range out.Items {
		have[it.Text] = true
	}
	gone := make(map[string]bool)
	var added []strict.Item
	for _, it := range child.Items {
		if name, ok := removal(it.Text); ok {
			if !have[name] {
				m.nothing(it.At, key, it.Text, out.Texts())
			}
			gone[name] = true
		}
	}
	kept := make([]strict.Item, 0, len(out.Items))
	for _, it := range out.Items {
		if !gone[it.Text] {
			kept = append(kept, it)
		}
	}
	present := make(map[string]bool, len(kept)+len(child.Items))
	if how != "first" {
		for _, it := range kept {
			present[it.Text] = true
		}
	}
	for _, it := range child.Items {
		if !strings.HasPrefix(it.Text, "-") && !present[it.Text] {
			present[it.Text] = true
			added = append(added, it)
		}
	}
	if how == "first" {
		kept = slices.DeleteFunc(kept, func(it strict.Item) bool { return present[it.Text] })
		kept, added = added, kept
	}
	*out = strict.List{Items: append(kept, added...), Set: true, At: child.At}
}

// plainList reports whether a short list has neither repeated items nor
// removals, so that it is its own union with nothing.
func plainList(items []strict.Item) bool {
	if len(items) > 64 {
		return false
	}
	for i, it := range items {
		if strings.HasPrefix(it.Text, "-") {
			return false
		}
		for _, other := range items[:i] {
			if it.Text == other.Text {
				return false
			}
		}
	}
	return true
}
