// Package listing writes what a profile says as the text of one file that extends nothing: its keys in the order of the
// language, table by table. Only commands that show a profile or write it elsewhere link it.
//
//	text := listing.Resolved(name, files, p.Merged(context), home)   // with the place that each value comes from
//	text := listing.Plain(p.Source(), "extends")
package listing

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/profile/strict"
)

// Resolved returns the text of a profile of that name, merged with everything it extends. Loaded again it
// resolves to the same RunConfig. A comment tells the file and line each value comes from.
func Resolved(name string, files []string, doc strict.Doc, home string) string {
	e := &encoder{home: home}
	fmt.Fprintf(&e.b, "# Profile %s, merged with everything it extends. It is made of:\n", comment(name))
	for _, f := range files {
		fmt.Fprintf(&e.b, "#   %s\n", e.path(f))
	}
	return e.file(doc, []string{"extends"})
}

// Plain returns the text of a document without the keys named, and with no word of the files it was read from.
func Plain(doc strict.Doc, without ...string) string {
	e := &encoder{bare: true}
	return e.file(doc, without)
}

type encoder struct {
	b    strings.Builder
	home string
	bare bool // no comments that tell where values come from
}

// file writes the keys of a document table by table, without those named: first what is in none,
// then each with its [header].
func (e *encoder) file(doc strict.Doc, without []string) string {
	tableOf := func(k strict.Key) string {
		if k.Kind >= strict.ATable {
			return k.Name
		}
		return k.Name[:max(0, strings.LastIndexByte(k.Name, '.'))]
	}
	keys := slices.DeleteFunc(doc.Keys(), func(k strict.Key) bool { return slices.Contains(without, k.Name) })
	done := map[string]bool{}
	for _, k := range keys {
		if table := tableOf(k); !done[table] {
			e.table(table, slices.DeleteFunc(slices.Clone(keys), func(of strict.Key) bool { return tableOf(of) != table }))
			done[table] = true
		}
	}
	return e.b.String()
}

// table writes the keys of a table that are written, or the one that it is.
func (e *encoder) table(name string, keys []strict.Key) {
	header := name != ""
	open := func() {
		if header {
			fmt.Fprintf(&e.b, "\n[%s]\n", name)
		}
		header = false
	}
	line := func(key, value string, at strict.Pos) { fmt.Fprintf(&e.b, "%s = %s%s\n", key, value, e.origin(at)) }
	for _, k := range keys {
		if !k.Value.Set {
			continue
		}
		last := k.Name[strings.LastIndexByte(k.Name, '.')+1:]
		switch k.Kind {
		case strict.Rows:
			for _, row := range k.Parts() {
				fmt.Fprintf(&e.b, "\n[[%s]]\n", name)
				header = false
				for _, of := range k.Of {
					if v, ok := row.Get(of.Name); ok {
						line(of.Name, of.TOML(v), v.At)
					}
				}
			}
		case strict.AList:
			open()
			value, at := e.list(k.Value)
			line(last, value, at)
		default:
			open() // also a table without entries
			for _, v := range k.Parts() {
				if v.Key != "" {
					last = key(v.Key)
				}
				line(last, k.TOML(v), v.At)
			}
		}
	}
}

// maxLine is how long a list on one line may be.
const maxLine = 80

// list writes the items of one file together, else each with the file it comes
// from. The place returned is that of the whole, when it has one.
func (e *encoder) list(l *strict.Value) (string, strict.Pos) {
	at := l.At
	one := true
	var items []string
	for i, it := range l.Items {
		if i == 0 {
			at = it.At
		}
		one = one && (e.bare || it.At.File == at.File)
		items = append(items, strict.Quote(it.Text))
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
	return strict.Quote(s)
}
