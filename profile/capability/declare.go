package capability

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/hosts"
	"github.com/enr/inner/profile/strict"
)

// Table is [capability.NAME] of the user's own config.toml: an agent that inner
// does not know.
//
//	[capability.aider]
//	paths = ["~/.aider"]                          # folders cloned into the box
//	copy  = ["~/.aider/settings.json"]            # files that go along
//	trees = ["~/.aider/prompts"]                  # folders that go along whole
//	strip = { "~/.aider/settings.json" = ["mcpServers", "editor.command"] } # * is any key
//	empty = ["~/.aider/cache"]
//	env   = { AIDER_HOME = "~/.aider" }
//	args  = ["--no-update"]                       # put before the program's own
//	program = "aider"                             # gets args; default: NAME
//	hosts = ["api.example.com"]                   # reached where the network is by name
type Table struct {
	Program strict.String             `toml:"program"`
	Paths   strict.List               `toml:"paths"`
	Copy    strict.List               `toml:"copy"`
	Trees   strict.List               `toml:"trees"`
	Strip   strict.Table[strict.List] `toml:"strip"`
	Empty   strict.List               `toml:"empty"`
	Env     strict.Table[string]      `toml:"env"`
	Args    strict.List               `toml:"args"`
	Hosts   strict.List               `toml:"hosts"`
}

// Check notes the faults of [capability.name]; at is where it is written.
func (t Table) Check(name string, at strict.Pos, problems *strict.Problems) {
	c := checker{key: strict.Join("capability", name), folders: t.Paths.Texts(), problems: problems}
	switch _, builtin := Find(name, nil); {
	case builtin:
		c.add(at, "", "is built in", "give yours another name")
	case !isName(name):
		c.add(at, "", "is not a name", "lower case letters, digits and hyphens")
	}
	if len(t.Paths.Items) == 0 {
		c.add(at, "paths", "names no folder", `write it like ["~/.aider"]`)
	}
	c.paths(t.Paths)
	c.inside("copy", t.Copy)
	c.inside("trees", t.Trees)
	c.inside("empty", t.Empty)
	for _, e := range t.Strip.Entries {
		c.strip(e.Key, e.Value, e.At, t.Copy.Texts())
	}
	c.env(t.Env)
	if p := t.Program; p.Set && (p.V == "" || strings.ContainsFunc(p.V, func(r rune) bool { return r == '/' || unicode.IsControl(r) })) {
		c.add(p.At, "program", fmt.Sprintf("%q is not a bare name", p.V), "")
	}
	c.hosts(t.Hosts)
}

func (c checker) paths(list strict.List) {
	for i, it := range list.Items {
		c.path(it.At, "paths", it.Text)
		for _, other := range list.Items[:i] {
			if paths.Below(other.Text, it.Text) || paths.Below(it.Text, other.Text) {
				c.add(it.At, "paths", fmt.Sprintf("%q and %q overlap", other.Text, it.Text), "")
			}
		}
	}
}

func (c checker) env(table strict.Table[string]) {
	for _, e := range table.Entries {
		if kv, _, err := profile.ParseEnv(e.Key + "="); err != nil || kv.Key != e.Key {
			c.add(e.At, "env", fmt.Sprintf("%q cannot be set here", e.Key), "")
		} else if e.Key == "PATH" || e.Key == "HOME" {
			c.add(e.At, "env", fmt.Sprintf("%q is the profile's to set", e.Key), "")
		}
	}
}

func (c checker) hosts(list strict.List) {
	for _, it := range list.Items {
		if e, err := hosts.Parse(it.Text); err != nil {
			c.add(it.At, "hosts", err.Error(), "")
		} else if e.Group != "" {
			c.add(it.At, "hosts", fmt.Sprintf("%q is a group", it.Text), "groups are for network_allow of a profile")
		}
	}
}

// Capability returns what a table without faults declares.
func (t Table) Capability(name string) Capability {
	c := Capability{Name: name, Program: name, Args: t.Args.Texts(), Hosts: t.Hosts.Texts(), Notes: []string{"declared in config.toml"}}
	if t.Program.V != "" {
		c.Program = t.Program.V
	}
	for _, e := range t.Env.Entries {
		c.Env = append(c.Env, profile.KV{Key: e.Key, Value: e.Value})
	}
	for _, p := range t.Paths.Texts() {
		f := Folder{Path: p}
		rel := func(list strict.List) (out []string) {
			for _, text := range list.Texts() {
				if paths.Below(p, text) {
					out = append(out, strings.TrimPrefix(text, p+"/"))
				}
			}
			return out
		}
		for _, name := range rel(t.Copy) {
			keys, _ := t.Strip.Get(p + "/" + name)
			f.Files = append(f.Files, File{Name: name, Edit: Edit{Strip: keys.Texts()}})
		}
		f.Trees, f.Empty = rel(t.Trees), rel(t.Empty)
		c.Folders = append(c.Folders, f)
	}
	return c
}

func isName(s string) bool {
	return s != "" && len(s) <= 64 && s[0] != '-' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

type checker struct {
	key      string
	folders  []string
	problems *strict.Problems
}

func (c *checker) add(at strict.Pos, key, msg, hint string) {
	full := c.key
	if key != "" {
		full += "." + key
	}
	c.problems.Add(at, full, msg, hint)
}

// path reports whether a path is a plain one below the home.
func (c *checker) path(at strict.Pos, key, text string) bool {
	rest, ok := strings.CutPrefix(text, "~/")
	why := ""
	switch {
	case !ok || rest == "":
		why = "is not a path below your home folder"
	case strings.ContainsFunc(text, unicode.IsControl):
		why = "contains a control character"
	case path.Clean(rest) != rest || rest == ".." || strings.HasPrefix(rest, "../"):
		why = "is not written plainly"
	case rest == ".inner" || strings.HasPrefix(rest, ".inner/"):
		why = "is inner's own folder"
	}
	if why != "" {
		c.add(at, key, fmt.Sprintf("%q %s", text, why), `write it like "~/.aider"`)
	}
	return why == ""
}

// strip checks the keys that are taken out of one of the copied files.
func (c *checker) strip(file string, keys strict.List, at strict.Pos, copied []string) {
	if !slices.Contains(copied, file) {
		c.add(at, "strip", fmt.Sprintf("%q is not a file of copy", file), strict.DidYouMean(file, copied))
	} else if ext := path.Ext(file); ext != ".json" && ext != ".jsonc" && ext != ".toml" {
		c.add(at, "strip", fmt.Sprintf("%q is neither .json nor .toml", file), "")
	}
	for _, it := range keys.Items {
		if it.Text == "" || slices.Contains(strings.Split(it.Text, "."), "") {
			c.add(it.At, "strip", fmt.Sprintf("%q is not a key", it.Text), `write it like "mcpServers" or "editor.command"`)
		}
	}
}

// inside checks that what a list names lies in one of the folders.
func (c *checker) inside(key string, list strict.List) {
	for i, it := range list.Items {
		if !c.path(it.At, key, it.Text) {
			continue
		}
		if !slices.ContainsFunc(c.folders, func(dir string) bool { return it.Text != dir && paths.Below(dir, it.Text) }) {
			c.add(it.At, key, fmt.Sprintf("%q lies in none of paths", it.Text), "")
		}
		if slices.Contains(list.Texts()[:i], it.Text) {
			c.add(it.At, key, fmt.Sprintf("%q is written twice", it.Text), "")
		}
	}
}
