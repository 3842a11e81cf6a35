package picture

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/enr/inner/internal/visible"
)

// Style says how a picture is written as text.
type Style struct {
	Width int // of a line, in characters; 0 where no line is broken
	Most  int // things of a row that are named; 0 for all
	// Paint gives a text a colour (an SGR code), and Clean makes visible what a terminal
	// would obey; nil does nothing.
	Paint func(code, text string) string
	Clean func(string) string
}

// Text writes a picture for a terminal: a line for each grant, in the words of inner allow, and behind it where
// it is written.
func Text(w io.Writer, p Picture, s Style) {
	if s.Clean == nil {
		s.Clean = func(text string) string { return text }
	}
	if s.Paint == nil {
		s.Paint = func(_, text string) string { return text }
	}
	line := func(code, word, text string) {
		text = Wrap("  "+s.Clean(word+text), s.Width)
		if word = "  " + s.Clean(word); code != "" && strings.HasPrefix(text, word) {
			text = s.Paint(code, word) + strings.TrimPrefix(text, word)
		}
		fmt.Fprint(w, text)
	}
	fmt.Fprintf(w, "%s  %s\n", s.Paint("1", s.Clean(p.Profile.Name)), s.Clean(p.Profile.Description))
	for _, r := range p.about() {
		code := ""
		if r.alarm {
			code = "31"
		}
		line(code, fmt.Sprintf("%-9s", r.name), "  "+r.text)
	}
	colours := map[Way]string{Open: "33", Seen: "36", Own: "32", Shut: "2"}
	for _, g := range p.Groups {
		fmt.Fprintln(w, s.Paint("1", s.Clean(g.Title)))
		for _, r := range g.Rows {
			line(colours[r.Way], r.Word, r.rest(s.Most))
		}
	}
}

// Wrap is a text as lines of a width, broken at blanks; what follows the first is indented by four
// columns. With a width of 0 it is one line.
func Wrap(text string, width int) string {
	var b strings.Builder
	for width > 20 && len([]rune(text)) > width {
		at := strings.LastIndexByte(string([]rune(text)[:width+1]), ' ')
		if strings.TrimSpace(text[:max(at, 0)]) == "" { // a word longer than the line
			break
		}
		b.WriteString(text[:at] + "\n")
		text = "    " + text[at+1:]
	}
	return b.String() + text + "\n"
}

// rest is what a row says behind its word, with most of its things.
func (r Row) rest(most int) string {
	text, whole := strings.CutPrefix(r.Text, r.Word)
	if things := told(r.Things); !whole || most > 0 && len(things) > most {
		text = ""
		list := make([]string, len(things))
		for i, t := range things {
			if list[i] = t.Text; t.Count > 0 {
				list[i] += fmt.Sprintf(" %d", t.Count)
			}
		}
		if most > 0 {
			list = visible.Some(list, most)
		}
		if text = ": " + strings.Join(list, ", "); slices.ContainsFunc(list,
			func(s string) bool { return strings.Contains(s, ", ") }) {
			text = ": " + strings.Join(list, "; ")
		}
		if len(list) == 0 {
			text = ""
		}
	}
	if r.From != "" {
		text += "  [" + r.From + "]"
	}
	return text
}

// told are the things without those that are called like an earlier one.
func told(list []Thing) (out []Thing) {
	for _, t := range list {
		if !slices.ContainsFunc(out, func(o Thing) bool { return o.Text == t.Text && o.Why == t.Why }) {
			out = append(out, t)
		}
	}
	return out
}

// fact is one line about the profile or the program.
type fact struct {
	name, text string
	alarm      bool
}

// about returns the facts that are before all groups.
func (p Picture) about() []fact {
	var out []fact
	add := func(name, text string, alarm bool) {
		if text != "" {
			out = append(out, fact{name, text, alarm})
		}
	}
	file := p.Profile.File
	if p.Profile.Chosen != "" {
		file += " (" + p.Profile.Chosen + ")"
	}
	add("profile", file, false)
	add("extends", strings.Join(p.Profile.Extends, " ← "), false)
	add("trust", p.Profile.Trust, !p.Profile.Approved)
	add("runs", fmt.Sprintf("%s (%s)", p.Program.Command, p.Program.Chosen), false)
	add("found as", p.Program.Path, false)
	if p.Program.Missing {
		add("found as", "nothing: it is not on PATH", true)
	}
	add("starts in", p.Program.Folder, false)
	return out
}
