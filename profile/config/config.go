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
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
	"github.com/enr/inner/profile/strict"
)

// Config is config.toml as written; the zero value is that of a missing file.
type Config struct {
	DefaultProfile string
	WorkspacesPath string // not expanded
	Log            string // not expanded
	SetuidBwrap    bool   // a bwrap that starts with the rights of root may be used
	Aliases        []profile.KV
	Shims          []profile.KV  // a command, and the profile that claims it
	Roles          *Roles        // nil without [roles]
	Keep, KeepSize string        // how long, and how much of, records of runs are kept: see Retention
	Commands       *Commands     // nil without [commands]
	SessionIdle    time.Duration // how long a session that is not used is kept; 0 when it is not said
	DefaultLimits  profile.Limits
	Hide           []string                // hidden from every box, on top of the table
	HideEnv        []string                // patterns of variables that pass into no box
	Capabilities   []capability.Capability // declared by [capability.NAME]
	TrustPrefixes  []string                // folders whose profiles need no question, not expanded
	TrustClones    bool                    // also those of clones there
}

type file struct {
	SchemaVersion  strict.String               `toml:"schema_version"`
	DefaultProfile strict.String               `toml:"default_profile"`
	WorkspacesPath strict.String               `toml:"workspaces_path"`
	Log            strict.String               `toml:"log"`
	SetuidBwrap    strict.Bool                 `toml:"setuid_bwrap"`
	Aliases        strict.Table[string]        `toml:"aliases"`
	Shims          strict.Table[string]        `toml:"shims"`
	Roles          strict.Table[strict.Words]  `toml:"roles"`
	Commands       strict.Table[strict.Switch] `toml:"commands"`
	SessionIdle    strict.String               `toml:"session_idle"`
	DefaultLimits  profile.LimitsTable         `toml:"default_limits"`
	Hide           hideTable                   `toml:"hide"`

	Output outputTable `toml:"output"`
	Trust  trustTable  `toml:"trust"`

	Capability strict.Table[capability.Table] `toml:"capability"`
}

// hideTable is [hide].
type hideTable struct {
	Paths strict.List `toml:"paths"`
	Env   strict.List `toml:"env"`
}

func (h hideTable) check() []strict.Problem {
	var out []strict.Problem
	for _, it := range h.Paths.Items {
		if t := it.Text; control(t) || t == "/" || !strings.HasPrefix(t, "~/") && !strings.HasPrefix(t, "/") {
			out = append(out, it.At.Problem("hide.paths", fmt.Sprintf("%q is not an absolute path, nor one below ~/", t), ""))
		}
	}
	for _, it := range h.Env.Items {
		if _, err := path.Match(it.Text, ""); err != nil || it.Text == "" || control(it.Text) || strings.ContainsAny(it.Text, "= /") {
			out = append(out, it.At.Problem("hide.env", fmt.Sprintf("%q is not the name of a variable, nor a pattern such as \"MYCO_*\"", it.Text), ""))
		}
	}
	return out
}

// Load reads a config.toml. A file that is not there is an empty Config, a zero
// File and no error. On a fault the error is strict.Problems, or says why the
// file cannot be read; the File is that of the bytes that were judged.
func Load(path string) (*Config, profile.File, error) { return loadWith(path, nil) }

// LoadProject is Load for the config.toml of a project, which may not decide what only
// the user decides: see ofProject.
func LoadProject(path string) (*Config, profile.File, error) { return loadWith(path, ofProject) }

// ownConfig is the hint for what a project's config.toml may not say.
const ownConfig = "write it into your own config.toml: inner config edit"

// ofProject refuses the keys of a project's config.toml that only the user decides about.
func ofProject(f *file) []strict.Problem {
	var out []strict.Problem
	for _, k := range []struct {
		set       bool
		at        strict.Pos
		key, what string
	}{
		{f.SetuidBwrap.Set, f.SetuidBwrap.At, "setuid_bwrap", "decide which bwrap is used"},
		{f.SessionIdle.Set, f.SessionIdle.At, "session_idle", "decide how long sessions are kept"},
		{f.Output.Keep.Set, f.Output.Keep.At, "output.keep", "decide how long records are kept"},
		{f.Output.Size.Set, f.Output.Size.At, "output.size", "decide how long records are kept"},
		{f.Capability.Set, f.Capability.At, "capability", "declare capabilities"},
	} {
		if k.set {
			out = append(out, k.at.Problem(k.key, "a project does not "+k.what, ownConfig))
		}
	}
	return append(out, f.Trust.ofProject()...)
}

func loadWith(path string, more func(*file) []strict.Problem) (*Config, profile.File, error) {
	read, err := profile.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Config{}, profile.File{}, nil
	case err != nil:
		return nil, profile.File{}, err
	}
	c, err := parse(read, more)
	return c, read, err
}

// Declared returns, for profile.Loader, the names of the capabilities that a
// config.toml declares. A file with a fault declares nothing: whoever acts on it
// reports that.
func Declared(path string) func() []string {
	return func() []string {
		c, _, err := Load(path)
		if err != nil {
			return nil
		}
		var names []string
		for _, it := range c.Capabilities {
			names = append(names, it.Name)
		}
		return names
	}
}

