package gitignore

import "strings"

// named returns a class of git's (wildmatch.c) by its name; nil when there is none
// of that name. All are ASCII.
func named(name string) func(byte) bool {
	return map[string]func(byte) bool{
		"lower":  lower,
		"upper":  upper,
		"digit":  digit,
		"graph":  graph,
		"alpha":  alpha,
		"alnum":  func(c byte) bool { return alpha(c) || digit(c) },
		"blank":  func(c byte) bool { return c == ' ' || c == '\t' },
		"cntrl":  func(c byte) bool { return c < ' ' || c == 0x7f },
		"print":  func(c byte) bool { return c == ' ' || graph(c) },
		"punct":  func(c byte) bool { return graph(c) && !alpha(c) && !digit(c) },
		"space":  func(c byte) bool { return strings.IndexByte(" \t\n\v\f\r", c) >= 0 },
		"xdigit": func(c byte) bool { return digit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' },
	}[name]
}

func lower(c byte) bool { return c >= 'a' && c <= 'z' }
func upper(c byte) bool { return c >= 'A' && c <= 'Z' }
func digit(c byte) bool { return c >= '0' && c <= '9' }
func alpha(c byte) bool { return lower(c) || upper(c) }
func graph(c byte) bool { return c > ' ' && c < 0x7f }
