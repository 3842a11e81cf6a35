// Package hooks holds what inner does inside a running shell: the answers to
// the text that "inner hook SHELL" prints for the shell to evaluate.
//
// The hook maintains the shell and decides nothing. It promises that the
// shim folder is first on PATH at every prompt, that the shell forgets the stale
// location of a command when the set of shims changes, and that inner is asked
// once, not at every prompt, when the folder, the state or a watched profile
// changed. At a prompt where nothing changed it runs shell builtins only and
// starts no process. It does not keep a program from running: that is the
// shim's work.
//
// The text is made by package script. The protocol between hook and binary is in state.go.
package hooks

import (
	"fmt"
	"strings"

	"github.com/enr/inner/hooks/quote"
)

// Shells lists the shells that have a hook; sh stands for dash, ksh and others like them.
func Shells() []string { return []string{"bash", "zsh", "fish", "elvish", "nu", "tcsh", "sh"} }

// shell is one shell's way of quoting, and how it puts a value and a list into variables. One without
// lists has a test of the paths instead.
type shell struct {
	quote        func(string) string
	scalar, list string
	changed      func(watch, there, absent []string) string
}

func lookup(name string) (shell, error) {
	const posix, lists, fish = "__inner_%s=%s;\n", "__inner_%s=(%s);\n", "set -g __inner_%s %s\n"
	sh, known := map[string]shell{
		"bash":   {quote.Bash, posix, lists, nil},
		"zsh":    {quote.Zsh, posix, lists, nil},
		"fish":   {quote.Fish, fish, fish, nil},
		"elvish": {quote.Elvish, "set %s = %s\n", "set %s = [%s]\n", nil},
		"nu":     {quote.Nu, "%s: %s\n", "%s: [%s]\n", nil},
		"tcsh":   {quote.Tcsh, "set __inner_%s = %s;\n", "", changedTcsh},
		"sh":     {quote.POSIX, posix, "", changedPOSIX},
	}[name]
	if !known {
		list := Shells()
		last := len(list) - 1
		return sh, fmt.Errorf("there is no hook for the shell %q: %s and %s have one", name,
			strings.Join(list[:last], ", "), list[last])
	}
	return sh, nil
}

// Quote returns how the named shell writes any text as one word.
func Quote(name string) (func(string) string, error) {
	sh, err := lookup(name)
	return sh.quote, err
}
