// Package completions holds the completion scripts of the shells; for tcsh, of the first word alone.
// They ask `inner __complete` for the words and evaluate nothing of the line:
// a command substitution on it is text until the person presses Enter.
package completions

import _ "embed"

//go:embed inner.bash
var bashText string

//go:embed _inner
var zshText string

//go:embed inner.fish
var fishText string

//go:embed inner.elv
var elvishText string

//go:embed inner.nu
var nuText string

//go:embed inner.tcsh
var tcshText string

// Shells lists the shells that have a script.
func Shells() []string { return []string{"bash", "zsh", "fish", "elvish", "nu", "tcsh"} }

// Script returns the script of a shell.
func Script(shell string) (text string, ok bool) {
	switch shell {
	case "bash":
		return bashText, true
	case "zsh":
		return zshText, true
	case "fish":
		return fishText, true
	case "elvish":
		return elvishText, true
	case "nu":
		return nuText, true
	case "tcsh":
		return tcshText, true
	}
	return "", false
}
