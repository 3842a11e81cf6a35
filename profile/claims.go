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
		for rest := text; ; {
			i := strings.Index(rest, key)
			if i < 0 {
				break
			}
			before := byte('\n')
			if i > 0 {
				before = rest[i-1]
			}
			rest = rest[i+len(key):]
			if nameByte(before) || before == '-' {
				continue
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
	for len(rest) > 0 && len(out) < maxScanned {
		c := rest[0]
		switch {
		case c == '"' || c == '\'':
			end := strings.IndexAny(rest[1:], string(c)+"\n")
			if end < 0 {
				return out
			}
			if rest[1+end] == c {
				out = append(out, rest[1:1+end])
				end++
			}
			rest = rest[1+end:]
			if !list {
				return out
			}
			continue
		case c == '#':
			if end := strings.IndexByte(rest, '\n'); end >= 0 {
				rest = rest[end:]
				continue
			}
			return out
		case list && c == ']', !list && c == '\n', list && c == '=':
			return out
		}
		rest = rest[1:]
	}
	return out
}
