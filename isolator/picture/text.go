package picture

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Style says how a picture is written as text.
type Style struct {
	Width int // of a line, in characters
	Lines int // the most that one row may take; 0 is no limit
	// Paint gives a text a colour (an SGR code), and Clean makes visible what a terminal
	// would obey; nil does nothing.
	Paint func(code, text string) string
	Clean func(string) string
}

// wordWidth is how wide the column of words is, in characters.
const wordWidth = 22

// Text writes a picture for a terminal.
func Text(w io.Writer, p Picture, s Style) {
	t := text{w, s}
	t.title(p.Profile.Name, p.Profile.Description)
	for _, r := range p.about() {
		code := ""
		if r.alarm {
			code = "31"
		}
		t.row(code, r.name, []string{r.text})
	}
	for _, g := range p.Groups {
		t.title(g.Title, "")
		before := ""
		for _, r := range g.Rows {
			list := make([]string, len(r.Things))
			for i, th := range r.Things {
				list[i] = th.line(r.Way)
			}
			word := r.Word
			if word == before {
				word = ""
			}
			before = r.Word
			t.row(colours()[r.Way], word, list)
		}
	}
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

// colours returns the SGR codes of the words.
func colours() map[Way]string {
	return map[Way]string{Open: "33", Seen: "36", Own: "32", Shut: "2"}
}

// line returns a thing as an item of a list.
func (t Thing) line(way Way) string {
	switch {
	case t.Count > 0:
		return fmt.Sprintf("%s %d", t.Text, t.Count)
	case t.Why != "" && way == Open:
		return t.Text + " (" + t.Why + ")"
	}
	return t.Text
}

// text writes a picture to w.
type text struct {
	w io.Writer
	Style
}

func (t text) clean(s string) string {
	if t.Clean == nil {
		return s
	}
	return t.Clean(s)
}

func (t text) paint(code, s string) string {
	if t.Paint == nil || code == "" || s == "" {
		return s
	}
	return t.Paint(code, s)
}

func (t text) title(name, rest string) {
	if rest != "" {
		rest = "  " + t.clean(rest)
	}
	fmt.Fprintf(t.w, "%s%s\n", t.paint("1", t.clean(name)), rest)
}

// row writes a word and, beside it, a list in as many lines as it needs.
func (t text) row(code, word string, list []string) {
	word = t.clean(word)
	lines := t.fill(list, max(t.Width-wordWidth-3, 30))
	for i, line := range lines {
		if i > 0 {
			word = ""
		}
		pad := strings.Repeat(" ", max(wordWidth-utf8.RuneCountInString(word), 0))
		fmt.Fprintf(t.w, "  %s%s %s\n", t.paint(code, word), pad, line)
	}
}

// fill breaks a list into lines of at most width characters, between its items where it can. A
// list that needs more than t.Lines is cut, and the last line says how many items are missing.
func (t text) fill(list []string, width int) []string {
	var lines []string
	line := ""
	for i, item := range list {
		item = t.clean(item)
		if i < len(list)-1 {
			item += ","
		}
		for j, word := range strings.Split(item, " ") {
			room := width
			if len(lines) == t.Lines-1 { // for " … and 99 more"
				room -= min(14, width/3)
			}
			left := room - utf8.RuneCountInString(line) - 1
			size := utf8.RuneCountInString(item)
			switch {
			case line == "":
				line = word
			case j == 0 && left < size && size <= room, left < utf8.RuneCountInString(word):
				lines = append(lines, line)
				line = word
			default:
				line += " " + word
			}
			if t.Lines > 0 && len(lines) == t.Lines {
				rest := " …"
				if i < len(list)-1 || j == 0 {
					rest = fmt.Sprintf(" … and %d more", len(list)-i)
				}
				lines[t.Lines-1] = strings.TrimSuffix(lines[t.Lines-1], ",") + rest
				return lines
			}
		}
	}
	return append(lines, line)
}
