package gitignore

import "strings"

// named returns a class of git's (wildmatch.c) by its name; nil when there is none
// of that name. All are ASCII.
func named(name string) func(byte) bool {
	switch name {
	case "lower":
		return lower
	case "upper":
		return upper
	case "digit":
		return digit
	case "graph":
		return graph
	case "alpha":
		return alpha
	case "alnum":
		return func(c byte) bool { return alpha(c) || digit(c) }
	case "blank":
		return func(c byte) bool { return c == ' ' || c == '\t' }
	case "cntrl":
		return func(c byte) bool { return c < ' ' || c == 0x7f }
	case "print":
		return func(c byte) bool { return c == ' ' || graph(c) }
	case "punct":
		return func(c byte) bool { return graph(c) && !alpha(c) && !digit(c) }
	case "space":
		return func(c byte) bool { return strings.IndexByte(" \t\n\v\f\r", c) >= 0 }
	case "xdigit":
		return func(c byte) bool { return digit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }
	}
	return nil
}

func lower(c byte) bool { return c >= 'a' && c <= 'z' }
func upper(c byte) bool { return c >= 'A' && c <= 'Z' }
func digit(c byte) bool { return c >= '0' && c <= '9' }
func alpha(c byte) bool { return lower(c) || upper(c) }
func graph(c byte) bool { return c > ' ' && c < 0x7f }
