package gitconfig

import (
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
func Parse(data []byte) ([]Entry, error) {
	p := parser{data: data}
	if len(data) >= 3 && string(data[:3]) == "\xef\xbb\xbf" {
		p.at = 3
	}
	var list []Entry
	base := ""
	for !p.end {
		switch c := p.next(); {
		case space(c):
		case c == '#' || c == ';':
			p.skipLine()
		case c == '[':
			head, ok := p.section()
			if !ok {
				return list, ErrFormat
			}
			base = head + "."
		case letter(c):
			name, val, bare, ok := p.setting(c)
			if !ok {
				return list, ErrFormat
			}
			val, _, _ = strings.Cut(val, "\x00") // git's strings end there
			list = append(list, Entry{Key: base + name, Value: val, Bare: bare})
		default:
			return list, ErrFormat
		}
	}
	return list, nil
}

// parser reads a file byte by byte. end is true once next was called at the end.
type parser struct {
	data []byte
	at   int
	end  bool
}

// next returns the next byte. The end is a line end, and so is one with a carriage
// return before it.
func (p *parser) next() byte {
	if p.at >= len(p.data) {
		p.end = true
		return '\n'
	}
	c := p.data[p.at]
	p.at++
	if c == '\r' && p.at < len(p.data) && p.data[p.at] == '\n' {
		p.at++
		return '\n'
	}
	return c
}

func (p *parser) skipLine() {
	for p.next() != '\n' {
	}
}

// section reads a header after its bracket, and returns "section" or "section.sub".
func (p *parser) section() (head string, ok bool) {
	var b []byte
	for {
		c := p.next()
		switch {
		case p.end:
			return "", false
		case c == ']':
			return string(b), len(b) > 0
		case space(c):
			return p.subsection(b, c)
		case !keyByte(c) && c != '.':
			return "", false
		}
		b = append(b, lower(c))
	}
}

// subsection reads the rest of a header, of which b is the section and c a blank after it.
func (p *parser) subsection(b []byte, c byte) (head string, ok bool) {
	for space(c) {
		if c == '\n' {
			return "", false
		}
		c = p.next()
	}
	if c != '"' {
		return "", false
	}
	b = append(b, '.')
	for {
		c := p.next()
		switch c {
		case '\n':
			return "", false
		case '"':
			return string(b), p.next() == ']'
		case '\\':
			if c = p.next(); c == '\n' {
				return "", false
			}
		}
		b = append(b, c)
	}
}

// setting reads a name, of which c is the first byte, and its value.
func (p *parser) setting(c byte) (name, val string, bare, ok bool) {
	b := []byte{lower(c)}
	for c = p.next(); !p.end && keyByte(c); c = p.next() {
		b = append(b, lower(c))
	}
	for c == ' ' || c == '\t' {
		c = p.next()
	}
	switch c {
	case '\n':
		return string(b), "", true, true
	case '=':
		val, ok = p.value()
	}
	return string(b), val, false, ok
}

// value reads a value after its "=", up to the end of the line. Blanks around it are left out,
// and each one inside becomes a space unless it is quoted.
func (p *parser) value() (string, bool) {
	var b []byte
	quoted, spaces := false, 0
	for {
		c := p.next()
		switch {
		case c == '\n':
			return string(b), !quoted
		case space(c) && !quoted:
			if len(b) > 0 {
				spaces++
			}
			continue
		case !quoted && (c == '#' || c == ';'):
			p.skipLine()
			return string(b), true
		}
		for ; spaces > 0; spaces-- {
			b = append(b, ' ')
		}
		switch c {
		case '"':
			quoted = !quoted
		case '\\':
			escaped, ok := escapes()[p.next()]
			if !ok {
				return "", false
			}
			b = append(b, escaped...)
		default:
			b = append(b, c)
		}
	}
}

// escapes says what a byte after a backslash stands for. A backslash at the end of a line
// continues it.
func escapes() map[byte]string {
	return map[byte]string{'\n': "", 't': "\t", 'b': "\b", 'n': "\n", '\\': "\\", '"': `"`}
}

func space(c byte) bool  { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func keyByte(c byte) bool { return letter(c) || c >= '0' && c <= '9' || c == '-' }

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
