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

// language are the keys of a config.toml.
func language() []strict.Key {
	return slices.Concat([]strict.Key{
		{Name: "schema_version"},
		{Name: "default_profile"},
		{Name: "workspaces_path"},
		{Name: "log"},
		{Name: "setuid_bwrap", Kind: strict.ABool},
		{Name: "aliases", Kind: strict.ATable},
		{Name: "shims", Kind: strict.ATable},
		{Name: "roles", Kind: strict.ATable, Entry: strict.AWord},
		{Name: "commands", Kind: strict.ATable, Entry: strict.ASwitch},
		{Name: "session_idle"},
		{Name: "output.keep"}, // "30d"
		{Name: "output.size"},
	}, profile.LimitKeys("default_limits"), hideKeys(), []strict.Key{
		{Name: "groups", Kind: strict.ATable, Entry: strict.AWord},
		{Name: "trust.prefixes", Kind: strict.AList}, // folders
		{Name: "trust.clones", Kind: strict.ABool},
	})
}

// hideKeys are those of [hide], in the file of an organisation, too.
func hideKeys() []strict.Key {
	return []strict.Key{{Name: "hide.paths", Kind: strict.AList}, {Name: "hide.env", Kind: strict.AList}}
}

// usersOwn are the keys that a project's file does not have, and what they are for.
func usersOwn() map[string]string {
	return map[string]string{
		"setuid_bwrap": "decide which bwrap is used", "output.keep": "decide how long records are kept",
		"groups": "decide which hosts a group stands for", "trust.prefixes": "decide what needs no question",
	}
}

// formerKeys are those that do nothing any more, and why.
func formerKeys() map[string]string {
	return map[string]string{
		"session_idle": "a session that nobody uses is kept for 12 hours",
		"output.size":  "records are kept up to a size of their own, and as long as output.keep says",
		"trust.clones": "a clone, and what has a remote, is asked about",
	}
}

// file is a config.toml as written.
type file struct{ strict.Doc }

// named calls do for the keys that are written and have a text.
func (f *file) named(texts map[string]string, do func(at strict.Pos, key, text string)) {
	for _, k := range f.Keys() {
		if text := texts[k.Name]; text != "" && k.Value.Set {
			do(k.Value.At, k.Name, text)
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
	for _, k := range f.Keys() {
		if formerKeys()[k.Name] != "" || k.Name == "schema_version" {
			continue
		}
		var list []string
		for _, p := range k.Parts() {
			switch {
			case p.Text == "" || p.Text == "false" || k.Name == "roles" && p.Key == order:
			case p.Key != "":
				out = append(out, Setting{k.Name + "." + strict.Join(p.Key), p.Text})
			default:
				list = append(list, p.Text)
			}
		}
		if list != nil {
			out = append(out, Setting{k.Name, strings.Join(list, ", ")})
		}
	}
	return out
}

func checkHide(d *strict.Doc, problems *strict.Problems) {
	for _, it := range d.Value("hide.paths").Items {
		if t := it.Text; control(t) || t == "/" || !strings.HasPrefix(t, "~/") && !strings.HasPrefix(t, "/") {
			problems.Add(it.At, "hide.paths", fmt.Sprintf("%q is not an absolute path, nor one below ~/", t), "")
		}
	}
	for _, it := range d.Value("hide.env").Items {
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
	return Of(read, err, project)
}

// Of is what Load returns for a file, or for the error of reading it.
func Of(read profile.File, err error, project bool) Read {
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
	doc, problems := strict.Decode(read.Path, read.Data, language())
	f := file{doc}
	f.check(&problems)
	if project {
		f.named(usersOwn(), func(at strict.Pos, key, what string) {
			problems.Add(at, key, "a project does not "+what, "write it into your own config.toml: inner config edit")
		})
	}
	if err := problems.Sorted().Err(); err != nil {
		return nil, err
	}
	return &Config{
		DefaultProfile: f.Value("default_profile").V, WorkspacesPath: f.Value("workspaces_path").V, Log: f.Value("log").V,
		SetuidBwrap: f.Value("setuid_bwrap").On(), Aliases: profile.Pairs(*f.Value("aliases")), Shims: profile.Pairs(*f.Value("shims")),
		Roles: roles(*f.Value("roles")), Commands: commands(*f.Value("commands")), Groups: groups(*f.Value("groups")),
		DefaultLimits: profile.LimitsOf(f.limits()), Hide: f.Value("hide.paths").Texts(), HideEnv: f.Value("hide.env").Texts(),
		Keep: f.Value("output.keep").V, TrustPrefixes: f.Value("trust.prefixes").Texts(), Settings: f.settings(), Former: f.former(),
	}, nil
}

func (f *file) limits() []strict.Item { return profile.TableOf(&f.Doc, "default_limits") }

// former are the lines that did something in the version before.
func (f *file) former() (list strict.Problems) {
	f.named(formerKeys(), func(at strict.Pos, key, since string) {
		list.Add(at, key, "does nothing any more: "+since, "take the line out")
	})
	return list
}

func (f *file) check(problems *strict.Problems) {
	profile.CheckLimits(f.limits(), "default_limits", problems)
	checkVersion(&f.Doc, problems)
	if p := f.Value("default_profile"); p.V != "" {
		problems.Judge(p.At, "default_profile", profile.CheckName(p.V))
	}
	for _, key := range []string{"workspaces_path", "log"} {
		checkFolder(*f.Value(key), key, problems)
	}
	checkHide(&f.Doc, problems)
	checkGroups(*f.Value("groups"), problems)
	checkRoles(*f.Value("roles"), problems)
	checkKeep(*f.Value("output.keep"), problems)
	checkPrefixes(*f.Value("trust.prefixes"), problems)
	checkCommands(*f.Value("commands"), problems)
	shims := f.Value("shims")
	checkCount(shims.At, "shims", len(shims.Items), problems)
	for _, e := range shims.Items {
		key := strict.Join("shims", e.Key)
		problems.Judge(e.At, key, profile.CheckCommand(e.Key))
		problems.Judge(e.At, key, profile.CheckName(e.Text))
	}
	for _, e := range f.Value("aliases").Items {
		problems.Judge(e.At, strict.Join("aliases", e.Key), checkAlias(e.Key, e.Text))
	}
}

func checkVersion(d *strict.Doc, problems *strict.Problems) {
	if v := d.Value("schema_version"); v.Set && v.V != "1" {
		problems.Add(v.At, "schema_version", fmt.Sprintf("is %q, this version of inner reads only \"1\"", v.V), "")
	}
}

func checkFolder(s strict.Value, key string, problems *strict.Problems) {
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
