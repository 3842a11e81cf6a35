package profile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/enr/inner/profile/gitconfig"
	"github.com/enr/inner/profile/gitignore"
	"github.com/enr/inner/profile/hosts"
	"github.com/enr/inner/profile/strict"
)

// validator collects the faults of one file: everything that can be seen
// without the environment and without the files it extends.
type validator struct {
	problems strict.Problems
	declared func() []string // see Loader

	asked map[string][]string // the words that each key takes, when somebody wants to know (see Language)
}

func (v *validator) ask(key string, words []string) {
	if v.asked != nil {
		v.asked[key] = words
	}
}

// maxProblems is how many faults of one file are told.
const maxProblems = 100

func (v *validator) full() bool { return len(v.problems) >= maxProblems }

func (v *validator) add(at strict.Pos, key, msg, hint string) {
	if v.full() {
		return
	}
	v.problems.Add(at, key, msg, hint)
}

// judge adds what err says, if it is one.
func (v *validator) judge(at strict.Pos, key string, err error) {
	if err != nil {
		v.add(at, key, err.Error(), "")
	}
}

func (v *validator) source(s *source) {
	v.former(s)
	keys := strict.Keys(s)
	for i, r := range keyRules() {
		if words := keys[i].Words; words != nil {
			v.ask(r.key, words)
			for _, p := range keys[i].Value.Parts() {
				v.oneOf(strict.String{V: p.Text, Set: true, At: p.At}, r.key, words)
			}
		}
		if r.check != nil {
			r.check(v, s, r.key)
		}
	}
}

func (v *validator) commands(s *source, key string) {
	if n := len(s.Shim.Commands.Items); n > MaxCommands {
		v.add(s.Shim.Commands.At, key, fmt.Sprintf("has %d entries, more than %d", n, MaxCommands), "")
	}
	for _, it := range s.Shim.Commands.Items {
		v.judge(it.At, key, CheckCommand(it.Text))
	}
}

func (v *validator) timeout(s *source, key string) {
	if t := s.Output.Timeout; t.Set && (t.V < 0 || t.V > MaxSeconds) {
		v.add(t.At, key, fmt.Sprintf("%d is not between 0 (no limit) and %d", t.V, int64(MaxSeconds)), "")
	}
}

func (v *validator) maxOutput(s *source, key string) {
	m := s.Output.MaxOutput
	if n, ok := Bytes(string(m.V)); m.Set && (!ok || n > MostOutput) {
		v.add(m.At, key, fmt.Sprintf("%q is not a size of at most 64M", m.V), `write it like "256K"`)
	}
}

// MaxSeconds is ten years: far from overflowing a time.Duration.
const MaxSeconds = 10 * 365 * 24 * 3600

func (v *validator) version(s *source, key string) {
	v.ask(key, []string{"1"})
	switch sv := s.SchemaVersion; {
	case !sv.Set && slices.ContainsFunc(v.problems, func(p strict.Problem) bool { return p.Key == key }):
	case !sv.Set:
		v.add(strict.Pos{File: sv.At.File, Line: 1}, key, "is missing", `add schema_version = "1" at the top`)
	case sv.V != "1":
		v.add(sv.At, key, fmt.Sprintf("is %q, this version of inner reads only \"1\"", sv.V), "")
	}
}

func (v *validator) name(s *source, key string) {
	if s.Name.V != "" {
		v.judge(s.Name.At, key, CheckName(s.Name.V))
	}
}

// capabilities returns the names a list of capabilities may hold.
func (v *validator) capabilities(l strict.List) []string {
	words := Capabilities()
	builtin := func(it strict.Item) bool { return slices.Contains(words, strings.TrimPrefix(it.Text, "-")) }
	for _, it := range l.Items {
		if v.declared != nil && !builtin(it) {
			return append(words, v.declared()...)
		}
	}
	return words
}

func (v *validator) networkMode(s *source, key string) {
	on, mode := s.Sandbox.Network, s.Sandbox.NetworkMode
	if on.Set && mode.Set && on.V == (mode.V == "off") {
		v.add(mode.At, key, fmt.Sprintf("%q contradicts network = %t (line %d)", mode.V, on.V, on.At.Line), "keep one of them")
	}
}

func (v *validator) homeAllow(s *source, key string) {
	v.filled(s.Sandbox.HomeAllow, key)
	for _, it := range s.Sandbox.HomeAllow.Items {
		if strings.HasPrefix(it.Text, "@") && it.Text != Toolchains {
			v.add(it.At, key, fmt.Sprintf("%q is not a group", it.Text), `the only one is "`+Toolchains+`"`)
		}
	}
}

