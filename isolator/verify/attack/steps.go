package attack

import (
	"bytes"
	"errors"
	"os/exec"
	"slices"
	"strings"

	"github.com/enr/inner/profile"
)

// The steps that rows are made of: what is there before, what is done, and which key of a
// profile gives just that.

// stage prepares a fixture.
type stage = func(*Fixture) error

// puts writes a text into files of the home.
func puts(text string, names ...string) stage {
	return func(s *Fixture) error {
		var errs []error
		for _, name := range names {
			errs = append(errs, s.put(name, text))
		}
		return errors.Join(errs...)
	}
}

// planted writes the secret into files of the home, which the attack is told.
func planted(names ...string) stage {
	return func(s *Fixture) error {
		var errs []error
		for _, name := range names {
			s.target(name)
			errs = append(errs, s.plant(name))
		}
		return errors.Join(errs...)
	}
}

// watched has files of the home looked at afterwards, of which the attack is told nothing.
func watched(names ...string) stage {
	return func(s *Fixture) error {
		for _, name := range names {
			s.watched = append(s.watched, s.path(name))
		}
		return nil
	}
}

// aimed has a file of the home looked at afterwards; the attack is to leave its mark in it.
func aimed(name string) stage {
	return func(s *Fixture) error {
		s.watch(name)
		return nil
	}
}

// first has stages prepare the fixture before the attack's own.
func (a Attack) first(steps ...stage) Attack {
	steps = append(steps, a.Stage)
	a.Stage = func(s *Fixture) error {
		for _, step := range steps {
			if err := step(s); err != nil {
				return err
			}
		}
		return nil
	}
	return a
}

// gather does something with each item, and joins what is said.
func gather[T any](list []T, do func(T) (string, error)) (string, error) {
	var said strings.Builder
	var errs []error
	for _, it := range list {
		text, err := do(it)
		said.WriteString(text)
		errs = append(errs, err)
	}
	return said.String(), errors.Join(errs...)
}

// sh returns a command that runs a script, in a box when run is not nil.
func sh(run Run, script string) *exec.Cmd {
	if run == nil {
		return exec.Command("/bin/sh", "-c", script) // allowed: the attack is a script
	}
	return run("-c", script)
}

// script runs a script in the project, in a box when run is not nil, with flags of inner run
// where there are some.
func (s *Fixture) script(run Run, script string, flags ...string) (string, error) {
	cmd := withFlags(sh(run, script+"; echo was run"), flags...)
	cmd.Dir = s.App
	return ran(cmd.CombinedOutput())
}

// withFlags puts flags of inner run in front of what is for the program.
func withFlags(cmd *exec.Cmd, flags ...string) *exec.Cmd {
	if i := slices.Index(cmd.Args, "--"); i > 0 {
		cmd.Args = slices.Insert(cmd.Args, i, flags...)
	}
	return cmd
}

// ran returns the output of a script that prints "was run" at its end, and ErrNotStarted when it
// did not.
func ran(out []byte, err error) (string, error) {
	if !bytes.Contains(out, []byte("was run")) {
		return string(out), ErrNotStarted
	}
	return string(out), err
}

// output returns all that a command prints.
func output(cmd *exec.Cmd) (string, error) {
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// reason is the key of a profile that gives just what an attack takes; "" for none.
type reason = func(profile.RunConfig) string

// allows is a word of sandbox.allow.
func allows(word string) reason {
	return func(rc profile.RunConfig) string {
		if slices.Contains(rc.Allow, word) {
			return word
		}
		return ""
	}
}

// ownGitDir says that the profile gives the repository's own git directory.
func ownGitDir(rc profile.RunConfig) string {
	if rc.GitDir == "rw" {
		return `git_dir = "rw"`
	}
	return ""
}

// homeWritable says that the profile makes the home writable.
func homeWritable(rc profile.RunConfig) string {
	for _, m := range rc.Mounts {
		if m.Mode == profile.RW && m.Source == rc.HomeDir {
			return "the home is mounted rw"
		}
	}
	return ""
}
