package gitconfig

import (
	"errors"
	"fmt"
	"strings"
)

// Text returns r.File as a file of git's format, or an error when that cannot hold a setting.
func (r Result) Text() ([]byte, error) { return r.text("Written by inner for one run.") }

// text is Text with another comment in the first line.
func (r Result) text(about string) ([]byte, error) {
	var b strings.Builder
	b.WriteString("# " + about + "\n")
	head := ""
	for _, e := range r.File {
		if err := check(e); err != nil {
			return nil, fmt.Errorf("%q: %w", e.Key, err)
		}
		section, sub, name := e.Parts()
		h := "[" + section + "]\n"
		if strings.Count(e.Key, ".") > 1 {
			h = "[" + section + " \"" + escape(sub) + "\"]\n"
		}
		if h != head {
			head = h
			b.WriteString(h)
		}
		b.WriteString("\t" + name)
		if !e.Bare {
			b.WriteString(" = \"" + value(e.Value) + "\"")
		}
		b.WriteString("\n")
	}
	return []byte(b.String()), nil
}

// check returns an error when git's format cannot hold a setting.
func check(e Entry) error {
	key, err := Canonical(e.Key)
	switch {
	case err != nil:
		return err
	case key != e.Key:
		return errors.New("is not in the spelling git reports")
	case strings.ContainsRune(e.Value, 0):
		return errors.New("the value has a NUL byte")
	}
	return nil
}

// escape quotes a sub-section, in which a backslash makes any next byte an ordinary one.
func escape(sub string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(sub)
}

// value quotes a value. In quotes git keeps every byte but a carriage return before
// a line end; line ends are escaped here, so none follows (config.c,
// get_next_char and parse_value).
func value(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`).Replace(s)
}
