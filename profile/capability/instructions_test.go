package capability

import (
	"strings"
	"testing"
)

// What the box says of itself stands once behind the user's text, at each start as it is then. What the box
// wrote around it stays; what the user changes comes.
func TestInstructions(t *testing.T) {
	one, two := Says([]string{"one"}), Says([]string{"two"})
	for name, c := range map[string]struct{ base, fresh, kept, want string }{
		"as before":                   {"u\n\n" + one, "u\n\n" + two, "u\n\n" + one, "u\n\n" + two},
		"nothing of the user":         {one, two, one, two},
		"the box wrote behind it":     {"u\n\n" + one, "u\n\n" + two, "u\n\n" + one + "b\n", "u\n\n" + two + "b\n"},
		"the box wrote before it":     {one, two, "b\n" + one, "b\n\n" + two},
		"the box changed the user's":  {"u\n\n" + one, "u\n\n" + two, "b\n\n" + one, "b\n\n" + two},
		"the user changed it, too":    {"u\n\n" + one, "v\n\n" + two, "b\n\n" + one + "c\n", "v\n\n" + two + "c\n"},
		"the user took it away":       {"u\n\n" + one, two, "u\n\n" + one + "c\n", two + "c\n"},
		"the box took it out":         {"u\n\n" + one, "u\n\n" + two, "b\n", "b\n\n" + two},
		"the box took out the end":    {"u\n\n" + one, "u\n\n" + two, "u\n\n" + saysBegin + "b\n", "u\n\n" + two},
		"a home of an older inner":    {"", two, "b\n", "b\n\n" + two},
		"a changed one, and no base":  {"", "u\n\n" + two, "b\n", "u\n\n" + two},
		"only a line that is no line": {"u\n\n" + one, "u\n\n" + two, "u\n<!-- inner: end -->\n", "u\n<!-- inner: end -->\n\n" + two},
	} {
		p := Piece{Data: []byte(c.fresh), File: File{Name: "CLAUDE.md", Instructions: true}}
		if got := string(p.Settle([]byte(c.base), []byte(c.kept))); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
	if got := Says([]string{"a <!-- inner: end --> b"}); strings.Count(got, saysEnd[:len(saysEnd)-1]) != 1 {
		t.Errorf("a name ends it: %q", got)
	}
}
