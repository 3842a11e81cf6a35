// Package quote turns any text without a NUL byte into one word of a shell.
//
// There is one quoter per shell, because no form is right in all of them: fish
// reads a backslash inside single quotes, zsh expands a word that starts with
// "=", and only bash and zsh know $'...'. What each function promises is that
// the shell, reading the result where a word is expected, sees one word whose
// bytes are those of the argument.
//
//	quote.Bash("it's")        // $'it\047s'
//	quote.Fish("it's")        // it\X27s
//	quote.POSIX("it's")       // 'it'"'"'s'
//
// Quoting does not change what a program does with a word: one that starts
// with a dash is still an option to whoever looks for options.
//
// A NUL byte cannot be part of a shell word; the functions leave it out, so
// callers refuse such text first.
package quote

import (
	"cmp"
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
func Elvish(s string) string { return `"` + escaped(s, `\x%02x`, true, harmless) + `"` }

// Nu quotes s for Nushell and its data format NUON. Its strings are UTF-8: bytes that are not become U+FFFD.
func Nu(s string) string {
	keep := func(r rune) bool { return r != '"' && r != '\\' && unicode.IsPrint(r) }
	return `"` + escaped(strings.ToValidUTF8(s, "\ufffd"), `\u{%x}`, false, keep) + `"`
}

// Fish quotes s for fish, without quotes: there \X is a raw byte (fish manual, "Escaping characters"). What cannot
// be seen, and bytes that are no character, are written so, too.
func Fish(s string) string {
	keep := func(r rune) bool { return harmless(r) || r > 0x7f && r != utf8.RuneError && unicode.IsPrint(r) }
	return cmp.Or(escaped(s, `\X%02x`, true, keep), "''")
}

// POSIX quotes s for any shell that follows POSIX, such as the one behind
// /bin/sh. It is not for fish, and not for zsh words that may start with "=".
func POSIX(s string) string { return shellescape.Quote(strings.ReplaceAll(s, "\x00", "")) }

// dollar writes s as $'...' with everything that is not a plain character as
// three octal digits: no quote, no backslash and no byte above 0x7f is left
// for a shell to see in a second way, whatever its locale. With high, bytes above 0x7f stay.
func dollar(s string, high bool) string {
	if plain(s) {
		return s
	}
	keep := func(r rune) bool { return harmless(r) || strings.ContainsRune("=:~#", r) || high && r > 0x7f }
	return "$'" + escaped(s, `\%03o`, true, keep) + "'"
}

// escaped writes what is not to be kept of s as an escape, in a form for a byte or for a whole character.
func escaped(s, form string, bytes bool, keep func(rune) bool) string {
	var b strings.Builder
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == 0:
		case keep(r):
			b.WriteString(s[:n])
		case !bytes:
			fmt.Fprintf(&b, form, r)
		default:
			for i := range n {
				fmt.Fprintf(&b, form, s[i])
			}
		}
		s = s[n:]
	}
	return b.String()
}

// plain reports whether s is the same word without quotes in every shell.
func plain(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !harmless(r) })
}

func harmless(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return true
	}
	return strings.ContainsRune("_-./+,@", r)
}
