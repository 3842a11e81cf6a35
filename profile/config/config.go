// Package config reads config.toml: the user's own in INNER_HOME, and a
// project's in .inner. It reads as strictly as profiles are read, and from
// bytes that were hashed. What the values mean, and whether a project's file is
// trusted, is for the caller.
//
//	default_profile = "shell"
//	workspaces_path = "~/.inner/workspaces"
//
//	[shims]
//	claude = "claude-interactive"
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode"

	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/strict"
)

// Config is config.toml as written; the zero value is that of a missing file.
type Config struct {
	DefaultProfile string
	WorkspacesPath string // not expanded
	Log            string // not expanded
	SetuidBwrap    bool   // a bwrap that starts with the rights of root may be used
	Aliases        []profile.KV
	Shims          []profile.KV // a command, and the profile that claims it
	Roles          *Roles       // nil without [roles]
	Keep           string       // how long records of runs are kept: see ParseAge
	Commands       *Commands    // nil without [commands]
	DefaultLimits  profile.Limits
	Hide           []string            // hidden from every box, on top of the table
	HideEnv        []string            // patterns of variables that pass into no box
	Groups         map[string][]string // the hosts of a group, in the place of its own: see registry.Hosts
	TrustPrefixes  []string            // folders whose profiles need no question, not expanded

	Settings []Setting        // all that it sets
	Former   []strict.Problem // lines of the version before that do nothing any more
}

// file is a config.toml as written. Tags say of a key what is plain text:
//
//	user    what a project does not do: the key is the user's own
//	former  why it does nothing any more
type file struct {
	SchemaVersion  strict.String               `toml:"schema_version"`
	DefaultProfile strict.String               `toml:"default_profile"`
	WorkspacesPath strict.String               `toml:"workspaces_path"`
	Log            strict.String               `toml:"log"`
	SetuidBwrap    strict.Bool                 `toml:"setuid_bwrap" user:"decide which bwrap is used"`
	Aliases        strict.Table[strict.String] `toml:"aliases"`
	Shims          strict.Table[strict.String] `toml:"shims"`
	Roles          strict.Table[strict.Words]  `toml:"roles"`
	Commands       strict.Table[strict.Switch] `toml:"commands"`
	SessionIdle    strict.String               `toml:"session_idle" former:"a session that nobody uses is kept for 12 hours"`
	Output         outputTable                 `toml:"output"`
	DefaultLimits  profile.LimitsTable         `toml:"default_limits"`
	Hide           hideTable                   `toml:"hide"`
	Groups         strict.Table[strict.Words]  `toml:"groups" user:"decide which hosts a group stands for"`
	Trust          trustTable                  `toml:"trust"`
}

// tagged calls do for the keys that are written and have a tag.
func (f *file) tagged(tag string, do func(at strict.Pos, key, text string)) {
	for _, k := range strict.Keys(f) {
		if text := k.Tag.Get(tag); text != "" {
			if k.Value.Set {
				do(k.Value.At, k.Name(), text)
			}
		}
	}
}

// Setting is one key of a config.toml and its value as text.
type Setting struct {
	Key   string // as it would be written: aliases.work, default_limits.memory
	Value string
}

// settings lists what a file sets, in the order of its sections, without what
// does nothing any more.
func (f *file) settings() (out []Setting) {
	for _, k := range strict.Keys(f) {
		if k.Tag.Get("former") != "" || k.Name() == "schema_version" {
			continue
		}
		var list []string
		for _, p := range k.Parts() {
			switch {
			case p.Text == "" || p.Text == "false" || k.Name() == "roles" && p.Key == order:
			case p.Key != "":
				out = append(out, Setting{k.Name() + "." + strict.Join(p.Key), p.Text})
			default:
				list = append(list, p.Text)
			}
		}
		if list != nil {
			out = append(out, Setting{k.Name(), strings.Join(list, ", ")})
		}
	}
	return out
}

// hideTable is [hide].
type hideTable struct {
	Paths strict.List `toml:"paths"`
	Env   strict.List `toml:"env"`
}

func (h hideTable) check(problems *strict.Problems) {
	for _, it := range h.Paths.Items {
		if t := it.Text; control(t) || t == "/" || !strings.HasPrefix(t, "~/") && !strings.HasPrefix(t, "/") {
			problems.Add(it.At, "hide.paths", fmt.Sprintf("%q is not an absolute path, nor one below ~/", t), "")
		}
	}
	for _, it := range h.Env.Items {
		if _, err := path.Match(it.Text, ""); err != nil || it.Text == "" || control(it.Text) || strings.ContainsAny(it.Text, "= /") {
			problems.Add(it.At, "hide.env", fmt.Sprintf("%q is not the name of a variable, nor a pattern such as \"MYCO_*\"", it.Text), "")
		}
	}
}

