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

// formerSandbox are keys that [sandbox] had.
type formerSandbox struct {
	NetworkDeny   strict.List   `toml:"network_deny"`
	HomeName      strict.String `toml:"home_name"`
	PIDNamespace  strict.Bool   `toml:"pid_namespace"`
	CgroupManager strict.String `toml:"cgroup_manager"`
	Seccomp       strict.String `toml:"seccomp"`
}

// formerEnv are keys that [env] had.
type formerEnv struct {
	InheritAll strict.Bool `toml:"inherit_all"`
}

// formerNoop are keys that [noop] had.
type formerNoop struct {
	Mode strict.String `toml:"mode"`
}

// former reads what a file says in words of the version before, and notes each line.
func (v *validator) former(s *source) {
	b, e, n := &s.Sandbox, &s.Env, &s.Noop
	for _, it := range b.NetworkDeny.Items {
		dash, host := "", it.Text
		if rest, ok := strict.Removal(it.Text); ok {
			dash, host = "-", rest
		}
		v.now(s, it.At, "sandbox.network_deny", fmt.Sprintf(`network_allow = ["!%s"]`, host))
		appendItem(&b.NetworkAllow, strict.Item{Text: dash + "!" + host, At: it.At})
	}
	v.word(s, &b.Seccomp, "sandbox.seccomp", "off", "no-seccomp")
	v.word(s, &b.Landlock, "sandbox.landlock", "off", "no-landlock")
	v.word(s, &b.Proc, "sandbox.proc", "bind", "host-proc")
	v.takes(strict.Key{Words: []string{"default", "strict"}}, "sandbox.seccomp", strict.Key{Value: &b.Seccomp.Value}.Parts()...)
	v.is(s, &b.Home, "sandbox.home", "host", "host-ro")
	v.is(s, &b.GitDir, "sandbox.git_dir", "checked", "own", "protected")
	if all := e.InheritAll; all.Set {
		v.now(s, all.At, "env.inherit_all", fmt.Sprintf("clearenv = %t", !all.On()))
		if e.Clearenv.Set && e.Clearenv.On() == all.On() {
			v.Add(all.At, "env.inherit_all", fmt.Sprintf("%s contradicts clearenv = %s (line %d)", all.V, e.Clearenv.V, e.Clearenv.At.Line), "keep one of them")
		}
		e.Clearenv.Value = strict.Value{V: strconv.FormatBool(!all.On()), Place: all.Place}
	}
	for _, gone := range []struct {
		at         strict.Pos
		set, wrong bool
		key, why   string
	}{
		{b.PIDNamespace.At, b.PIDNamespace.Set, !b.PIDNamespace.On(), "sandbox.pid_namespace", "every box has processes of its own"},
		{b.CgroupManager.At, b.CgroupManager.Set, false, "sandbox.cgroup_manager", ""},
		{b.HomeName.At, b.HomeName.V != "", true, "sandbox.home_name", "a home belongs to one project"},
		{b.Seccomp.At, b.Seccomp.Set, b.Seccomp.V == "strict", "sandbox.seccomp", "there is one filter of system calls"},
		{n.Mode.At, n.Mode.Set, n.Mode.V == "hard", "noop.mode", "what is blocked is in front of PATH, also in the shells bash, sh, zsh and fish"},
	} {
		switch {
		case gone.set && gone.wrong:
			v.Add(gone.at, gone.key, "is no more: "+gone.why, "remove the line")
		case gone.set:
			v.now(s, gone.at, gone.key, "")
		}
	}
	b.formerSandbox, e.formerEnv, n.formerNoop = formerSandbox{}, formerEnv{}, formerNoop{}
}

// now notes that a line is read as another one; "" for as none.
func (v *validator) now(s *source, at strict.Pos, key, line string) {
	text, hint := "says nothing any more", "remove the line"
	if line != "" {
		text, hint = "is read as "+line, "write that"
	}
	s.former = append(s.former, at.Problem(key, text, hint))
}

// is reads old values of a key as their new name.
func (v *validator) is(s *source, field *strict.String, key, now string, old ...string) {
	if field.Set && slices.Contains(old, field.V) {
		last := key[strings.LastIndexByte(key, '.')+1:]
		v.now(s, field.At, key, fmt.Sprintf("%s = %q", last, now))
		field.V = now
	}
}

// word reads a value of a key as a word of [sandbox] allow; any other value takes that word out of the base's.
func (v *validator) word(s *source, field *strict.String, key, old, word string) {
	if field.Set && field.V == old {
		v.now(s, field.At, key, fmt.Sprintf("allow = [%q]", word))
		appendItem(&s.Sandbox.Allow, strict.Item{Text: word, At: field.At})
		*field = strict.String{}
	} else if field.Set {
		s.without = append(s.without, word)
	}
}

func appendItem(l *strict.List, it strict.Item) {
	if l.Items = append(l.Items, it); !l.Set {
		l.Set, l.At = true, it.At
	}
}
