package learn

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/strict"
)

// Needs are what a run would have needed beyond its profile: `inner learn`.
type Needs struct {
	Profile string   `json:"profile"`
	Command []string `json:"command"`
	Hosts   []string `json:"network_allow"`
	Had     []string `json:"listed_hosts"`  // reached, and in the profile's list already
	Refused []string `json:"refused_hosts"` // also while learning
	Ports   []string `json:"host_ports"`
	Suggestion
	Variables Variables `json:"variables"`
	Unseen    int       `json:"unseen"` // calls that could not be looked at
	Code      int       `json:"exit_code"`
}

// Variables are those of the caller that programs or files mention.
type Variables struct {
	Missing []string `json:"missing"` // not passed to the box
	Secret  []string `json:"secret"`  // not passed, and by its name a secret
	Used    []string `json:"used"`    // passed by [env] inherit
}

// NeedsOf sums up a run that was observed.
func NeedsOf(seen *Observer, run *features.Run, o *features.Outcome) *Needs {
	rc := run.Spec
	list, unseen := seen.Accesses()
	out := &Needs{
		Profile: rc.Name, Command: run.Plan.Argv, Hosts: []string{}, Had: []string{}, Refused: []string{}, Ports: []string{}, Unseen: unseen, Code: o.Code,
		Suggestion: Suggest(list, SettingOf(run)),
	}
	ports := map[string]bool{}
	for _, h := range o.Hosts {
		t := netproxy.Target{Host: h.Host, Port: h.Port}
		switch entry := features.EntryOf(t); {
		case h.Host == "":
		case h.Allowed+h.Failed == 0 && features.LocalPort(t) != "":
			ports[features.LocalPort(t)] = true
		case h.Allowed+h.Failed == 0:
			out.Refused = append(out.Refused, t.String())
		default:
			if h.Plain {
				entry = t.String()
			}
			list := &out.Hosts
			if h.Origin != netproxy.OriginLearn {
				list = &out.Had
			}
			if !slices.Contains(*list, entry) {
				*list = append(*list, entry)
			}
		}
	}
	out.Ports = append(out.Ports, slices.Sorted(maps.Keys(ports))...)
	out.Variables = variablesOf(seen, run, list)
	return out
}

// variablesOf guesses which variables of the caller the programs of a run read.
func variablesOf(seen *Observer, run *features.Run, list []Access) Variables {
	out := Variables{Missing: []string{}, Secret: []string{}, Used: []string{}}
	passed := map[string]bool{}
	for _, kv := range run.Plan.Env {
		name, _, _ := strings.Cut(kv, "=")
		passed[name] = true
	}
	// The words of the command line may be a script themselves.
	words := []byte(strings.Join(run.Plan.Argv, "\n"))
	for _, name := range Mentions(words, openedFiles(run.Plan.Program, list), seen.Open, guessable(run, passed)) {
		switch {
		case passed[name]:
			out.Used = append(out.Used, name)
		case profile.LooksSecret(name):
			out.Secret = append(out.Secret, name)
		default:
			out.Missing = append(out.Missing, name)
		}
	}
	return out
}

// guessable returns the variables of the caller that are worth looking for.
func guessable(run *features.Run, passed map[string]bool) (names []string) {
	for _, kv := range run.Environ {
		name, _, _ := strings.Cut(kv, "=")
		if telling(run.Spec.Env, name) && (!passed[name] || run.Spec.Env.Inherits(name)) {
			names = append(names, name)
		}
	}
	return names
}

// openedFiles returns the program, and the files that were executed or that it read; those of the
// system only when they were executed.
func openedFiles(program string, list []Access) []string {
	files := map[string]bool{program: true}
	for _, a := range list {
		if a.Box == File && (a.Exec || a.Read && !System(a.Path)) {
			files[a.Path] = true
		}
	}
	return slices.Sorted(maps.Keys(files))
}

// telling reports whether the name of a variable in a program is a sign that it reads that variable.
// The names of those that every shell has, and sets itself, are none.
func telling(env profile.Env, name string) bool {
	shells := []string{"_", "PWD", "OLDPWD", "SHLVL", "PATH", "SHELL", "IFS", "PS1"}
	return !slices.Contains(shells, name) && !env.Kept(name) && !strings.HasPrefix(name, "INNER_")
}

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

// How much is read in search of names of variables.
const (
	maxFile = 64 << 20
	maxRead = 256 << 20
)

// Mentions returns which names occur as words in text, or in files that were
// executed or opened. Reading a variable is not a system call, so this is a guess: a program
// may name variables that it never reads, and read variables whose names it composes.
func Mentions(text []byte, files []string, open func(string) (*os.File, error), names []string) (found []string) {
	left := map[string]bool{}
	for _, n := range names {
		left[n] = true
	}
	read := int64(0)
	for i := 0; ; i++ {
		for word := range bytes.FieldsFuncSeq(text, func(r rune) bool { return !isWord(r) }) {
			if left[string(word)] {
				delete(left, string(word))
				found = append(found, string(word))
			}
		}
		if i == len(files) || len(left) == 0 || read >= maxRead {
			slices.Sort(found)
			return found
		}
		text = nil
		if f, err := open(files[i]); err == nil {
			text, _ = io.ReadAll(io.LimitReader(f, min(maxFile, maxRead-read))) // as much as can be read
			_ = f.Close()
		}
		read += int64(len(text))
	}
}

func isWord(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
}