// Read is one config.toml as it was read. File is nil when there is none; of one
// with a fault only the digest is known.
type Read struct {
	Config *Config
	File   *profile.File
	Err    error // strict.Problems, or why the file cannot be read
}

// Claims are the words that [shims] maps.
func (r Read) Claims() (words []string) {
	for _, kv := range r.Config.Shims {
		words = append(words, kv.Key)
	}
	return words
}

// Load reads the user's own config.toml, or the one of a project, which may not decide what only the user
// decides. A file that is not there is an empty Config.
func Load(path string, project bool) Read {
	read, err := profile.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Read{Config: &Config{}}
	case err != nil:
		return Read{Err: err}
	}
	c, err := Parse(read, project)
	return Read{c, &read, err}
}

// Parse reads the bytes of a config.toml.
func Parse(read profile.File, project bool) (*Config, error) {
	var f file
	problems := strict.Decode(read.Path, read.Data, &f)
	check(&f, &problems)
	if project {
		f.tagged("user", func(at strict.Pos, key, what string) {
			problems.Add(at, key, "a project does not "+what, "write it into your own config.toml: inner config edit")
		})
	}
	if err := problems.Sorted().Err(); err != nil {
		return nil, err
	}
	return &Config{
		DefaultProfile: f.DefaultProfile.V, WorkspacesPath: f.WorkspacesPath.V, Log: f.Log.V, SetuidBwrap: f.SetuidBwrap.On(),
		Aliases: profile.Pairs(f.Aliases.Value), Shims: profile.Pairs(f.Shims.Value), Roles: roles(f.Roles), Commands: commands(f.Commands), DefaultLimits: f.DefaultLimits.Limits(), Hide: f.Hide.Paths.Texts(), HideEnv: f.Hide.Env.Texts(),
		Groups: groups(f.Groups), Keep: f.Output.Keep.V,
		TrustPrefixes: f.Trust.Prefixes.Texts(), Settings: f.settings(), Former: f.former(),
	}, nil
}

// former are the lines that did something in the version before.
func (f *file) former() (list strict.Problems) {
	f.tagged("former", func(at strict.Pos, key, since string) {
		list.Add(at, key, "does nothing any more: "+since, "take the line out")
	})
	return list
}

func check(f *file, problems *strict.Problems) {
	f.DefaultLimits.Check("default_limits", problems)
	checkVersion(f.SchemaVersion, problems)
	if p := f.DefaultProfile; p.V != "" {
		problems.Judge(p.At, "default_profile", profile.CheckName(p.V))
	}
	checkFolder(f.WorkspacesPath, "workspaces_path", problems)
	checkFolder(f.Log, "log", problems)
	f.Hide.check(problems)
	checkGroups(f.Groups, problems)
	checkRoles(f.Roles, problems)
	f.Output.check(problems)
	f.Trust.check(problems)
	checkCommands(f.Commands, problems)
	checkCount(f.Shims.At, "shims", len(f.Shims.Items), problems)
	for _, e := range f.Shims.Items {
		key := strict.Join("shims", e.Key)
		problems.Judge(e.At, key, profile.CheckCommand(e.Key))
		problems.Judge(e.At, key, profile.CheckName(e.Text))
	}
	for _, e := range f.Aliases.Items {
		problems.Judge(e.At, strict.Join("aliases", e.Key), checkAlias(e.Key, e.Text))
	}
}

func checkVersion(v strict.String, problems *strict.Problems) {
	if v.Set && v.V != "1" {
		problems.Add(v.At, "schema_version", fmt.Sprintf("is %q, this version of inner reads only \"1\"", v.V), "")
	}
}

func checkFolder(s strict.String, key string, problems *strict.Problems) {
	switch {
	case control(s.V):
		problems.Add(s.At, key, fmt.Sprintf("%q contains a control character", s.V), "")
	case s.V != "" && s.V != "~" && !strings.HasPrefix(s.V, "~/") && !strings.HasPrefix(s.V, "/"):
		problems.Add(s.At, key, fmt.Sprintf("%q is not an absolute path", s.V), "")
	}
}

// checkCount limits how many commands or roles a table has.
func checkCount(at strict.Pos, key string, n int, problems *strict.Problems) {
	if n > profile.MaxCommands {
		problems.Add(at, key, fmt.Sprintf("has %d entries, more than %d", n, profile.MaxCommands), "")
	}
}

func checkAlias(word, line string) error {
	switch {
	case word == "" || word[0] == '-' || strings.ContainsFunc(word, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return errors.New("an alias is one word that does not begin with a dash")
	case strings.TrimSpace(line) == "":
		return errors.New("is empty")
	case control(line):
		return fmt.Errorf("%q contains a control character", line)
	}
	_, err := Words(line)
	return err
}

func control(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }
