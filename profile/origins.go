package profile

import (
	"fmt"
	"reflect"
	"slices"
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
	var out []Origin
	src := p.src
	walkKeys(reflect.ValueOf(&src).Elem(), nil, func(key string, x any) {
		for _, v := range parts(x) {
			o := Origin{Key: key, Value: v.toml, File: v.at.File, Line: v.at.Line}
			if v.key != "" {
				o.Key += "." + strict.Join(v.key)
			}
			out = append(out, o)
		}
	})
	return out
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

// part is one value of a key: the value itself, an item of a list, or an entry of a table.
type part struct {
	key   string // of a table's entry
	value string
	toml  string // value as it would be written
	at    strict.Pos
}

// parts are the values of a key that are written.
func parts(x any) (list []part) {
	switch x := x.(type) {
	case *strict.List:
		for _, it := range x.Items {
			list = append(list, part{"", it.Text, Quote(it.Text), it.At})
		}
	case *strict.Table[string]:
		for _, e := range x.Entries {
			list = append(list, part{e.Key, e.Value, Quote(e.Value), e.At})
		}
	case *strict.Table[mountSpec]:
		for _, e := range x.Entries {
			list = append(list, part{e.Key, or(e.Value.Mode, string(RO)), mountValue(e.Value), e.At})
		}
	case *strict.Tables[checkRow]:
		for _, row := range x.Rows {
			list = append(list, part{"", row.Name.V, Quote(row.Name.V), row.Name.At})
		}
	case strict.Setting:
		if v, set, at := x.Get(); set {
			list = append(list, part{"", fmt.Sprint(v), tomlText(v), at})
		}
	}
	return list
}

// tomlText writes the value of a setting.
func tomlText(v any) string {
	text := fmt.Sprint(v)
	switch v.(type) {
	case bool, int64:
		return text
	case strict.Choice:
		if text == "true" || text == "false" {
			return text
		}
	}
	return Quote(text)
}
