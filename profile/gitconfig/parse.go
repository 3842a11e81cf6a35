package gitconfig

import (
	"bytes"
	"errors"
	"strings"

	"github.com/enr/inner/internal/lazy"
)

// ErrFormat says that a file has a syntax error, for which git would refuse it as well.
var ErrFormat = errors.New("not in git's format")

// A header of a section, with a sub-section or without; and the name of a setting, with what is before its value.
var (
	header = lazy.Regexp(`^\[([-.0-9A-Za-z]*)(?:[ \t\r]+"((?:[^"\\\n]|\\[^\n])*)")?\]`)
	name   = lazy.Regexp(`^([A-Za-z][-0-9A-Za-z]*)[ \t]*(=|\n|$)`)
	escape = lazy.Regexp(`(?s)\\(.)`)
)

// Parse returns the settings of a file of git's format, without following includes. On
// ErrFormat it returns those before the error. It starts no git, so that an untrusted file
// can be judged where there is none.
//
// Source: config.c of git 2.39 (git_parse_source, get_value, parse_value); compared with
// the real one by FuzzParse.
func Parse(data []byte) (list []Entry, err error) {
	data = bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), []byte("\r\n"), []byte("\n"))
	base := ""
	for len(data) > 0 {
		switch c := data[0]; c {
		case ' ', '\t', '\r', '\n':
			data = data[1:]
		case '#', ';':
			_, data, _ = bytes.Cut(data, []byte("\n"))
		case '[':
			m := header().FindSubmatch(data)
			if m == nil || string(m[0]) == "[]" {
				return list, ErrFormat
			}
			data = data[len(m[0]):]
			base = strings.ToLower(string(m[1])) + "."
			if m[2] != nil {
				base += string(escape().ReplaceAll(m[2], []byte("$1"))) + "."
			}
		default:
			m := name().FindSubmatch(data)
			if m == nil {
				return list, ErrFormat
			}
			data = data[len(m[0]):]
			e := Entry{Key: base + strings.ToLower(string(m[1])), Bare: string(m[2]) != "="}
			if !e.Bare {
				var ok bool
				if e.Value, data, ok = parseValue(data); !ok {
					return list, ErrFormat
				}
			}
			list = append(list, e)
		}
	}
	return list, nil
}

// parseValue reads a value after its "=", up to the end of the line, and returns what follows. Blanks
// around it are left out, and each one inside becomes a space unless it is quoted.
func parseValue(data []byte) (value string, rest []byte, ok bool) {
	var b []byte
	quoted, spaces := false, 0
	for i := 0; i < len(data); i++ {
		c := data[i]
		switch {
		case c == '\n' || !quoted && (c == '#' || c == ';'):
			_, rest, _ = bytes.Cut(data[i:], []byte("\n"))
			return untilNUL(b), rest, !quoted
		case !quoted && (c == ' ' || c == '\t' || c == '\r'):
			if len(b) > 0 {
				spaces++
			}
			continue
		}
		for ; spaces > 0; spaces-- {
			b = append(b, ' ')
		}
		switch {
		case c == '"':
			quoted = !quoted
		case c == '\\':
			if i++; i == len(data) { // the end of the file is a line end, which continues the value
				return untilNUL(b), nil, !quoted
			}
			at := strings.IndexByte("tbn\\\"\n", data[i])
			if at < 0 {
				return "", nil, false
			}
			b = append(b, []string{"\t", "\b", "\n", `\`, `"`, ""}[at]...)
		default:
			b = append(b, c)
		}
	}
	return untilNUL(b), nil, !quoted
}

// untilNUL returns what git takes for the value: its strings end at a NUL.
func untilNUL(b []byte) string {
	value, _, _ := bytes.Cut(b, []byte{0})
	return string(value)
}
