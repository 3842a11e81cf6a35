package gitconfig

import (
	"bytes"
	"errors"
	"strings"
)

// ErrFormat says that a file has a syntax error, for which git would refuse it as well.
var ErrFormat = errors.New("not in git's format")

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
			var ok bool
			if base, data, ok = header(data); !ok {
				return list, ErrFormat
			}
		default:
			key, rest := word(data)
			data = bytes.TrimLeft(rest, " \t")
			end := len(data) == 0 || data[0] == '\n'
			if !letter(c) || strings.Contains(key, ".") || !end && data[0] != '=' {
				return list, ErrFormat
			}
			data = data[min(len(data), 1):]
			e := Entry{Key: base + key, Bare: end}
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

// header reads the header of a section, with a sub-section or without, and returns what names of its settings
// begin with.
func header(data []byte) (base string, rest []byte, ok bool) {
	section, rest := word(data[1:])
	base = section + "."
	if at := bytes.TrimLeft(rest, " \t\r"); len(at) < len(rest) && len(at) > 0 && at[0] == '"' {
		at = at[1:]
		for len(at) > 0 && at[0] != '"' && at[0] != '\n' {
			if at[0] == '\\' {
				at = at[1:]
			}
			if len(at) == 0 || at[0] == '\n' {
				return "", nil, false
			}
			base, at = base+string(at[:1]), at[1:]
		}
		if len(at) == 0 || at[0] != '"' {
			return "", nil, false
		}
		base, rest = base+".", at[1:]
	} else if section == "" {
		return "", nil, false
	}
	if len(rest) == 0 || rest[0] != ']' {
		return "", nil, false
	}
	return base, rest[1:], true
}

// word reads the name of a section or of a setting, in lower case.
func word(data []byte) (name string, rest []byte) {
	n := 0
	for n < len(data) && (letter(data[n]) || '0' <= data[n] && data[n] <= '9' || data[n] == '-' || data[n] == '.') {
		n++
	}
	return strings.ToLower(string(data[:n])), data[n:]
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

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
