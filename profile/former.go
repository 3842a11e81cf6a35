package profile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/profile/strict"
)

// Keys and words of the version before. What another line says as well is read as that line; what nothing does any
// more is an error that names it. Both end with the next version.

func formerKeys() []strict.Key {
	return []strict.Key{
		{Name: "sandbox.network_deny", Kind: strict.AList, Former: true},
		{Name: "sandbox.home_name", Former: true},
		{Name: "sandbox.pid_namespace", Kind: strict.ABool, Former: true},
		{Name: "sandbox.cgroup_manager", Former: true},
		{Name: "sandbox.seccomp", Former: true},
		{Name: "env.inherit_all", Kind: strict.ABool, Former: true},
		{Name: "noop.mode", Former: true},
	}
}

// former reads what a file says in words of the version before, and notes each line.
func (v *validator) former() {
	s := v.s
	for _, it := range s.Value("sandbox.network_deny").Items {
		dash, host := "", it.Text
		if rest, ok := strict.Removal(it.Text); ok {
			dash, host = "-", rest
		}
		v.now(it.At, "sandbox.network_deny", fmt.Sprintf(`network_allow = ["!%s"]`, host))
		v.append("sandbox.network_allow", strict.Item{Text: dash + "!" + host, At: it.At})
	}
	v.word("sandbox.seccomp", "off", "no-seccomp")
	v.word("sandbox.landlock", "off", "no-landlock")
	v.word("sandbox.proc", "bind", "host-proc")
	v.is("sandbox.home", "host", "host-ro")
	v.is("sandbox.git_dir", "checked", "own", "protected")
	if all, clear := s.Value("env.inherit_all"), s.Value("env.clearenv"); all.Set {
		v.now(all.At, "env.inherit_all", fmt.Sprintf("clearenv = %t", !all.On()))
		if clear.Set && clear.On() == all.On() {
			v.Add(all.At, "env.inherit_all", fmt.Sprintf("%s contradicts clearenv = %s (line %d)", all.V, clear.V, clear.At.Line), "keep one of them")
		}
		*clear = strict.Value{V: strconv.FormatBool(!all.On()), Place: all.Place}
	}
	seccomp := s.Value("sandbox.seccomp")
	v.takes(strict.Key{Words: []string{"default", "strict"}}, "sandbox.seccomp", strict.Key{Value: seccomp}.Parts()...)
	for _, gone := range []struct{ key, value, why string }{ // what a value did, and nothing does any more
		{"sandbox.pid_namespace", "false", "every box has processes of its own"},
		{"sandbox.cgroup_manager", "\x00", ""}, // any value
		{"sandbox.home_name", s.Value("sandbox.home_name").V, "a home belongs to one project"},
		{"sandbox.seccomp", "strict", "there is one filter of system calls"},
		{"noop.mode", "hard", "what is blocked is in front of PATH, also in the shells bash, sh, zsh and fish"},
	} {
		switch is := s.Value(gone.key); {
		case !is.Set || gone.value == "":
		case is.V == gone.value:
			v.Add(is.At, gone.key, "is no more: "+gone.why, "remove the line")
		default:
			v.now(is.At, gone.key, "")
		}
	}
}

// now notes that a line is read as another one; "" for as none.
func (v *validator) now(at strict.Pos, key, line string) {
	text, hint := "says nothing any more", "remove the line"
	if line != "" {
		text, hint = "is read as "+line, "write that"
	}
	v.s.former = append(v.s.former, at.Problem(key, text, hint))
}

// is reads old values of a key as their new name.
func (v *validator) is(key, now string, old ...string) {
	if field := v.s.Value(key); field.Set && slices.Contains(old, field.V) {
		last := key[strings.LastIndexByte(key, '.')+1:]
		v.now(field.At, key, fmt.Sprintf("%s = %q", last, now))
		field.V = now
	}
}

// word reads a value of a key as a word of [sandbox] allow; any other value takes that word out of the base's.
func (v *validator) word(key, old, word string) {
	switch field := v.s.Value(key); {
	case !field.Set:
	case field.V == old:
		v.now(field.At, key, fmt.Sprintf("allow = [%q]", word))
		v.append("sandbox.allow", strict.Item{Text: word, At: field.At})
		*field = strict.Value{}
	default:
		v.s.without = append(v.s.without, word)
	}
}

// append puts an item at the end of a list.
func (v *validator) append(key string, it strict.Item) {
	l := v.s.Value(key)
	if l.Items = append(l.Items, it); !l.Set {
		l.Set, l.At = true, it.At
	}
}
