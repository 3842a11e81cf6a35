package profile

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/profile/strict"
)

// Origin is where one value of a merged profile was written.
type Origin struct {
	Key   string `json:"key"`
	Value string `json:"value"` // as TOML; a list has one Origin per item
	File  string `json:"file"`
	Line  int    `json:"line"`
}

// Origins lists where every value was written, in the order of the schema.
func (p *Profile) Origins() []Origin {
	var o origins
	o.table(reflect.ValueOf(&p.src).Elem(), nil)
	return o
}

// OriginsOf lists the values that a kind of grant comes from; none when it is
// what a box is without them.
func (p *Profile) OriginsOf(kind string) []Origin {
	var keys []string
	for _, r := range keyRules() {
		if slices.Contains(strings.Fields(r.grants), kind) {
			keys = append(keys, r.key)
		}
	}
	return slices.DeleteFunc(p.Origins(), func(o Origin) bool {
		return !slices.ContainsFunc(keys, func(key string) bool { return o.Key == key || strings.HasPrefix(o.Key, key+".") })
	})
}

type origins []Origin

func (o *origins) add(path []string, value string, at strict.Pos) {
	*o = append(*o, Origin{Key: strict.Join(path...), Value: value, File: at.File, Line: at.Line})
}

func (o *origins) table(v reflect.Value, path []string) {
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("toml"), ",")
		sub := append(path[:len(path):len(path)], name)
		switch x := v.Field(i).Addr().Interface().(type) {
		case *strict.List:
			for _, it := range x.Items {
				o.add(sub, Quote(it.Text), it.At)
			}
		case *strict.Table[string]:
			for _, e := range x.Entries {
				o.add(append(sub, e.Key), Quote(e.Value), e.At)
			}
		case *strict.Table[mountSpec]:
			for _, e := range x.Entries {
				o.add(append(sub, e.Key), mountValue(e.Value), e.At)
			}
		case *strict.Tables[checkRow]:
			for _, row := range x.Rows {
				o.add(sub, Quote(row.Name.V), row.Name.At)
			}
		default:
			if text, at, ok := scalarText(x); !ok {
				o.table(v.Field(i), sub)
			} else if at.File != "" && text != "" {
				o.add(sub, text, at)
			}
		}
	}
}

// scalarText writes a single value as TOML, "" when it is not set; ok is false
// for what is not a single value.
func scalarText(x any) (text string, at strict.Pos, ok bool) {
	switch x := x.(type) {
	case *strict.String:
		text, at, ok = Quote(x.V), x.At, x.Set
	case *strict.Bool:
		text, at, ok = strconv.FormatBool(x.V), x.At, x.Set
	case *strict.Int:
		text, at, ok = strconv.FormatInt(x.V, 10), x.At, x.Set
	case *strict.Number:
		text, at, ok = Quote(string(x.V)), x.At, x.Set
	case *strict.Switch:
		if text, at, ok = Quote(string(x.V)), x.At, x.Set; x.V == "true" || x.V == "false" {
			text = string(x.V)
		}
	default:
		return "", at, false
	}
	if !ok {
		text = ""
	}
	return text, at, true
}
