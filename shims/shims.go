// Package shims makes a link for every command that a profile claims, and decides what
// that link does when it is run.
//
// A shim is a symbolic link in INNER_HOME/shims/bin, the first folder on PATH, to
// a private copy of the inner binary. Called by that name, inner asks Decide, from
// the working folder of the call:
//
//	call, ok := shims.Invoked(shims.ExecFn(), os.Args[0])
//	if ok {
//		switch d := shims.Decide(shims.HostEnv(call)); d.Kind {
//		case shims.PassThrough: // shims.Exec: nothing here claims the command
//		case shims.Run:         // d.Profile, for d.Project
//		case shims.Refuse:      // d.Reason, d.Hint, exit with d.ExitCode
//		}
//	}
//
// What it promises: where a profile claims the command, the command runs in that
// profile's sandbox or not at all. Every doubt (a profile that is not allowed,
// changed, gone or does not parse, a working folder that cannot be named, a record
// that cannot be read, two profiles with an equal claim) ends in a refusal with one
// line that says why. What it does not promise: a program called by its absolute
// path, or with another PATH, never meets a shim.
//
// Wanted says which names exist, Regenerate makes the folder so. NoopScripts writes
// the other kind of shim, the one that blocks or redirects a command inside the box.
//
// The names on the list of everyday tools (see Everyday) are special in one way: an
// untrusted profile cannot get in their way.
package shims

import "slices"

// ExitRefused is the exit status of a refusal, and of a program that cannot be
// executed; ExitNotFound that of a program that does not exist.
const (
	ExitRefused  = 126
	ExitNotFound = 127
)

// Agents returns the agents inner knows. Those that are installed always have a
// shim, so that a project nobody has entered yet is met by one too. This is the one
// list of them.
func Agents() []string {
	return []string{
		"aider", "amp", "claude", "cline", "codex", "copilot", "cursor-agent",
		"gemini", "goose", "opencode", "pi", "qwen",
	}
}

func isAgent(name string) bool {
	return slices.Contains(Agents(), name)
}
