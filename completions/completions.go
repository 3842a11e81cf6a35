// Package completions holds the completion scripts of the shells.
// They ask `inner __complete` for the words and evaluate nothing of the line:
// a command substitution on it is text until the person presses Enter.
package completions

import "embed"

//go:embed inner.* _inner
var scripts embed.FS // allowed: embed writes only to a variable

// Shells lists the shells that have a script.
func Shells() []string { return []string{"bash", "zsh", "fish", "elvish", "nu", "tcsh"} }

// Script returns the script of a shell, which is one of Shells.
func Script(shell string) string {
	name := "inner." + shell
	switch shell {
	case "zsh":
		name = "_inner"
	case "elvish":
		name = "inner.elv"
	}
	text, _ := scripts.ReadFile(name)
	return string(text)
}
