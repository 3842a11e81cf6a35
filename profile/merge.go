package profile

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/profile/strict"
)

// merge returns base with child on top. Scalars: the child's when it is
// written. Lists: the union, base first; "-NAME" takes NAME of the base out.
// Tables: by key, an overridden key keeps its place. Checks: appended. Neither
// argument is changed. An empty child changes nothing.
func merge(base, child source) (source, strict.Problems) {
	// Two spellings of one decision are decided by whoever states either.
	if child.Sandbox.Network.Set || child.Sandbox.NetworkMode.Set {
		base.Sandbox.Network, base.Sandbox.NetworkMode = strict.Bool{}, strict.String{}
	}
	if child.Env.Clearenv.Set || child.Env.InheritAll.Set {
		base.Env.Clearenv, base.Env.InheritAll = strict.Bool{}, strict.Bool{}
	}
	out := base
	m := merger{}
	m.object(reflect.ValueOf(&out).Elem(), reflect.ValueOf(&child).Elem(), nil)
	return out, m.problems
}

type merger struct{ problems strict.Problems }

// object merges a struct, field by field; out holds the base.
func (m *merger) object(out, child reflect.Value, path []string) {
	t := out.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		m.field(out.Field(i).Addr().Interface(), child.Field(i).Addr().Interface(), append(path[:len(path):len(path)], name), f.Tag.Get("merge"))
	}
}

func (m *merger) field(out, child any, path []string, how string) {
	switch out := out.(type) {
	case *strict.String:
		scalar(out, child.(*strict.String), how)
	case *strict.Bool:
		scalar(out, child.(*strict.Bool), how)
	case *strict.Int:
		scalar(out, child.(*strict.Int), how)
	case *strict.Number:
		scalar(out, child.(*strict.Number), how)
	case *strict.List:
		m.list(out, child.(*strict.List), path, how)
	case *strict.Table[string]:
		table(out, child.(*strict.Table[string]))
	case *strict.Table[mountSpec]:
		table(out, child.(*strict.Table[mountSpec]))
	case *strict.Tables[checkRow]:
		c := child.(*strict.Tables[checkRow])
		if c.Set {
			out.Set, out.At = true, c.At
		}
		out.Rows = append(out.Rows[:len(out.Rows):len(out.Rows)], c.Rows...)
	default:
		m.object(reflect.ValueOf(out).Elem(), reflect.ValueOf(child).Elem(), path)
	}
}

func scalar[T any](out, child *strict.Value[T], how string) {
	if child.Set || how == "own" {
		*out = *child
	}
}

func table[T any](out, child *strict.Table[T]) {
	if !child.Set {
		return
	}
	if len(out.Entries) == 0 {
		*out = *child
		return
	}
	merged := strict.Table[T]{Set: true, At: child.At}
	place := make(map[string]int, len(out.Entries)+len(child.Entries))
	for _, list := range [][]strict.Entry[T]{out.Entries, child.Entries} {
		for _, e := range list {
			if i, ok := place[e.Key]; ok {
				merged.Entries[i] = e
				continue
			}
			place[e.Key] = len(merged.Entries)
			merged.Entries = append(merged.Entries, e)
		}
	}
	*out = merged
}

// list merges a list of the base with that of the child. For the profile at the
// root of a chain the base is empty, so its repeated items go away and a
// removal is an error there too.
func (m *merger) list(out, child *strict.List, path []string, how string) {
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
		if name, ok := strings.CutPrefix(it.Text, "-"); ok {
			if !have[name] && len(m.problems) < maxProblems {
				hint := strict.Nearest(name, out.Texts())
				if hint != "" {
					hint = "did you mean " + strconv.Quote("-"+hint) + "?"
				}
				m.problems = append(m.problems, strict.Problem{
					File: it.At.File, Line: it.At.Line, Key: strict.Join(path...), Hint: hint,
					Msg: strconv.Quote(it.Text) + " removes nothing: no profile this one extends lists " + strconv.Quote(name),
				})
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
