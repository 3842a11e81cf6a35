package profile

import (
	"path/filepath"
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

// Origins lists where every value was written, in the order of the keys.
func (p *Profile) Origins() []Origin {
	var out []Origin
	for _, k := range p.src.Keys() {
		for _, v := range k.Parts() {
			o := Origin{Key: k.Name, Value: k.TOML(v), File: v.At.File, Line: v.At.Line}
			if v.Key != "" {
				o.Key += "." + strict.Join(v.Key)
			}
			out = append(out, o)
		}
	}
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
