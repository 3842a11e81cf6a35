// Package attack is the escape suite: known attempts to get out of a box, each of them
// really made.
//
// An attack is made twice: first without a box, to show that it works on this machine,
// because one that fails there proves nothing about a box; then in the box of a
// profile, after which the host is inspected. The output of the attack alone does not count: it
// must contain a secret that the attack was not given, or something on the host must have changed.
//
// An attack is a row: a few lines of shell that prepare the host, are run in the box, and
// look at the host afterwards (rows.txt), or a row that is made from a table of the product. What no
// word of a shell does is a word of the suite itself (words.go), which the box shows.
//
// Every attack has a fixture of its own: a home, a project, servers and a victim
// process that are made for it in a private folder and removed afterwards.
// No file of the user is read or changed; no packet leaves the machine.
//
// It does not show that there is no way out: it is a list of known ones.
package attack

import (
	"cmp"
	_ "embed"
	"os"
	"slices"
	"strings"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// Attack is one way out. The parts are shell text; see rows.txt.
type Attack struct {
	Name  string
	Class string // files, secrets, sockets, processes, terminal, kernel
	What  string // what is tried

	Stage, Try, Host, After string

	Shows     string // what must not be shown, with MARK for the mark
	Terminal  bool   // it needs a terminal as standard input and output
	Refusable bool   // a box may not start at all where the fixture is: then the attack was held
	declared  []reason
}

// reason is the key of a profile that gives just what an attack takes; "" for none.
type reason = func(profile.RunConfig) string

// Declared says why the profile gives just this, or nothing; of a limit, that every profile does.
func (a Attack) Declared(rc profile.RunConfig) string {
	for _, r := range a.declared {
		if why := r(rc); why != "" {
			return why
		}
	}
	return ""
}

//go:embed rows.txt
var rowsText string // allowed: embed writes only to a variable

// List returns all attacks.
func List() []Attack {
	return slices.Concat(rows(rowsText), configs(), environment(), hidden(), devices(), gitDirectories())
}

// Find returns the attack of that name.
func Find(name string) (Attack, bool) {
	list := List()
	if i := slices.IndexFunc(list, func(a Attack) bool { return a.Name == name }); i >= 0 {
		return list[i], true
	}
	return Attack{}, false
}

// rows reads rows.txt. What is wrong in it TestList notices.
func rows(text string) (list []Attack) {
	for _, block := range strings.Split(text, "\n== ")[1:] {
		head, rest, _ := strings.Cut(strings.TrimSpace(block), "\n")
		words := strings.Fields(head)
		a := Attack{Name: words[0], Class: words[1]}
		a.What, rest, _ = strings.Cut(rest, "\n")
		var part *string
		for line := range strings.SplitSeq(rest, "\n") {
			if name, more, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(line, "\t") {
				part, line = map[string]*string{
					"stage": &a.Stage, "try": &a.Try, "host": &a.Host,
					"after": &a.After, "shows": &a.Shows, "limit": new(string),
				}[name], more
				if name == "limit" {
					a.declared = append(a.declared, limit(more))
				}
			}
			if rest != "" {
				*part += line + "\n"
			}
		}
		a.Shows = strings.TrimSuffix(a.Shows, "\n")
		for _, word := range words[2:] {
			a.Terminal, a.Refusable = a.Terminal || word == "terminal", a.Refusable || word == "refusable"
			if word != "terminal" && word != "refusable" {
				a.declared = append(a.declared, reasonOf(word))
			}
		}
		list = append(list, a.usual())
	}
	return list
}

// usual completes an attack by what those of its class do.
func (a Attack) usual() Attack {
	usual := map[string]string{"files": `add "$@"`, "kernel": "allowed x call " + a.Name}
	a.Try = cmp.Or(a.Try, usual[a.Class], `look "$@"`)
	a.Host = cmp.Or(a.Host, `box "$TRY"`)
	return a
}

// limit says why no profile keeps from this: docs/security.md names it among what is not promised.
func limit(why string) reason {
	return func(profile.RunConfig) string { return "a limit of inner: " + why }
}

// when returns the reason that holds where the profile has that.
func when(why string, has func(profile.RunConfig) bool) reason {
	return func(rc profile.RunConfig) string {
		if has(rc) {
			return why
		}
		return ""
	}
}

// allows is a word of sandbox.allow.
func allows(word string) reason {
	return when(word, func(rc profile.RunConfig) bool { return slices.Contains(rc.Allow, word) })
}

// reasonOf returns the reason that a row names, nil where there is none of that name.
func reasonOf(word string) reason {
	if key, ok := strings.CutPrefix(word, "allow="); ok {
		return allows(key)
	}
	return map[string]reason{
		"containers": allows("nested-user-ns"),
		"home-rw": when("the home is mounted rw", func(rc profile.RunConfig) bool {
			return slices.ContainsFunc(rc.Mounts,
				func(m profile.Mount) bool { return m.Mode == profile.RW && m.Source == rc.HomeDir })
		}),
		"workdir-rw": when(`workdir_mode = "rw"`, func(rc profile.RunConfig) bool { return rc.WorkdirMode == profile.RW }),
		"git-rw":     when(`git_dir = "rw"`, func(rc profile.RunConfig) bool { return rc.GitDir == "rw" }),
		"net-full":   when("network = true", func(rc profile.RunConfig) bool { return rc.Network == profile.NetFull }),
		"host-proc":  when(`allow = ["host-proc"]`, func(rc profile.RunConfig) bool { return rc.Proc == "bind" }),
		"no-seccomp": when(`allow = ["no-seccomp"]`, func(rc profile.RunConfig) bool { return rc.Seccomp == "off" }),
		"clipboard":  when("clipboard", func(rc profile.RunConfig) bool { return rc.Clipboard }),
		"abstract":   openAbstract, "device-writes": writesAnywhere,
	}[word]
}

// openAbstract returns plan.AbstractOpen for this host.
func openAbstract(rc profile.RunConfig) string {
	f := host.Facts{Landlock: host.LandlockABI()}
	if rc.Clipboard {
		f.Display = host.FindDisplay(map[string]string{"DISPLAY": os.Getenv("DISPLAY")})
	}
	return plan.AbstractOpen(rc, f)
}

// writesAnywhere says why a box may open for writing what is no file and lies on
// a read-only mount.
func writesAnywhere(rc profile.RunConfig) string {
	switch {
	case rc.Landlock == "off":
		return `allow = ["no-landlock"]`
	case slices.Contains(rc.Allow, "nested-user-ns"):
		return "nested-user-ns: containers mount, which Landlock would forbid"
	}
	return ""
}
