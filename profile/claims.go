package profile

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/lazy"
)

// What may claim words in a text that is no TOML: a key, a list as far as it goes or else the first
// string of a line, and the strings in that, comments passed over. What stands between three quotes
// was put between one.
var (
	claimKey   = lazy.Regexp(`(?:^|[^\w-])(?:commands|cmd)["' \t]*=\s*`)
	claimValue = lazy.Regexp(`^(?:\[(?:"[^"\n]*"|'[^'\n]*'|#[^\n]*|[^\]="'#])*|[^\n"'#]*(?:"[^"\n]*"|'[^'\n]*'))`)
	claimWord  = lazy.Regexp(`#[^\n]*|"([^"\n]*)"|'([^'\n]*)'`)
	claimLines = lazy.Regexp(`"""[\r\n]*|'''[\r\n]*`)
)

const maxScanned = 64

// ScanClaims guesses the words that a profile which does not parse would claim,
// so that they keep refusing to run instead of running outside the sandbox: the
// name of its file, base, and whatever stands in quotes after commands = and
// cmd =. It may return words the profile does not claim; it never fails.
func ScanClaims(data []byte, base string) []string {
	var out []string
	add := func(word string) {
		if CheckCommand(word) == nil && !strings.ContainsAny(word, " \t") && !slices.Contains(out, word) && len(out) < maxScanned {
			out = append(out, word)
		}
	}
	add(strings.TrimSuffix(base, ".toml"))
	text := claimLines().ReplaceAllStringFunc(string(data[:min(len(data), MaxFileSize)]), func(quotes string) string { return quotes[:1] })
	for _, at := range claimKey().FindAllStringIndex(text, -1) {
		for _, word := range claimWord().FindAllStringSubmatch(claimValue().FindString(text[at[1]:]), maxScanned) {
			add(filepath.Base(word[1] + word[2]))
		}
	}
	return out
}
