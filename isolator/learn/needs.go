package learn

import (
	"maps"
	"slices"
	"strings"

	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/profile"
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
