package profile

import (
	"cmp"
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
	strict.Problems
	s *source
}

// source looks at each key as a whole, and at each of its values.
func (v *validator) source() {
	v.former()
	keys := v.s.Keys()
	for i, r := range keyRules() {
		v.takes(keys[i], r.key, keys[i].Parts()...)
		if r.whole != nil {
			r.whole(v, keys[i])
		}
		if r.check != nil {
			v.each(keys[i], r.key, r.check)
		}
	}
}

// each has the values of a key checked, of a table each entry under its own name. One that removes
// an entry of the base has no value.
func (v *validator) each(k strict.Key, key string, check func(v *validator, key string, p strict.Item)) {
	for _, p := range k.Parts() {
		name := key
		if k.Kind == strict.ATable {
			name += "." + strict.Join(p.Key)
		}
		if k.Kind != strict.ATable || !v.removal(p.At, name, p.Key, p.Text) {
			check(v, name, p)
		}
	}
}

// takes checks values of a key against the words that it takes. In a list a leading dash removes a
// word of the base.
func (v *validator) takes(k strict.Key, key string, values ...strict.Item) {
	for _, p := range values {
		name := p.Text
		if k.Kind == strict.AList {
			name = strings.TrimPrefix(name, "-")
		}
		switch {
		case k.Words == nil || v.Full() || slices.Contains(k.Words, name):
		case k.Kind == strict.AList:
			v.Add(p.At, key, fmt.Sprintf("unknown name %q", p.Text), cmp.Or(strict.DidYouMean(name, k.Words), "inner profile resources lists them"))
		default:
			v.Add(p.At, key, fmt.Sprintf("%q is not one of %s", p.Text, strict.Quoted(k.Words)), strict.Meant("", p.Text, k.Words))
		}
	}
}

func (v *validator) commands(k strict.Key) {
	if n := len(k.Value.Items); n > MaxCommands {
		v.Add(k.Value.At, k.Name, fmt.Sprintf("has %d entries, more than %d", n, MaxCommands), "")
	}
}

func (v *validator) timeout(key string, p strict.Item) {
	if t, _ := strconv.ParseInt(p.Text, 10, 64); t < 0 || t > MaxSeconds {
		v.Add(p.At, key, fmt.Sprintf("%s is not between 0 (no limit) and %d", p.Text, int64(MaxSeconds)), "")
	}
}

func (v *validator) maxOutput(key string, p strict.Item) {
	if n, ok := Bytes(p.Text); !ok || n > MostOutput {
		v.Add(p.At, key, fmt.Sprintf("%q is not a size of at most 64M", p.Text), `write it like "256K"`)
	}
}

// MaxSeconds is ten years: far from overflowing a time.Duration.
const MaxSeconds = 10 * 365 * 24 * 3600

func (v *validator) version(k strict.Key) {
	switch sv := k.Value; {
	case !sv.Set && slices.ContainsFunc(v.Problems, func(p strict.Problem) bool { return p.Key == k.Name }):
	case !sv.Set:
		v.Add(strict.Pos{File: sv.At.File, Line: 1}, k.Name, "is missing", `add schema_version = "1" at the top`)
	case sv.V != "1":
		v.Add(sv.At, k.Name, fmt.Sprintf("is %q, this version of inner reads only \"1\"", sv.V), "")
	}
}

func (v *validator) name(key string, p strict.Item) {
	if p.Text != "" {
		v.Judge(p.At, key, CheckName(p.Text))
	}
}

func (v *validator) networkMode(key string, mode strict.Item) {
	if on := v.s.Value("sandbox.network"); on.Set && on.On() == (mode.Text == "off") {
		v.Add(mode.At, key, fmt.Sprintf("%q contradicts network = %s (line %d)", mode.Text, on.V, on.At.Line), "keep one of them")
	}
}

func (v *validator) homeAllow(key string, p strict.Item) {
	if v.filled(key, p); strings.HasPrefix(p.Text, "@") && p.Text != Toolchains {
		v.Add(p.At, key, fmt.Sprintf("%q is not a group", p.Text), `the only one is "`+Toolchains+`"`)
	}
}

