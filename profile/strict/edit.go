package strict

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// mark is the byte order mark some editors put first; it is no TOML, and stays.
const mark = "\ufeff"

// Edit is the text of a file with one key given another value, and everything
// else, comments and order included, as it was. value is TOML. The key is
// replaced where it stands, else put at the end of its table, else the table is
// put at the end of the file.
//
// Whoever writes the result decodes it first: a text that is written in an
// unusual way may come out wrong, and is then to be left alone.
func Edit(text string, key []string, value string) (string, error) {
	return edit(text, func(text string, root *node) (string, error) { return set(text, root, key, value) })
}

// HasTable reports whether a text has a table of that key, inline or not.
func HasTable(text string, key []string) bool {
	_, root, _ := read([]byte(text))
	n := root.find(key)
	return n != nil && len(n.kids) > 0
}

// edit hands a text and its tree to change, and puts the byte order mark and the line ends of Windows back.
func edit(text string, change func(text string, root *node) (string, error)) (string, error) {
	text, marked := strings.CutPrefix(text, mark)
	returns := strings.Count(text, "\r\n")
	windows := returns > 0 && returns == strings.Count(text, "\n")
	if windows {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	_, root, fault := read([]byte(text))
	if fault != nil {
		return "", fmt.Errorf("cannot be edited: line %d cannot be followed", fault.Line)
	}
	text, err := change(text, root)
	if windows {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if marked {
		text = mark + text
	}
	return text, err
}

// set is Edit without a byte order mark.
func set(text string, root *node, key []string, value string) (string, error) {
	switch n := root.find(key); {
	case n.isValue() && !n.header:
		return text[:n.from] + value + text[n.to:], nil
	case n != nil:
		return "", fmt.Errorf("cannot be edited: %s has a table of its own", Join(key...))
	}
	for _, part := range key {
		if !utf8.ValidString(part) {
			return "", fmt.Errorf("the key %q is not UTF-8", part)
		}
	}
	parent, last := key[:len(key)-1], Join(key[len(key)-1])
	line := last + " = " + value
	switch table := root.find(parent); {
	case table == nil:
		return ending(text) + blankBefore(text) + "[" + Join(parent...) + "]\n" + line + "\n", nil
	case table == root:
		return insertTop(text, root, line), nil
	case table.header:
		return insertLine(text, table.end(), line), nil
	case table.isValue() && text[table.from] == '{':
		inside := strings.TrimSpace(text[table.from+1 : table.to-1])
		if inside != "" {
			inside += ", "
		}
		return text[:table.from] + "{ " + inside + line + " }" + text[table.to:], nil
	case len(table.kids) > 0: // dotted keys
		return insertLine(text, table.kids[len(table.kids)-1].to, Join(key...)+" = "+value), nil
	}
	return "", fmt.Errorf("cannot be edited: %s is written in an unusual way", Join(parent...))
}

// end is where the last value of a table with a [header] ends, or the header itself.
func (n *node) end() int {
	at := n.to
	for _, kid := range n.kids {
		if !kid.header && kid.isValue() {
			at = max(at, kid.to)
		}
	}
	return at
}

// Remove is the text of a file without the line of one key.
func Remove(text string, key []string) (string, error) {
	return edit(text, func(text string, root *node) (string, error) {
		n := root.find(key)
		if !n.isValue() {
			return "", fmt.Errorf("%s is not set", Join(key...))
		}
		begin := strings.LastIndexByte(text[:n.start], '\n') + 1
		rest, after, _ := strings.Cut(text[n.to:], "\n")
		if rest = strings.TrimSpace(rest); strings.TrimSpace(text[begin:n.start]) != "" || rest != "" && rest[0] != '#' {
			return "", fmt.Errorf("cannot be edited: %s shares its line with others", Join(key...))
		}
		return text[:begin] + after, nil
	})
}

// insertLine puts a line after the one that at is in.
func insertLine(text string, at int, line string) string {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		at += i + 1
		return text[:at] + line + "\n" + text[at:]
	}
	return text + "\n" + line + "\n"
}

// insertTop puts a line among the keys above the first [header].
func insertTop(text string, root *node, line string) string {
	at, headers := -1, []int{}
	var walk func(n *node)
	walk = func(n *node) {
		for _, kid := range n.kids {
			switch {
			case kid.header || kid.rows:
				headers = append(headers, kid.start)
			case kid.isValue():
				at = max(at, kid.to)
			default:
				walk(kid)
			}
		}
	}
	walk(root)
	if at >= 0 {
		return insertLine(text, at, line)
	}
	if len(headers) == 0 {
		return ending(text) + line + "\n"
	}
	// The comment right above a header belongs to it.
	begin := strings.LastIndexByte(text[:slices.Min(headers)], '\n') + 1
	for begin > 0 {
		above := strings.LastIndexByte(text[:begin-1], '\n') + 1
		if !strings.HasPrefix(strings.TrimSpace(text[above:begin]), "#") {
			break
		}
		begin = above
	}
	return text[:begin] + line + "\n\n" + text[begin:]
}

// ending is the text, its last line ended.
func ending(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		return text + "\n"
	}
	return text
}

func blankBefore(text string) string {
	if strings.TrimSpace(text) == "" || strings.HasSuffix(text, "\n\n") {
		return ""
	}
	return "\n"
}
