package profile

import (
	"cmp"
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

// Text is a value without its quotes.
func (o Origin) Text() string {
	if text, err := strconv.Unquote(o.Value); err == nil {
		return text
	}
	return o.Value
}

// sayings are the keys of the language that say a grant, by its own key or the first word of that, and a value that is
// meant alone. A grant that is not here is called as the key is, without "sandbox.".
func sayings() map[string]string {
	return map[string]string{
		"runs": "entrypoint.cmd entrypoint.args", "capability": "capabilities", "history": "entrypoint.history", "env.inherit_all": "env.clearenv",
		"mount ro": "mounts=ro workdir_mode=ro workdir_mode=keep home_allow", "mount rw": "mounts=rw workdir_mode=rw",
		"mount safe-rw": "mounts=safe-rw", "mount tmpfs": "mounts=tmpfs", "mounts.missing": "mounts=create",
		System: `mounts."` + System + `"`, Toolchains: "home_allow=" + Toolchains + " base=minimal", "host": "base home", "minimal": "base home",
		"network allow": "network_allow", "ranges": "network_allow", "deny": "network_allow",
		"full": "network network_mode", "ask": "network_mode", "no": "network network_mode", "capabilities": "network network_mode",
		"limits": "limits limits_required output.timeout_seconds", "proc bind": "allow=host-proc", "seccomp": "allow=no-seccomp", "landlock off": "allow=no-landlock",
	}
}

// OriginsOf lists the values that a grant comes from; none when it is what a box is without them. Of a list those are
// meant that it names.
func (p *Profile) OriginsOf(g Grant) []Origin {
	name, _, _ := strings.Cut(g.Key, " ")
	said := sayings()
	said[name] = cmp.Or(said[g.Kind+" "+name], said[g.Key], said[name], name)
	list := keep(p.Origins(), func(o Origin) bool {
		return slices.ContainsFunc(strings.Fields(said[name]), func(saying string) bool {
			key, value, one := strings.Cut(saying, "=")
			key, at := strings.TrimPrefix(key, "sandbox."), strings.TrimPrefix(o.Key, "sandbox.")
			return (at == key || strings.HasPrefix(at, key+".")) && (!one || strings.Contains(o.Value, strconv.Quote(value)) && at != said[System])
		})
	})
	named := keep(list, func(o Origin) bool {
		value := strings.TrimPrefix(o.Text(), "!")
		return slices.ContainsFunc(g.Items, func(it Item) bool { return it.ID == value || it.Text == value })
	})
	if len(named) > 0 {
		return named
	}
	return list
}