func (v *validator) hide(key string, p strict.Item) {
	v.filled(key, p)
	if name, ok := strict.Removal(p.Text); ok && name != "" {
		return // what the base has was looked at there
	}
	_, err := gitignore.Absolute("/", p.Text)
	v.Judge(p.At, key, err)
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

func (v *validator) mounts(k strict.Key) {
	if n := len(k.Value.Items); n > maxMounts {
		v.Add(k.Value.At, "mounts", fmt.Sprintf("has %d entries, more than %d", n, maxMounts), "")
	}
	for _, e := range k.Value.Items {
		key := strict.Join("mounts", e.Key)
		dest, moved := e.Get("dest")
		missing, any := e.Get("missing")
		if v.removal(e.At, key, e.Key, e.Text+dest.Text+missing.Text) {
			continue
		}
		switch {
		case e.Key == System && (cmp.Or(e.Text, string(RO)) != string(RO) || moved || any):
			v.Add(e.At, key, "is read-only, and has no other place", strconv.Quote(System)+` = "ro"`)
		case e.Key == "":
			v.Add(e.At, key, "the path is empty", "")
		case control(e.Key):
			v.Add(e.At, key, "the path contains a control character", "")
		}
		for _, of := range k.Of {
			name := key
			if !of.Short {
				name += "." + of.Name
			}
			if p, ok := e.Get(of.Name); ok {
				v.takes(of, name, p)
			}
		}
		if moved && dest.Text == "" {
			v.Add(dest.At, key, "dest is empty", "leave it out to mount at the same path")
		}
		v.text(key, dest)
	}
}

// removal reports whether a key of a table removes one of the base.
func (v *validator) removal(at strict.Pos, key, text, value string) bool {
	name, ok := strict.Removal(text)
	switch {
	case !ok:
		return false
	case name == "":
		v.Add(at, key, "removes nothing: no name follows the dash", "")
	case value != "":
		v.Add(at, key, fmt.Sprintf("is %q, and a removal has no value", value), fmt.Sprintf(`%q = "" removes %q of the base`, text, name))
	}
	return true
}

func (v *validator) inherit(key string, p strict.Item) {
	name := strings.TrimPrefix(p.Text, "-")
	switch {
	case name == "*":
		v.Add(p.At, key, `"*" is every variable`, "write clearenv = false")
	case !isVariable(strings.ReplaceAll(name, "*", "X")):
		v.Add(p.At, key, fmt.Sprintf("%q is not the name of a variable", p.Text), "")
	}
}

func (v *validator) set(key string, p strict.Item) {
	if why := badVariable(p.Key); why != "" {
		v.Add(p.At, key, why, "")
	}
}

func (v *validator) pathPrepend(key string, p strict.Item) {
	if v.filled(key, p); strings.Contains(p.Text, ":") {
		v.Add(p.At, key, fmt.Sprintf("%q contains a colon", p.Text), "one folder for each item")
	}
}

// isVariable accepts the names shells accept.
func isVariable(s string) bool {
	return s != "" && strings.Trim(s, alphanumeric+"_") == "" && (s[0] < '0' || s[0] > '9')
}

const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

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

func (v *validator) gitOverride(key string, p strict.Item) {
	if _, err := gitconfig.Canonical(p.Key); err != nil {
		v.Add(p.At, key, err.Error(), `write it like "push.default"`)
	} else if control(p.Key) || strings.ContainsRune(p.Text, 0) {
		v.Add(p.At, key, "contains a control character", "")
	}
}

func (v *validator) program(key string, p strict.Item) {
	if why := badProgram(p.Text); why != "" {
		v.Add(p.At, key, why, "")
	}
	if words := strings.Fields(p.Text); len(words) > 1 && !strings.Contains(p.Text, "/") {
		v.Add(p.At, key, fmt.Sprintf("%q is a command line, and not a program", p.Text), fmt.Sprintf("cmd = %q and args = [%s]", words[0], strict.Quoted(words[1:])))
	}
}

func (v *validator) history(key string, p strict.Item) {
	if strings.TrimSpace(p.Text) == "" || control(strings.ReplaceAll(p.Text, "\t", "")) {
		v.filled(key, p)
	}
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

func (v *validator) checks(k strict.Key) {
	for _, c := range k.Value.Items {
		at := k.Value.At
		if first := keep(k.Of, func(of strict.Key) bool { _, ok := c.Get(of.Name); return ok }); first != nil {
			p, _ := c.Get(first[0].Name)
			at = p.At
		}
		if c.Text == "" {
			v.Add(at, k.Name, "a check needs a name", "")
		}
		if cmd, _ := c.Get("cmd"); cmd.Text == "" {
			v.Add(at, k.Name, fmt.Sprintf("check %q needs a cmd", c.Text), "")
		}
		for _, of := range k.Of {
			if p, ok := c.Get(of.Name); ok {
				v.takes(of, k.Name+"."+of.Name, p)
			}
		}
	}
}

// filled refuses empty items and control characters.
func (v *validator) filled(key string, p strict.Item) {
	if strings.TrimSpace(p.Text) == "" {
		v.Add(p.At, key, "contains an empty item", "")
	} else {
		v.text(key, p)
	}
}

// text refuses control characters.
func (v *validator) text(key string, p strict.Item) {
	if control(p.Text) {
		v.Add(p.At, key, fmt.Sprintf("%q contains a control character", p.Text), "")
	}
}

func control(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }

func (v *validator) networkAllow(key string, p strict.Item) {
	parse := hosts.ParseAllow
	text, refuses := strings.CutPrefix(strings.TrimPrefix(p.Text, "-"), "!")
	if refuses {
		parse = hosts.Parse
	}
	if _, err := parse(text); err != nil {
		hint := ""
		if group, ok := strings.CutPrefix(text, "@"); ok {
			hint = strict.Meant("@", group, hosts.Groups())
		}
		v.Add(p.At, key, err.Error(), hint)
	}
}
