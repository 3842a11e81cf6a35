// Package completions holds the completion scripts of bash, zsh and fish.
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

// Script returns the script of a shell.
func Script(shell string) (text string, ok bool) {
	switch shell {
	case "bash":
		return bashText, true
	case "zsh":
		return zshText, true
	case "fish":
		return fishText, true
	}
	return "", false
}
