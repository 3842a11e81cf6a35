package strict

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
	"github.com/enr/inner/internal/visible"
)

// Decode reads the TOML text of a file into v, a pointer to a struct as the
// package comment describes. It returns every fault, in file order; of a file with
// very many, the first hundred. With faults v holds what could be read and must not
// be acted on.
func Decode(file string, data []byte, v any) Problems {
	d := &decoder{file: file}
	text, fault := plain(data)
	if fault != nil {
		fault.File = file
		return Problems{*fault}
	}
	root, why := scan(text)
	if why != nil && why.syntax == 0 {
		d.add(why.line, nil, why.msg, "")
		return d.problems
	}
	if why != nil {
		text = text[:why.syntax]
	}
	values, err := parse(text)
	if err != nil {
		d.syntax(root, text, err)
		return d.problems
	}
	if why != nil {
		d.add(why.line, nil, why.msg, "write it in a plainer way")
		return d.problems
	}
	d.schema = reflect.TypeOf(v)
	d.into(v, root, nil, values)
	sort.SliceStable(d.problems, func(i, j int) bool { return d.problems[i].Line < d.problems[j].Line })
	return d.problems
}

// plain returns the text of a file, without a byte order mark, or says why it
// is no text.
func plain(data []byte) (string, *Problem) {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return "", &Problem{Line: 1, Msg: "is UTF-16", Hint: "save it as UTF-8"}
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	line := func(at int) int { return 1 + bytes.Count(data[:at], []byte("\n")) }
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return "", &Problem{Line: line(i), Msg: "contains a NUL byte"}
	}
	if !utf8.Valid(data) {
		at := 0
		for at < len(data) {
			r, size := utf8.DecodeRune(data[at:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			at += size
		}
		return "", &Problem{Line: line(at), Msg: fmt.Sprintf("byte 0x%02x is not UTF-8", data[at])}
	}
	return string(data), nil
}

// parse asks the library for the values. The library panics on faults of its
// own; those are errors here, since the text may come from a stranger.
func parse(text string) (values map[string]any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("cannot be parsed: %v", r)
		}
	}()
	var all any // decoding into a map would copy the library's own
	_, err = toml.Decode(text, &all)
	values, _ = all.(map[string]any)
	return values, err
}

// maxProblems keeps a file made of nothing but faults from taking seconds and
// megabytes to complain about.
const maxProblems = 100

type decoder struct {
	file     string
	schema   reflect.Type
	problems []Problem
}

// full reports whether enough has been said about the file.
func (d *decoder) full() bool { return len(d.problems) >= maxProblems }

func (d *decoder) pos(n *node) Pos { return Pos{File: d.file, Line: n.line} }

func (d *decoder) add(line int, path []string, msg, hint string) {
	if d.full() {
		return
	}
	d.problems = append(d.problems, Problem{File: d.file, Line: line, Key: Join(path...), Msg: msg, Hint: hint})
}

// wrong reports a value of another type.
func (d *decoder) wrong(n *node, path []string, want string, v any, hint string) {
	d.add(n.line, path, "wants "+want+", is "+kind(v), hint)
}

// syntax reports the one fault the library stopped at.
func (d *decoder) syntax(root *node, text string, err error) {
	var pe toml.ParseError
	if !errors.As(err, &pe) {
		d.add(0, nil, visible.Line(err.Error()), "")
		return
	}
	line, start := max(pe.Position.Line, 1), min(max(pe.Position.Start, 0), len(text))
	if strings.Contains(pe.Message, `'\n'`) {
		// An unexpected end of line belongs to the line it ends.
		line = min(line, 1+strings.Count(text[:start], "\n"))
	}
	// The file holds no NUL byte: this one is how the library sees its end.
	msg := strings.ReplaceAll(pe.Message, `'\x00'`, "the end of the file")
	msg = strings.TrimSuffix(visible.Line(msg), ".")
	if key, ok := between(msg, "Key '", "' has already been defined"); ok {
		p := Problem{File: d.file, Line: line, Key: key, Msg: Twice}
		if first := first(root, key); first > 0 && first < p.Line {
			p.Hint = "first on line " + itoa(first)
		}
		d.problems = append(d.problems, p)
		return
	}
	if msg != "" && msg[0] >= 'A' && msg[0] <= 'Z' && !strings.HasPrefix(msg, "TOML") {
		msg = strings.ToLower(msg[:1]) + msg[1:]
	}
	d.problems = append(d.problems, Problem{File: d.file, Line: line, Msg: msg})
}

