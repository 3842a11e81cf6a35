package profile

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/profile/strict"
)

// Resolved returns the profile merged with everything it extends, as the text
// of one profile that extends nothing. Loaded again it resolves to the same
// RunConfig. Keys are in the order of the schema; a comment tells the file and
// line each value comes from.
func (p *Profile) Resolved(c Context) string {
	e := &encoder{home: c.Home}
	fmt.Fprintf(&e.b, "# Profile %s, merged with everything it extends. It is made of:\n", comment(p.Name))
	for _, f := range p.Files {
		fmt.Fprintf(&e.b, "#   %s\n", e.path(f.Path))
	}
	src := p.src
	src.Extends = strict.String{}
	src.Mounts.Entries = p.lastMounts(c)
	e.table(reflect.ValueOf(&src).Elem(), nil)
	return e.b.String()
}

// lastMounts leaves out mounts whose place a later file gives to another.
func (p *Profile) lastMounts(c Context) []strict.Entry[mountSpec] {
	r := &resolver{c: c, s: &p.src, x: expander{home: c.Home, uid: c.UID, lookup: c.Lookup}}
	r.workspaces()
	r.baseFolder(p.Scope)
	entries := p.src.Mounts.Entries
	dests := make([]string, len(entries)) // "" where it cannot be told
	for i, e := range entries {
		if m, ok := r.mount(e); ok {
			dests[i] = m.Dest
		}
	}
	var out []strict.Entry[mountSpec]
	for i, e := range entries {
		replaced := false
		for j := i + 1; j < len(entries); j++ {
			replaced = replaced || dests[i] != "" && dests[j] == dests[i] && entries[j].At.File != e.At.File
		}
		if !replaced {
			out = append(out, e)
		}
	}
	return out
}

type encoder struct {
	b       strings.Builder
	home    string
	bare    bool     // no comments that tell where values come from
	without []string // keys that are left out
}

// table writes a struct of the schema: first its plain keys, then its tables,
// since a [header] ends the table before it.
func (e *encoder) table(v reflect.Value, path []string) {
	var tables []func()
	header := len(path) > 0
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.Anonymous || !f.IsExported() { // of the version before
			continue
		}
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("toml"), ",")
		sub := append(path[:len(path):len(path)], name)
		if slices.Contains(e.without, strings.Join(sub, ".")) {
			continue
		}
		field := v.Field(i)
		value, at, plain := e.plain(field.Addr().Interface())
		if !plain {
			tables = append(tables, func() { e.section(field, sub) })
			continue
		}
		if value == "" {
			continue
		}
		if header {
			fmt.Fprintf(&e.b, "\n[%s]\n", strict.Join(path...))
			header = false
		}
		fmt.Fprintf(&e.b, "%s = %s%s\n", name, value, e.origin(at))
	}
	for _, write := range tables {
		write()
	}
}

// plain is the text of a value that is no table, "" where the key is not written.
func (e *encoder) plain(field any) (text string, at strict.Pos, ok bool) {
	switch x := field.(type) {
	case *strict.List:
		if x.Set {
			text, at = e.list(x)
		}
		return text, at, true
	case strict.Setting:
		v, set, at := x.Get()
		if set {
			text = tomlText(v)
		}
		return text, at, true
	}
	return "", at, false
}

// section writes a field that is a table or several.
func (e *encoder) section(v reflect.Value, path []string) {
	switch x := v.Addr().Interface().(type) {
	case *strict.Table[string]:
		entries(e, path, x, Quote)
	case *strict.Table[mountSpec]:
		entries(e, path, x, mountValue)
	case *strict.Tables[checkRow]:
		for _, row := range x.Rows {
			fmt.Fprintf(&e.b, "\n[[%s]]\n", strict.Join(path...))
			e.table(reflect.ValueOf(&row).Elem(), nil)
		}
	default:
		e.table(v, path)
	}
}

// entries writes a table with keys of its own.
func entries[V any](e *encoder, path []string, t *strict.Table[V], text func(V) string) {
	if !t.Set {
		return
	}
	fmt.Fprintf(&e.b, "\n[%s]\n", strict.Join(path...))
	for _, entry := range t.Entries {
		fmt.Fprintf(&e.b, "%s = %s%s\n", key(entry.Key), text(entry.Value), e.origin(entry.At))
	}
}

// maxLine is how long a list on one line may be.
const maxLine = 80

// list writes the items of one file together, else each with the file it comes
// from. The place returned is that of the whole, when it has one.
func (e *encoder) list(l *strict.List) (string, strict.Pos) {
	at := l.At
	one := true
	var items []string
	for i, it := range l.Items {
		if i == 0 {
			at = it.At
		}
		one = one && (e.bare || it.At.File == at.File)
		items = append(items, Quote(it.Text))
	}
	if line := "[" + strings.Join(items, ", ") + "]"; one && len(line) <= maxLine {
		return line, at
	}
	var b strings.Builder
	for i, it := range l.Items {
		fmt.Fprintf(&b, "\n  %s,", items[i])
		if !one {
			b.WriteString(e.origin(it.At))
		}
	}
	if !one {
		at = strict.Pos{}
	}
	return "[" + b.String() + "\n]", at
}

func mountValue(m mountSpec) string {
	var parts []string
	if m.Dest.Set {
		parts = append(parts, "dest = "+Quote(m.Dest.V))
	}
	if m.Mode.Set {
		parts = append(parts, "mode = "+Quote(m.Mode.V))
	}
	if m.Missing.Set {
		parts = append(parts, "missing = "+Quote(m.Missing.V))
	}
	if len(parts) == 0 {
		return "{}"
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

func (e *encoder) origin(at strict.Pos) string {
	if at.File == "" || e.bare {
		return ""
	}
	return fmt.Sprintf(" # %s:%d", e.path(at.File), at.Line)
}

func (e *encoder) path(p string) string {
	if filepath.IsAbs(p) && paths.Below(e.home, p) && e.home != "/" {
		p = "~" + strings.TrimPrefix(p, e.home)
	}
	return comment(p)
}

// comment keeps a name from ending the comment it stands in.
func comment(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !visible.Shown(r) || r == unicode.ReplacementChar }) {
		return strconv.QuoteToASCII(s)
	}
	return s
}

// key writes a key of a table.
func key(s string) string {
	if strict.Join(s) == s {
		return s
	}
	return Quote(s)
}

// Quote writes a string as a profile has it: a basic string of TOML, whose escapes are not
// quite Go's. What does not print is escaped.
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