func (v *validator) hide(s *source, key string) {
	v.filled(s.Sandbox.Hide, key)
	for _, it := range s.Sandbox.Hide.Items {
		if name, ok := strict.Removal(it.Text); ok && name != "" {
			continue // what the base has was looked at there
		}
		_, err := gitignore.Absolute("/", it.Text)
		v.judge(it.At, key, err)
	}
}

// maxMounts bounds the work of putting mounts in order, and is far more than
// anyone reads.
const maxMounts = 256

// MaxCommands bounds the words that one file claims: each can become a shim, and
// is looked at whenever the project is.
const MaxCommands = 256

// maxEntries bounds the other tables and lists whose work grows faster than
// they do.
const maxEntries = 1024

func (v *validator) mounts(t strict.Table[mountSpec]) {
	if len(t.Entries) > maxMounts {
		v.add(t.At, "mounts", fmt.Sprintf("has %d entries, more than %d", len(t.Entries), maxMounts), "")
	}
	for _, e := range t.Entries {
		key := strict.Join("mounts", e.Key)
		if v.removal(e.At, key, e.Key, e.Value.Mode.V+e.Value.Dest.V+e.Value.Missing.V) {
			continue
		}
		switch {
		case e.Key == System && (or(e.Value.Mode, string(RO)) != string(RO) || e.Value.Dest.Set || e.Value.Missing.Set):
			v.add(e.At, key, "is read-only, and has no other place", strconv.Quote(System)+` = "ro"`)
		case e.Key == "":
			v.add(e.At, key, "the path is empty", "")
		case control(e.Key):
			v.add(e.At, key, "the path contains a control character", "")
		}
		v.oneOf(e.Value.Mode, key, mountModes())
		v.oneOf(e.Value.Missing, key+".missing", missings())
		if d := e.Value.Dest; d.Set && d.V == "" {
			v.add(d.At, key, "dest is empty", "leave it out to mount at the same path")
		}
		v.text(e.Value.Dest, key)
	}
}

// removal reports whether a key of a table removes one of the base.
func (v *validator) removal(at strict.Pos, key, text, value string) bool {
	name, ok := strict.Removal(text)
	switch {
	case !ok:
		return false
	case name == "":
		v.add(at, key, "removes nothing: no name follows the dash", "")
	case value != "":
		v.add(at, key, fmt.Sprintf("is %q, and a removal has no value", value), fmt.Sprintf(`%q = "" removes %q of the base`, text, name))
	}
	return true
}

func (v *validator) inherit(s *source, key string) {
	for _, it := range s.Env.Inherit.Items {
		name := strings.TrimPrefix(it.Text, "-")
		switch {
		case name == "*":
			v.add(it.At, key, `"*" is every variable`, "write clearenv = false")
		case !isVariable(strings.ReplaceAll(name, "*", "X")):
			v.add(it.At, key, fmt.Sprintf("%q is not the name of a variable", it.Text), "")
		}
	}
}

func (v *validator) set(s *source, key string) {
	for _, e := range s.Env.Set.Entries {
		at := key + "." + strict.Join(e.Key)
		if v.removal(e.At, at, e.Key, e.Value) {
			continue
		}
		if why := badVariable(e.Key); why != "" {
			v.add(e.At, at, why, "")
		}
	}
}

func (v *validator) pathPrepend(s *source, key string) {
	v.filled(s.Env.PathPrepend, key)
	for _, it := range s.Env.PathPrepend.Items {
		if strings.Contains(it.Text, ":") {
			v.add(it.At, key, fmt.Sprintf("%q contains a colon", it.Text), "one folder for each item")
		}
	}
}

// isVariable accepts the names shells accept.
func isVariable(s string) bool {
	return s != "" && strings.Trim(s, alphanumeric+"_") == "" && (s[0] < '0' || s[0] > '9')
}

const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

func nameByte(c byte) bool { return strings.IndexByte(alphanumeric+"_", c) >= 0 }

// badVariable says why a profile or a flag may not set a variable, or "".
func badVariable(name string) string {
	switch {
	case name == "":
		return "a variable needs a name"
	case strings.HasPrefix(name, "INNER_") || strings.HasPrefix(name, "__INNER"):
		return "variables of this name are inner's own"
	case strings.ContainsFunc(name, func(r rune) bool { return r == '=' || r <= ' ' || r >= 0x7f }):
		return "is not the name of a variable"
	}
	return ""
}

