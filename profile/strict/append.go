package strict

import (
	"fmt"
	"strings"
)

// Append is the text of a file with one more item at the end of a list, and
// everything else, the comments in the list included, as it was. item is TOML. A
// list that is not there is made, as Edit makes a key.
//
// What Edit says about writing the result holds here, too.
func Append(text string, key []string, item string) (string, error) {
	if rest, ok := strings.CutPrefix(text, mark); ok {
		rest, err := Append(rest, key, item)
		return mark + rest, err
	}
	root, why := scan(text)
	if why != nil || len(key) == 0 {
		return "", fmt.Errorf("cannot be edited: line %d cannot be followed", max(1, stopLine(why)))
	}
	n := (&Doc{root}).find(key)
	if n == nil || n.from >= n.to {
		return Edit(text, key, "["+item+"]")
	}
	list := text[n.from:n.to]
	if len(list) < 2 || list[0] != '[' || list[len(list)-1] != ']' {
		return "", fmt.Errorf("cannot be edited: %s is not a list", Join(key...))
	}
	last, comma := lastItem(list)
	switch {
	case last == 0: // no item, perhaps comments
		list = "[" + item + list[1:]
	case !strings.Contains(list, "\n"):
		if comma > 0 {
			list = list[:comma] + " " + item + list[comma:]
		} else {
			list = list[:last] + ", " + item + list[last:]
		}
	default:
		if comma == 0 {
			list = list[:last] + "," + list[last:]
			comma = last + 1
		}
		// After the comment of the last item, indented as that is.
		end := len(list) - 1
		if i := strings.IndexByte(list[comma:], '\n'); i >= 0 {
			end = comma + i
		}
		begin := strings.LastIndexByte(list[:last], '\n') + 1
		indent := list[begin:last]
		indent = indent[:len(indent)-len(strings.TrimLeft(indent, " \t"))]
		list = list[:end] + "\n" + indent + item + "," + list[end:]
	}
	return text[:n.from] + list + text[n.to:], nil
}

// lastItem finds where the last item of a list ends, and where the comma after it
// does; 0 where there is none. The list has been scanned: it is well-formed.
func lastItem(list string) (last, comma int) {
	inner := len(list) - 1
	for i := 1; i < inner; {
		switch c := list[i]; c {
		case ' ', '\t', '\n', '\r':
			i++
		case '#':
			for i < inner && list[i] != '\n' {
				i++
			}
		case ',':
			i++
			comma = i
		case '"', '\'':
			i += stringEnd(list[i:])
			last, comma = i, 0
		default:
			i++
			last, comma = i, 0
		}
	}
	return last, comma
}

// stringEnd is the length of the string that text begins with.
func stringEnd(text string) int {
	quote := text[:1]
	if long := strings.Repeat(quote, 3); strings.HasPrefix(text, long) {
		quote = long
	}
	for i := len(quote); i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote[0] == '"':
			i++
		case strings.HasPrefix(text[i:], quote):
			i += len(quote)
			for len(quote) == 3 && i < len(text) && text[i] == quote[0] { // up to two more belong to it
				i++
			}
			return i
		}
	}
	return len(text)
}