// between returns what stands between the two ends of a text.
func between(text, left, right string) (middle string, ok bool) {
	text, begins := strings.CutPrefix(text, left)
	text, ends := strings.CutSuffix(text, right)
	return text, begins && ends
}

// Twice is said of a key that stands twice in a file. Nothing of it was read then.
const Twice = "is written twice"

// first returns the line of a key given as the library prints it.
func first(root *node, key string) int {
	n := root
	for n != nil && key != "" {
		var next *node
		for _, kid := range n.kids {
			name := Join(kid.key)
			if key == name {
				return kid.line
			}
			if strings.HasPrefix(key, name+".") {
				next, key = kid, key[len(name)+1:]
				break
			}
		}
		n = next
	}
	return 0
}

// into decodes a value into what dst points to.
func (d *decoder) into(dst any, n *node, path []string, v any) {
	if x, ok := dst.(decodable); ok {
		x.decode(d, n, path, v)
		return
	}
	if rv := reflect.ValueOf(dst).Elem(); rv.Kind() == reflect.Struct {
		d.object(rv, n, path, v)
		return
	}
	d.scalar(dst, n, path, v)
}

// scalar decodes a string, boolean or number and reports whether it could.
func (d *decoder) scalar(dst any, n *node, path []string, v any) bool {
	switch dst := dst.(type) {
	case *string:
		return d.text(dst, n, path, v, "a string")
	case *Choice:
		return d.text((*string)(dst), n, path, v, "true, false or a string", reflect.Bool)
	case *Scalar:
		return d.text((*string)(dst), n, path, v, "a string or a number", reflect.Int64, reflect.Float64)
	case *bool:
		return exactly(d, dst, n, path, v, "true or false")
	case *int64:
		return exactly(d, dst, n, path, v, "a whole number")
	}
	d.add(n.line, path, fmt.Sprintf("has a schema of type %T, which is not supported", dst), "")
	return false
}

// text decodes a string, or the text of a value of another kind that is taken.
func (d *decoder) text(dst *string, n *node, path []string, v any, want string, taken ...reflect.Kind) bool {
	s, ok := v.(string)
	if !ok {
		hint := ""
		switch kind := reflect.ValueOf(v).Kind(); {
		case slices.Contains(taken, kind):
			s, ok = fmt.Sprint(v), true
		case taken == nil && (kind == reflect.Int64 || kind == reflect.Float64 || kind == reflect.Bool):
			hint = `write "` + fmt.Sprint(v) + `"`
		}
		if !ok {
			d.wrong(n, path, want, v, hint)
			return false
		}
	}
	*dst = s
	return d.clean(n.line, path, s)
}

// exactly decodes a value of the very type of dst.
func exactly[T any](d *decoder, dst *T, n *node, path []string, v any, want string) bool {
	x, ok := v.(T)
	if !ok {
		d.wrong(n, path, want, v, "")
	}
	*dst = x
	return ok
}

// clean refuses text that no argument, path or variable can carry.
func (d *decoder) clean(line int, path []string, s string) bool {
	if strings.IndexByte(s, 0) < 0 {
		return true
	}
	d.add(line, path, "contains a NUL character", "")
	return false
}

// field is one key of a struct.
type field struct {
	name  string
	index []int // as reflect.Value.FieldByIndex has it
	short bool
}

