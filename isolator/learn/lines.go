package learn

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/profile/strict"
)

// profileLines are lines of a profile.
type profileLines struct{ bytes.Buffer }

func (b *profileLines) add(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }

// list adds a key and its values; of none, nothing.
func (b *profileLines) list(key string, values []string) {
	var quoted []string
	for _, v := range values {
		quoted = append(quoted, strict.Quote(v))
	}
	switch n := len(quoted); {
	case n >= 4:
		b.add("%s = [\n  %s,\n]", key, strings.Join(quoted, ",\n  "))
	case n > 0:
		b.add("%s = [%s]", key, strings.Join(quoted, ", "))
	}
}

// Lines are the needs as lines of a profile. What is not to be taken without a thought is a
// comment. short writes the home as ~.
func (l *Needs) Lines(short func(string) string) []byte {
	var b profileLines
	says := "it grants what the program needed"
	switch {
	case len(l.Hosts)+len(l.HomeAllow)+len(l.Mounts)+len(l.Variables.Missing)+len(l.Ports) > 0:
		says = "these lines are what it needed besides"
	case len(l.Hidden)+len(l.Refused)+len(l.Variables.Secret) > 0:
		says = "it does not grant what follows"
	case l.Code != 0:
		says = fmt.Sprintf("nothing was seen that it does not grant, and the program ended with %d", l.Code)
	}
	b.add("# learned from profile %s: %s", visible.Text(l.Profile), says)
	l.sandbox(&b, short)
	l.mounts(&b, short)
	l.Variables.lines(&b)
	if len(l.Had) > 0 {
		b.add("# listed already: %s", visible.Text(strings.Join(l.Had, ", ")))
	}
	if len(l.Programs) > 0 {
		var names []string
		for _, p := range l.Programs {
			if name := visible.Text(path.Base(p)); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		b.add("# programs it ran: %s", strings.Join(names, ", "))
	}
	if l.Unseen > 0 {
		b.add("# not seen: %d calls, of programs that cannot be inspected", l.Unseen)
	}
	return b.Bytes()
}

func (l *Needs) sandbox(b *profileLines, short func(string) string) {
	if len(l.Hosts)+len(l.HomeAllow)+len(l.Hidden)+len(l.Refused)+len(l.Ports) == 0 {
		return
	}
	b.add("[sandbox]")
	if len(l.Hosts) > 0 && len(l.Had) == 0 {
		b.add("network_mode = \"allowlist\"")
	}
	b.list("network_allow", l.Hosts)
	b.list("host_ports", l.Ports)
	var homeAllow []string
	for _, p := range l.HomeAllow {
		homeAllow = append(homeAllow, inProfile(short(p)))
	}
	b.list("home_allow", homeAllow)
	for _, h := range l.Hidden {
		b.add("# asked for and hidden: allow = [%s] would show it; think first", strict.Quote(h.Key))
		for _, p := range h.Paths {
			b.add("#   %s", visible.Text(short(p)))
		}
	}
	for _, h := range l.Refused {
		b.add("# refused also here: %s", visible.Text(h))
	}
	b.add("")
}

func (l *Needs) mounts(b *profileLines, short func(string) string) {
	if len(l.Mounts) == 0 {
		return
	}
	b.add("[mounts]")
	for _, m := range l.Mounts {
		if m.Cache {
			b.add("# tools outside use what the box writes into this cache; home = \"own\" gives it one of its own")
		}
		text := fmt.Sprintf("%s = %q", strict.Quote(inProfile(short(m.Path))), m.Mode)
		if m.Missing {
			text = "# " + text + " # written, and not on the host: make it first"
		}
		b.add("%s", text)
	}
	b.add("")
}

func (v Variables) lines(b *profileLines) {
	if len(v.Missing)+len(v.Secret)+len(v.Used) == 0 {
		return
	}
	b.add("[env] # a guess: their names are in what ran, or in what it opened")
	b.list("inherit", v.Missing)
	if len(v.Used) > 0 {
		b.add("# passed already: %s", visible.Text(strings.Join(v.Used, ", ")))
	}
	for _, name := range v.Secret {
		b.add("# looks like a secret: %s", visible.Text(name))
	}
	b.add("")
}

// inProfile writes a path as a profile has it.
func inProfile(p string) string { return strings.ReplaceAll(p, "$", "$$") }
