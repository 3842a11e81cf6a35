// Package attack is the escape suite: known attempts to get out of a box, each of them
// really made.
//
// An attack is made twice: first without a box, to show that it works on this machine,
// because one that fails there proves nothing about a box; then in the box of a
// profile, after which the host is inspected. The output of the attack alone does not count: it
// must contain a secret that the attack was not given, or something on the host must have changed.
//
// Every attack has a fixture of its own: a home, a project, servers and a victim
// process that are made for it in a private folder and removed afterwards.
// No file of the user is read or changed; no packet leaves the machine.
//
// It does not show that there is no way out: it is a list of known ones.
package attack

import (
	"errors"
	"os/exec"

	"github.com/enr/inner/profile"
)

// Attack is one way out.
type Attack struct {
	Name  string
	Class string // files, secrets, sockets, processes, terminal, kernel
	What  string // what is tried

	// Terminal says that it needs a terminal as standard input and output.
	Terminal bool

	// Stage prepares the fixture on the host.
	Stage func(*Fixture) error
	// Try is the attack itself, bare or in the box. What it says is searched for
	// the secret.
	Try func(Trial) (string, error)
	// Effect looks at the host afterwards and says what has changed. Nil looks
	// for the mark in the watched files.
	Effect func(*Fixture) string
	// Claim says that there is nothing on the host to look at: the kernel let the
	// attack have what it must not, when Try returns no error.
	Claim bool
	// Launcher attacks inner instead of the inside, and replaces Try. Bare there is no Run.
	Launcher func(s *Fixture, run Run) (string, error)

	// Refused says that a box may not start at all where the fixture is, in words: then
	// nothing ran, and the attack was held.
	Refused bool
	// Declared says why the profile gives just this, or nothing; of a limit, that every profile does.
	Declared func(profile.RunConfig) string
}

// Run makes a command that is a run of inner, of /bin/sh with these arguments.
type Run func(args ...string) *exec.Cmd

// limit says why no profile keeps from this: docs/security.md names it among what is not promised.
func limit(why string) func(profile.RunConfig) string {
	return func(profile.RunConfig) string { return "a limit of inner: " + why }
}

// hardLinks is the reason of what a second name of a file, made before the run, gives.
var hardLinks = limit("other names of a file (hard links) are not looked for")

// ErrNotStarted says that a launcher attack found nothing to attack.
var ErrNotStarted = errors.New("it did not start")

// Trial is what an attack is told. The secret is not part of it.
type Trial struct {
	Attack string            `json:"attack"`
	Home   string            `json:"home"`
	Inner  string            `json:"inner"` // the inner binary
	App    string            `json:"app"`   // the project
	Mark   string            `json:"mark"`
	Text   map[string]string `json:"text,omitempty"`
	Number map[string]int    `json:"number,omitempty"`
	Paths  []string          `json:"paths,omitempty"`
}

// List returns all attacks, in order.
func List() []Attack {
	var list []Attack
	for _, part := range [][]Attack{
		files(), gits(), configs(), secrets(), hidden(), sockets(), proxies(), processes(), terminals(), typing(), kernels(), devices(), grants(), zones(), launchers(), repositories(), gitDirectories(),
	} {
		list = append(list, part...)
	}
	return list
}

// Find returns the attack of that name.
func Find(name string) (Attack, bool) {
	for _, a := range List() {
		if a.Name == name {
			return a, true
		}
	}
	return Attack{}, false
}

// Leak says what the attack got, given what it said, or nothing.
func (a Attack) Leak(s *Fixture, said string, err error) string {
	if s.told(said) {
		return "the secret was read" + where(said, s.Secret)
	}
	effect := a.Effect
	if effect == nil {
		effect = (*Fixture).marked
	}
	if e := effect(s); e != "" {
		return e
	}
	if a.Claim && err == nil {
		return "the kernel allowed it"
	}
	return ""
}
