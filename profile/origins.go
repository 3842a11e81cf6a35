package profile

import (
	"fmt"
	"path/filepath"
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

// Place is the name of the file of an origin, and the line.
func (o Origin) Place() string {
	file := o.File
	if file != OrganisationFile { // which is not the user's own config.toml
		file = filepath.Base(file)
	}
	return file + ":" + strconv.Itoa(o.Line)
}

// OriginsOf lists the values that a grant comes from; none when it is what a box is without them.
func (p *Profile) OriginsOf(g Grant) []Origin {
	name, mode, _ := strings.Cut(g.Key, " ")
	called := func(r keyRule) bool {
		switch r.key {
		case "mounts", "sandbox.workdir_mode", "sandbox.home_allow":
			return name == "mount"
		case "sandbox.home", "sandbox.base":
			return name == "home" || strings.HasSuffix(g.Key, wholeHome.key)
		}
		return name != "" && strings.HasSuffix(r.key, name)
	}
	rules := slices.DeleteFunc(slices.Clone(keyRules()), func(r keyRule) bool { return !slices.Contains(strings.Fields(r.grants), g.Kind) })
	if slices.ContainsFunc(rules, called) {
		rules = slices.DeleteFunc(rules, func(r keyRule) bool { return !called(r) })
	}
	return slices.DeleteFunc(p.Origins(), func(o Origin) bool {
		otherMode := name == "mount" && !strings.Contains(o.Value, strconv.Quote(mode)) && (mode != "ro" || o.Key != "sandbox.home_allow")
		return otherMode || !slices.ContainsFunc(rules, func(r keyRule) bool { return o.Key == r.key || strings.HasPrefix(o.Key, r.key+".") })
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