// Parse reads the bytes of a config.toml.
func Parse(read profile.File) (*Config, error) { return parse(read, nil) }

// ParseProject is Parse for the config.toml of a project.
func ParseProject(read profile.File) (*Config, error) { return parse(read, ofProject) }

func parse(read profile.File, more func(*file) []strict.Problem) (*Config, error) {
	var f file
	problems := strict.Decode(read.Path, read.Data, &f)
	problems = append(problems, check(&f)...)
	if more != nil {
		problems = append(problems, more(&f)...)
	}
	slices.SortStableFunc(problems, func(a, b strict.Problem) int { return a.Line - b.Line })
	if len(problems) > 0 {
		return nil, strict.Problems(problems)
	}
	return &Config{
		DefaultProfile: f.DefaultProfile.V, WorkspacesPath: f.WorkspacesPath.V, Log: f.Log.V, SetuidBwrap: f.SetuidBwrap.V,
		Aliases: pairs(f.Aliases), Shims: pairs(f.Shims), Roles: roles(f.Roles), Commands: commands(f.Commands), SessionIdle: idle(f.SessionIdle.V), DefaultLimits: f.DefaultLimits.Limits(), Hide: f.Hide.Paths.Texts(), HideEnv: f.Hide.Env.Texts(),
		Capabilities: capabilities(f.Capability), Keep: f.Output.Keep.V, KeepSize: f.Output.Size.V,
		TrustPrefixes: f.Trust.Prefixes.Texts(), TrustClones: f.Trust.Clones.V,
	}, nil
}

func capabilities(t strict.Table[capability.Table]) []capability.Capability {
	var out []capability.Capability
	for _, e := range t.Entries {
		out = append(out, e.Value.Capability(e.Key))
	}
	return out
}

func check(f *file) []strict.Problem {
	problems := f.DefaultLimits.Check("default_limits")
	for _, e := range f.Capability.Entries {
		problems = append(problems, e.Value.Check(e.Key, e.At)...)
	}
	add := func(at strict.Pos, key, msg string) {
		problems = append(problems, at.Problem(key, msg, ""))
	}
	if v := f.SchemaVersion; v.Set && v.V != "1" {
		add(v.At, "schema_version", fmt.Sprintf("is %q, this version of inner reads only \"1\"", v.V))
	}
	if p := f.DefaultProfile; p.V != "" {
		if err := profile.CheckName(p.V); err != nil {
			add(p.At, "default_profile", err.Error())
		}
	}
	for _, s := range []struct {
		strict.String
		key string
	}{{f.WorkspacesPath, "workspaces_path"}, {f.Log, "log"}} {
		switch {
		case control(s.V):
			add(s.At, s.key, fmt.Sprintf("%q contains a control character", s.V))
		case s.V != "" && s.V != "~" && !strings.HasPrefix(s.V, "~/") && !strings.HasPrefix(s.V, "/"):
			add(s.At, s.key, fmt.Sprintf("%q is not an absolute path", s.V))
		}
	}
	problems = append(problems, f.Hide.check()...)
	problems = append(problems, checkRoles(f.Roles)...)
	problems = append(problems, f.Output.check()...)
	problems = append(problems, f.Trust.check()...)
	problems = append(problems, checkCommands(f.Commands)...)
	if s := f.SessionIdle; s.Set && idle(s.V) <= 0 {
		add(s.At, "session_idle", fmt.Sprintf("%q is not a time of at least a minute, such as \"12h\" or \"30m\"", s.V))
	}
	if n := len(f.Shims.Entries); n > profile.MaxCommands {
		add(f.Shims.At, "shims", fmt.Sprintf("has %d entries, more than %d", n, profile.MaxCommands))
	}
	for _, e := range f.Shims.Entries {
		key := strict.Join("shims", e.Key)
		if err := profile.CheckCommand(e.Key); err != nil {
			add(e.At, key, err.Error())
		}
		if err := profile.CheckName(e.Value); err != nil {
			add(e.At, key, err.Error())
		}
	}
	for _, e := range f.Aliases.Entries {
		key := strict.Join("aliases", e.Key)
		switch {
		case e.Key == "" || e.Key[0] == '-' || strings.ContainsFunc(e.Key, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
			add(e.At, key, "an alias is one word that does not begin with a dash")
		case strings.TrimSpace(e.Value) == "":
			add(e.At, key, "is empty")
		case control(e.Value):
			add(e.At, key, fmt.Sprintf("%q contains a control character", e.Value))
		default:
			if _, err := Words(e.Value); err != nil {
				add(e.At, key, err.Error())
			}
		}
	}
	return problems
}

func control(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }

func pairs(t strict.Table[string]) []profile.KV {
	var out []profile.KV
	for _, e := range t.Entries {
		out = append(out, profile.KV{Key: e.Key, Value: e.Value})
	}
	return out
}
