// Package fault describes a run that must not start: what is wrong, what to type, and the exit
// code. A Refusal is an error, and the functions here find it in an error that wraps it.
//
//	return fault.Refuse(126, "inner allow", "profile %q is not allowed", name)
package fault

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// Refusal is a run that must not start, with something to type.
type Refusal struct {
	Msg  string
	Hint string // "" when there is nothing to type
	Code int    // the exit code, as docs/architecture.md lists them
	Kind string // what sort of fault it is for a program that reads it, one of Kinds; "" follows from Code
}

// The kinds of refusals, as `inner exec --json` tells them.
const (
	KindUsage      = "usage"       // the call itself is wrong
	KindNotFound   = "not_found"   // there is no such program, or it cannot be executed
	KindNotTrusted = "not_trusted" // the profile, or what it grants, is not allowed
	KindProfile    = "profile"     // the profile, or a config.toml, cannot be used
	KindNoSandbox  = "no_sandbox"  // the box cannot be made here
	KindLimits     = "limits"      // a limit cannot be held, or is too small for the box
	KindWorkdir    = "workdir"     // the folder cannot be used, or is not in the box
	KindTimeout    = "timeout"     // the timeout was reached
	KindBackend    = "backend"     // bwrap or a container engine is missing or cannot do what the profile asks; also cancelled calls and faults of inner
)

// KindOf returns the kind of an error: that of its refusal, or the one that the exit code of the
// refusal implies. Without a refusal it is KindProfile, because the faults that are found while
// profiles and config.toml are loaded are plain errors, but for a disk that takes nothing.
func KindOf(err error) string {
	r := AsRefusal(err)
	switch {
	case r == nil && Room(err) != "":
		return KindNoSandbox
	case r == nil:
		return KindProfile
	case r.Kind != "":
		return r.Kind
	case r.Code == 2:
		return KindUsage
	case r.Code == 127:
		return KindNotFound
	case r.Code == 125:
		return KindNoSandbox
	}
	return KindProfile
}

func (r *Refusal) Error() string { return r.Msg }

// Refuse returns a Refusal.
func Refuse(code int, hint, format string, args ...any) error {
	return &Refusal{Msg: fmt.Sprintf(format, args...), Hint: hint, Code: code}
}

// AsRefusal returns the refusal in err, or nil.
func AsRefusal(err error) *Refusal {
	r, _ := errors.AsType[*Refusal](err)
	return r
}

// First is the first line of an error, with a word about the rest.
func First(err error) string {
	first, rest, more := strings.Cut(err.Error(), "\n")
	if more {
		first += fmt.Sprintf(" (and %d more)", strings.Count(rest, "\n")+1)
	}
	return first
}

// Room returns a hint for an error of a file system that is full or read-only, and "" for any
// other.
func Room(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "the disk is full: inner log clean, inner home list and inner changes list show what inner keeps there"
	case errors.Is(err, syscall.EROFS):
		return "that place is read-only; where it is inner's own, INNER_HOME=FOLDER names another one"
	}
	return ""
}

// Code returns the exit code of an error: that of its refusal, or 125.
func Code(err error) int {
	if r := AsRefusal(err); r != nil {
		return r.Code
	}
	return 125
}