func fields(t reflect.Type) []field {
	out := make([]field, 0, t.NumField())
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous { // its keys are keys of this table
			for _, inner := range fields(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				out = append(out, inner)
			}
			continue
		}
		tag, ok := t.Field(i).Tag.Lookup("toml")
		if !ok {
			continue
		}
		name, opt, _ := strings.Cut(tag, ",")
		out = append(out, field{name: name, index: []int{i}, short: opt == "short"})
	}
	return out
}

// object decodes a table into a struct.
func (d *decoder) object(rv reflect.Value, n *node, path []string, v any) {
	known := fields(rv.Type())
	m, ok := v.(map[string]any)
	if !ok {
		for _, f := range known {
			if f.short {
				if _, ok := v.(string); !ok {
					d.wrong(n, path, "a string or a table", v, "")
					return
				}
				d.into(rv.FieldByIndex(f.index).Addr().Interface(), n, path, v)
				return
			}
		}
		d.wrong(n, path, "a table", v, "")
		return
	}
	d.each(n, m, path, func(kid *node, sub []string, v any) {
		for _, f := range known {
			if f.name == kid.key {
				d.into(rv.FieldByIndex(f.index).Addr().Interface(), kid, sub, v)
				return
			}
		}
		d.unknown(known, kid, sub)
	})
}

// each calls f for every key of a table, in file order. A key the scanner did
// not see is not skipped: it comes last, with the line of its table.
func (d *decoder) each(n *node, m map[string]any, path []string, f func(kid *node, sub []string, v any)) {
	call := func(kid *node, v any) {
		sub := append(path[:len(path):len(path)], kid.key)
		if strings.IndexByte(kid.key, 0) >= 0 {
			d.add(kid.line, sub, "the key contains a NUL character", "")
			return
		}
		f(kid, sub, v)
	}
	seen := 0
	for _, kid := range n.kids {
		if v, ok := m[kid.key]; ok {
			seen++
			call(kid, v)
		}
	}
	if seen == len(m) {
		return
	}
	var rest []string
	for k := range m {
		if n.get(k) == nil {
			rest = append(rest, k)
		}
	}
	sort.Strings(rest)
	for _, k := range rest {
		call(&node{key: k, line: n.line}, m[k])
	}
}

// unknown reports a key that is not in the schema.
func (d *decoder) unknown(known []field, n *node, path []string) {
	if d.full() {
		return
	}
	key := path[len(path)-1]
	names := make([]string, len(known))
	for i, f := range known {
		names[i] = f.name
		if strings.EqualFold(f.name, key) {
			d.add(n.line, path, UnknownKey, "did you mean "+quote(f.name)+"? keys are lower case")
			return
		}
	}
	if at := elsewhere(d.schema, key, nil); at != nil {
		if len(at) == 1 {
			d.add(n.line, path, UnknownKey, quote(key)+" belongs at the top of the file, before the first [table]")
		} else {
			d.add(n.line, path, UnknownKey, quote(key)+" belongs in ["+Join(at[:len(at)-1]...)+"]")
		}
		return
	}
	d.add(n.line, path, UnknownKey, DidYouMean(key, names))
}

// elsewhere returns the path at which the schema knows a key, or nil.
func elsewhere(t reflect.Type, key string, path []string) []string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[decodable]()) {
		return nil
	}
	list := fields(t)
	for _, f := range list {
		if f.name == key {
			return append(path[:len(path):len(path)], key)
		}
	}
	for _, f := range list {
		if at := elsewhere(t.FieldByIndex(f.index).Type, key, append(path[:len(path):len(path)], f.name)); at != nil {
			return at
		}
	}
	return nil
}

// item returns the i-th item of a list, or nil.
func (n *node) item(i int) *node {
	if i < len(n.kids) {
		return n.kids[i]
	}
	return nil
}

// kind names the type of a value for people.
func kind(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64:
		return "a whole number"
	case float64:
		return "a number"
	case time.Time:
		return "a date"
	case []any:
		return "a list"
	case []map[string]any:
		return "a list of tables"
	case map[string]any:
		return "a table"
	}
	return "something else"
}

func quote(s string) string { return strconv.Quote(s) }
func itoa(i int) string     { return strconv.Itoa(i) }
