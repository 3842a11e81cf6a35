package profile

import (
	"path/filepath"
	"slices"
	"strings"
)

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
	text := string(data[:min(len(data), MaxFileSize)])
	for _, key := range []string{"commands", "cmd"} {
		before, rest, found := strings.Cut(text, key)
		for ; found; before, rest, found = strings.Cut(rest, key) {
			if before != "" && (nameByte(before[len(before)-1]) || before[len(before)-1] == '-') {
				continue // the end of a longer name
			}
			for _, word := range quotedValues(rest) {
				add(filepath.Base(word))
			}
		}
	}
	return out
}

const maxScanned = 64

// quotedValues returns the strings of the value after a key, up to the end of
// the list or of the line.
func quotedValues(rest string) []string {
	rest = strings.TrimLeft(rest, "\"' \t")
	rest, ok := strings.CutPrefix(rest, "=")
	if !ok {
		return nil
	}
	rest = strings.TrimLeft(rest, " \t\r\n")
	list := strings.HasPrefix(rest, "[")
	var out []string
	for len(out) < maxScanned {
		i := strings.IndexAny(rest, "\"'#\n]=")
		if i < 0 {
			return out
		}
		c := rest[i]
		rest = rest[i+1:]
		switch {
		case c == '"' || c == '\'':
			if text, several := strings.CutPrefix(rest, string([]byte{c, c})); several { // lines between three quotes
				rest = strings.TrimLeft(text, "\r\n")
			}
			end := strings.IndexAny(rest, string(c)+"\n")
			if end < 0 {
				return out
			}
			if rest[end] == c {
				out = append(out, rest[:end])
				end++
			}
			if rest = rest[end:]; !list {
				return out
			}
		case c == '#':
			if _, rest, ok = strings.Cut(rest, "\n"); !ok || !list {
				return out
			}
		case list == (c != '\n'): // the end of the list, or of the line
			return out
		}
	}
	return out
}
