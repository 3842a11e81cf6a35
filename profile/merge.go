package profile

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/profile/strict"
)

// merge puts child on top of base. Scalars: the child's when it is written.
// Lists: the union, base first; "-NAME" removes NAME of the base. Tables: by
// key, an overridden key keeps its place; "-KEY" = "" removes KEY of the base.
// Checks: appended. The child is not changed, nor is any list base had before.
// An empty child changes nothing.
func merge(base, child *source) strict.Problems {
	// Two spellings of one decision are decided by whoever states either.
	if child.Sandbox.Network.Set || child.Sandbox.NetworkMode.Set {
		base.Sandbox.Network, base.Sandbox.NetworkMode = strict.Bool{}, strict.String{}
	}
	if mode, l := networkOf(&child.Sandbox), &base.Sandbox.NetworkAllow; mode == NetOff || mode == NetFull {
		// A list of hosts belongs to the mode that reads it; exceptions stay.
		l.Items = keep(l.Items, refuses)
		l.Set = len(l.Items) > 0
	}
	allow := &base.Sandbox.Allow
	allow.Items = keep(allow.Items, func(it strict.Item) bool { return !slices.Contains(child.without, it.Text) })
	base.former = slices.Concat(base.former, child.former)
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
		if f.Anonymous || !f.IsExported() { // of the version before
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		m.field(out.Field(i).Addr().Interface(), child.Field(i).Addr().Interface(), name, f.Tag.Get("merge"))
	}
}

func (m *merger) field(out, child any, name, how string) {
	switch out := out.(type) {
	case strict.Setting:
		if _, set, _ := child.(strict.Setting).Get(); set || how == "own" {
			out.Take(child.(strict.Setting))
		}
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

func table[T any](m *merger, out, child *strict.Table[T], key string) {
	if !child.Set {
		return
	}
	items := eachOf(child.Entries, func(e strict.Entry[T]) strict.Item { return strict.Item{Text: e.Key, At: e.At} })
	gone := m.removals(key, out.Keys(), items)
	entries := keep(out.Entries, func(e strict.Entry[T]) bool { return !gone[e.Key] })
	place := make(map[string]int, len(entries))
	for i, e := range entries {
		place[e.Key] = i
	}
	for _, e := range child.Entries {
		if _, is := removal(e.Key); is {
			continue
		}
		if i, ok := place[e.Key]; ok {
			entries[i] = e
		} else {
			entries = append(entries, e)
		}
	}
	*out = strict.Table[T]{Entries: entries, Set: true, At: child.At}
}

// removal returns NAME of "-NAME". No item or key that means something begins
// with a dash, except in args and [shim] commands, which are not united.
func removal(text string) (name string, ok bool) { return strings.CutPrefix(text, "-") }

// removals are the names that a list, or the keys of a table, removes from what its base has. One
// that no base has is a problem.
func (m *merger) removals(key string, have []string, items []strict.Item) map[string]bool {
	var gone, known map[string]bool
	for _, it := range items {
		name, ok := removal(it.Text)
		if !ok {
			continue
		}
		if gone == nil {
			gone, known = map[string]bool{}, make(map[string]bool, len(have))
			for _, text := range have {
				known[text] = true
			}
		}
		if gone[name] = true; !known[name] && len(m.problems) < maxProblems {
			m.problems.Add(it.At, strict.Join(append(slices.Clone(m.path), key)...),
				strconv.Quote(it.Text)+" removes nothing: no profile this one extends lists "+strconv.Quote(name), strict.Meant("-", name, have))
		}
	}
	return gone
}

// list merges a list of the base with that of the child, each item once. For the profile at
// the root of a chain the base is empty, and a removal is an error there too.
func (m *merger) list(out, child *strict.List, key, how string) {
	switch {
	case !child.Set:
		return
	case how == "replace":
		*out = *child
		return
	}
	gone := m.removals(key, out.Texts(), child.Items)
	kept := keep(out.Items, func(it strict.Item) bool { return !gone[it.Text] })
	added := keep(child.Items, func(it strict.Item) bool { return !strings.HasPrefix(it.Text, "-") })
	if how == "first" {
		kept, added = added, kept
	}
	seen := make(map[string]bool, len(kept)+len(added))
	*out = strict.List{Set: true, At: child.At, Items: keep(append(kept, added...), func(it strict.Item) bool {
		was := seen[it.Text]
		seen[it.Text] = true
		return !was
	})}
}

// refuses reports whether an item of network_allow is a host that cannot be reached.
func refuses(it strict.Item) bool { return strings.HasPrefix(it.Text, "!") }

// keep returns the items of a list that are to stay. The list itself, which others may share,
// is not changed.
func keep[T any](list []T, ok func(T) bool) []T {
	var out []T
	for _, x := range list {
		if ok(x) {
			out = append(out, x)
		}
	}
	return out
}
