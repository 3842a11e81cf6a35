// Package quote turns any text without a NUL byte into one word of a shell.
//
// There is one quoter per shell, because no form is right in all of them: fish
// reads a backslash inside single quotes, zsh expands a word that starts with
// "=", and only bash and zsh know $'...'. What each function promises is that
// the shell, reading the result where a word is expected, sees one word whose
// bytes are those of the argument.
//
//	quote.Bash("it's")        // $'it\047s'
//	quote.Fish("it's")        // 'it\'s'
//	quote.POSIX("it's")       // 'it'"'"'s'
//
// Quoting does not change what a program does with a word: one that starts
// with a dash is still an option to whoever looks for options.
//
// A NUL byte cannot be part of a shell word; the functions leave it out, so
// callers refuse such text first.
package quote

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"al.essio.dev/pkg/shellescape"
)

// Bash quotes s for bash. The result has no white space and no wildcard in
// it, so it also comes through word splitting and file name expansion
// unharmed, as happens in eval $(inner hook bash) written without quotes.
func Bash(s string) string { return dollar(s, false) }

// Zsh quotes s for zsh, in the same form as Bash: the escapes are common to
// both, and the plain form never starts with the "=" or "~" that zsh expands.
func Zsh(s string) string { return dollar(s, false) }

// Tcsh quotes s for tcsh 6.22 and newer: as Bash does, so that no "!" and no line break is left, but
// with the bytes above 0x7f as they are, since an escape stands for a character there.
func Tcsh(s string) string { return dollar(s, true) }

// Elvish quotes s for elvish, where \x is a raw byte.
func Elvish(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		if c := s[i]; c == 0 || harmless(c) {
			b.WriteString(strings.Trim(string(c), "\x00"))
		} else {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String() + `"`
}

// Nu quotes s for Nushell and its data format NUON. Its strings are UTF-8: bytes that are not become U+FFFD.
func Nu(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == 0:
		case r == '"' || r == '\\' || !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

// Fish quotes s for fish.
func Fish(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	quoted := false
	within := func(on bool) {
		if on != quoted {
			b.WriteByte('\'')
			quoted = on
		}
	}
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == 0:
		case r == '\'' || r == '\\':
			within(true)
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == utf8.RuneError && n == 1, !unicode.IsPrint(r):
			// Escapes mean something outside quotes only; \X is a raw byte (fish
			// manual, "Quotes" and "Escaping characters").
			within(false)
			for i := range n {
				fmt.Fprintf(&b, `\X%02x`, s[i])
			}
		default:
			within(true)
			b.WriteRune(r)
		}
		s = s[n:]
	}
	within(false)
	if b.Len() == 0 {
		return "''"
	}
	return b.String()
}

// POSIX quotes s for any shell that follows POSIX, such as the one behind
// /bin/sh. It is not for fish, and not for zsh words that may start with "=".
//
// The usual library for this compiles a regular expression when the program
// starts (measured: 25 us); the shim, which quotes nothing, would pay for it.
func POSIX(s string) string { return shellescape.Quote(strings.ReplaceAll(s, "\x00", "")) }

// dollar writes s as $'...' with everything that is not a plain character as
// three octal digits: no quote, no backslash and no byte above 0x7f is left
// for a shell to see in a second way, whatever its locale. With high, bytes above 0x7f stay.
func dollar(s string, high bool) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(s) {
		switch c := s[i]; {
		case c == 0:
		case harmless(c) || c == '=' || c == ':' || c == '~' || c == '#' || high && c > 0x7f:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// plain reports whether s is the same word without quotes in every shell.
func plain(s string) bool {
	for i := range len(s) {
		if !harmless(s[i]) {
			return false
		}
	}
	return s != ""
}

func harmless(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("_-./+,@", c) >= 0
}