func (v *validator) gitOverrides(s *source, key string) {
	for _, e := range s.Git.Overrides.Entries {
		at := key + "." + strict.Join(e.Key)
		if v.removal(e.At, at, e.Key, e.Value) {
			continue
		}
		if _, err := gitconfig.Canonical(e.Key); err != nil {
			v.add(e.At, at, err.Error(), `write it like "push.default"`)
		} else if control(e.Key) || strings.ContainsRune(e.Value, 0) {
			v.add(e.At, at, "contains a control character", "")
		}
	}
}

func (v *validator) program(s *source, key string) {
	cmd := s.Entrypoint.Cmd
	if why := badProgram(cmd.V); cmd.V != "" && why != "" {
		v.add(cmd.At, key, why, "")
	}
	if words := strings.Fields(cmd.V); len(words) > 1 && !strings.Contains(cmd.V, "/") {
		v.add(cmd.At, key, fmt.Sprintf("%q is a command line, and not a program", cmd.V), fmt.Sprintf("cmd = %q and args = [%s]", words[0], quotedList(words[1:])))
	}
}

func (v *validator) history(s *source, key string) {
	v.filled(s.Entrypoint.History, key)
	for _, it := range s.Entrypoint.History.Items {
		if strings.ContainsFunc(it.Text, func(r rune) bool { return r != '\t' && unicode.IsControl(r) }) {
			v.add(it.At, key, fmt.Sprintf("%q contains a control character", it.Text), "")
		}
	}
}

func quotedList(words []string) string {
	return strings.Join(eachOf(words, strconv.Quote), ", ")
}

// badProgram says why a word cannot be the program of a box, or "".
func badProgram(cmd string) string {
	switch {
	case control(cmd):
		return fmt.Sprintf("%q contains a control character", cmd)
	case cmd == "." || cmd == "..":
		return fmt.Sprintf("%q is not a program", cmd)
	case strings.Contains(cmd, "/") && !filepath.IsAbs(cmd):
		return fmt.Sprintf("%q is neither a bare name nor an absolute path", cmd)
	}
	return ""
}

func (v *validator) checks(s *source, key string) {
	for _, c := range s.Verify.Custom.Checks.Rows {
		v.check(c, key, s.Verify.Custom.Checks.At)
	}
}

func (v *validator) check(c checkRow, key string, at strict.Pos) {
	for _, s := range []strict.String{c.Name, c.Cmd, c.Severity} {
		if s.Set {
			at = s.At
			break
		}
	}
	if c.Name.V == "" {
		v.add(at, key, "a check needs a name", "")
	}
	if c.Cmd.V == "" {
		v.add(at, key, fmt.Sprintf("check %q needs a cmd", c.Name.V), "")
	}
	v.oneOf(c.Severity, key+".severity", severities())
}

// oneOf checks a word against the ones its key takes.
func (v *validator) oneOf(s strict.String, key string, words []string) {
	v.ask(key, words)
	if s.Set && !slices.Contains(words, s.V) {
		v.add(s.At, key, fmt.Sprintf("%q is not one of %s", s.V, quotedList(words)), strict.Meant("", s.V, words))
	}
}

// names checks the words of a list against the ones its key takes. A leading
// dash removes a word of the base.
func (v *validator) names(l strict.List, key string, words []string) {
	v.ask(key, words)
	for _, it := range l.Items {
		if v.full() {
			return
		}
		if name := strings.TrimPrefix(it.Text, "-"); !slices.Contains(words, name) {
			v.add(it.At, key, fmt.Sprintf("unknown name %q", it.Text), strict.DidYouMean(name, words))
		}
	}
}

// filled refuses empty items and control characters other than tabs.
func (v *validator) filled(l strict.List, key string) {
	for _, it := range l.Items {
		switch {
		case strings.TrimSpace(it.Text) == "":
			v.add(it.At, key, "contains an empty item", "")
		case key != "entrypoint.history" && control(it.Text):
			v.add(it.At, key, fmt.Sprintf("%q contains a control character", it.Text), "")
		}
	}
}

// text refuses control characters in a path.
func (v *validator) text(s strict.String, key string) {
	if control(s.V) {
		v.add(s.At, key, fmt.Sprintf("%q contains a control character", s.V), "")
	}
}

func control(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }

func (v *validator) networkAllow(s *source, key string) {
	for _, it := range s.Sandbox.NetworkAllow.Items {
		parse := hosts.ParseAllow
		text, refuses := strings.CutPrefix(strings.TrimPrefix(it.Text, "-"), "!")
		if refuses {
			parse = hosts.Parse
		}
		if _, err := parse(text); err != nil {
			hint := ""
			if group, ok := strings.CutPrefix(text, "@"); ok {
				hint = strict.Meant("@", group, hosts.Groups())
			}
			v.add(it.At, key, err.Error(), hint)
		}
	}
}
