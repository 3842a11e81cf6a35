// Package profile is the language in which a sandbox is described: TOML files
// that say what a program may see and do, read strictly, merged along extends,
// and expanded into a RunConfig.
//
// It promises three things. What it loads it has understood completely: an
// unknown key, a wrong type or a contradiction is an error with file, line and
// key, and all of them are reported at once. What it acts on is what was
// hashed: every file is opened once and read once, and File carries the bytes
// and their digest for whoever decides about trust. And a RunConfig is plain
// intent: absolute paths, no reference to the environment, no sandbox flag.
//
// It does not decide whether a profile may be used (profile/trust), it knows no
// flag of bwrap (isolator), and it changes nothing on disk.
//
//	l := profile.Loader{Home: home, GlobalDir: dir, Project: profile.FindProject(cwd, innerHome)}
//	path, scope, err := l.Find("claude")
//	p, err := l.Load(path, scope)       // extends, merge, everything static
//	rc, err := p.Resolve(context)       // flags, expansion, the working folder
package profile

import (
	"path/filepath"
)

// Profile is a loaded profile: merged with everything it extends and valid, but
// not yet expanded.
type Profile struct {
	Name         string // the file's name without .toml: what -p takes
	Path         string
	Scope        Scope
	Files        []File // the profile first, then each file it extends, nearest first
	Description  string
	Experimental bool // a run must refuse it

	src source // merged
}

// Commands returns the words this profile claims: [shim] commands, or else the
// base name of entrypoint.cmd. A profile that runs $SHELL claims nothing.
func (p *Profile) Commands() []string {
	if own := p.src.Value("shim.commands"); own.Set {
		return own.Texts()
	}
	cmd := p.Program()
	if cmd == "" {
		return nil
	}
	name := filepath.Base(cmd)
	if CheckCommand(name) != nil {
		return nil
	}
	return []string{name}
}

// Program returns entrypoint.cmd as written; "" means the user's $SHELL.
func (p *Profile) Program() string { return p.src.Value("entrypoint.cmd").V }

// When says for which calls the profile claims its commands: "always", "tty"
// (standard input is a terminal) or "pipe" (it is not).
func (p *Profile) When() string { return p.src.Value("shim.when").Or("always") }

// Extends returns the paths of the files the profile builds on, nearest first.
func (p *Profile) Extends() []string {
	var out []string
	for _, f := range p.Files[min(1, len(p.Files)):] {
		out = append(out, f.Path)
	}
	return out
}
