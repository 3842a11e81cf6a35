package strict

import (
	"fmt"
	"strings"

	"github.com/enr/inner/internal/lazy"
)

// Append is the text of a file with one more item at the end of a list, and
// everything else, the comments in the list included, as it was. item is TOML. A
// list that is not there is made, as Edit makes a key.
//
// What Edit says about writing the result holds here, too.
func Append(text string, key []string, item string) (string, error) {
	return edit(text, func(text string, root *node) (string, error) { return push(text, root, key, item) })
}

func push(text string, root *node, key []string, item string) (string, error) {
	n := root.find(key)
	if !n.isValue() {
		return set(text, root, key, "["+item+"]")
	}
	list := text[n.from:n.to]
	if len(list) < 2 || list[0] != '[' || list[len(list)-1] != ']' {
		return "", fmt.Errorf("cannot be edited: %s is not a list", Join(key...))
	}
	if len(n.kids) == 0 { // perhaps comments
		list = "[" + item + list[1:]
	} else {
		list = extend(list, n.kids[len(n.kids)-1].to-n.from, item)
	}
	return text[:n.from] + list + text[n.to:], nil
}

// itemComma is the comma behind the last item of a list, with the comments before it.
var itemComma = lazy.Regexp(`^(?:\s|#[^\n]*\n)*,`)

// extend puts an item into the text of a list behind its last one, which ends at last.
func extend(list string, last int, item string) string {
	comma := last + len(itemComma().FindString(list[last:]))
	switch {
	case strings.Contains(list, "\n"):
	case comma > last:
		return list[:comma] + " " + item + list[comma:]
	default:
		return list[:last] + ", " + item + list[last:]
	}
	if comma == last {
		list = list[:last] + "," + list[last:]
		comma++
	}
	// After the comment of the last item, indented as that is.
	end := len(list) - 1
	if i := strings.IndexByte(list[comma:], '\n'); i >= 0 {
		end = comma + i
	}
	begin := strings.LastIndexByte(list[:last], '\n') + 1
	indent := list[begin:last]
	indent = indent[:len(indent)-len(strings.TrimLeft(indent, " \t"))]
	return list[:end] + "\n" + indent + item + "," + list[end:]
}
