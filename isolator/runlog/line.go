package runlog

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// lineEncoder writes the lines of a record and of the audit log as encoding/json would, by the
// same tags. encoding/json takes 0.1 ms for each of the three types to look at it, once per
// process, which is more than everything else of a record takes; this takes some microseconds.
// A test compares the two.
type lineEncoder struct {
	text    func(to []byte, s string) []byte // writes a string
	without string                           // the key of a field to leave out
}

// object writes a struct.
func (e lineEncoder) object(to []byte, v reflect.Value) []byte {
	to = append(to, '{')
	return append(e.fields(to, v, len(to)), '}')
}

// fields writes the fields of the object that begins at start.
func (e lineEncoder) fields(to []byte, v reflect.Value, start int) []byte {
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		if field.Anonymous {
			to = e.fields(to, value, start)
			continue
		}
		key, option, _ := strings.Cut(field.Tag.Get("json"), ",")
		if key == e.without || option != "" && empty(value) {
			continue
		}
		if len(to) > start {
			to = append(to, ',')
		}
		to = append(append(append(to, '"'), key...), '"', ':')
		to = e.value(to, value)
	}
	return to
}

// empty reports whether a field with omitempty or omitzero is left out.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}

func (e lineEncoder) value(to []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.String:
		return e.text(to, v.String())
	case reflect.Bool:
		return strconv.AppendBool(to, v.Bool())
	case reflect.Int, reflect.Int64:
		return strconv.AppendInt(to, v.Int(), 10)
	case reflect.Uint16:
		return strconv.AppendUint(to, v.Uint(), 10)
	case reflect.Pointer:
		return e.value(to, v.Elem())
	case reflect.Slice:
		return e.list(to, v)
	case reflect.Map:
		return e.counts(to, v)
	}
	if at, ok := v.Interface().(time.Time); ok {
		return append(at.AppendFormat(append(to, '"'), time.RFC3339Nano), '"')
	}
	return e.object(to, v)
}

func (e lineEncoder) list(to []byte, v reflect.Value) []byte {
	to = append(to, '[')
	for i := range v.Len() {
		if i > 0 {
			to = append(to, ',')
		}
		to = e.value(to, v.Index(i))
	}
	return append(to, ']')
}

// counts writes a map whose keys are texts, sorted.
func (e lineEncoder) counts(to []byte, v reflect.Value) []byte {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
	to = append(to, '{')
	for i, key := range keys {
		if i > 0 {
			to = append(to, ',')
		}
		to = e.value(append(e.text(to, key.String()), ':'), v.MapIndex(key))
	}
	return append(to, '}')
}

// recordLine writes a line of a record, a Start or an End.
func recordLine(v any) []byte {
	return lineEncoder{text: func(to []byte, s string) []byte { return appendJSON(to, []byte(s)) }}.object(make([]byte, 0, 1024), reflect.ValueOf(v))
}
