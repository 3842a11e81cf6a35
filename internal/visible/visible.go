// Package visible escapes untrusted text before it is shown: names, contents and messages
// that come from a project, a program or the network.
//
// What a terminal or a browser would obey, reorder or not draw at all becomes an escape:
// control bytes, marks of bidirectional text, characters of no width, variation selectors,
// letters that look like a blank, and bytes that are not UTF-8. All else stays as it is. An
// escape has the form that it has in a string of Go.
//
//	visible.Text("a\u202eb")   // a\u202eb, ten characters
//
// Text and JSON are for values; Writer is for a whole output.
package visible

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// blanks are letters, marks and symbols of Unicode that are drawn as nothing.
var blanks = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x115f, Hi: 0x1160, Stride: 1},
	{Lo: 0x17b4, Hi: 0x17b5, Stride: 1},
	{Lo: 0x2800, Hi: 0x2800, Stride: 1},
	{Lo: 0x3164, Hi: 0x3164, Stride: 1},
	{Lo: 0xffa0, Hi: 0xffa0, Stride: 1},
}}

// Shown reports whether a character is drawn, at the place where it stands.
func Shown(r rune) bool {
	switch {
	case r >= ' ' && r < 0x7f:
		return true
	case r < 0x80:
		return false
	}
	return unicode.IsPrint(r) && !unicode.In(r, blanks, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point)
}

// Text returns s with everything in it visible. A tab stays; the end of a line does
// not, so that nobody's text makes a line of its own.
func Text(s string) string {
	if shown(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\t' || Shown(r):
			b.WriteRune(r)
		default:
			escape(&b, r)
		}
		i += n
	}
	return b.String()
}

// Line is Text for a message that must be one line: runs of control characters, ends of
// lines among them, become a blank.
func Line(s string) string {
	return Text(strings.Join(strings.FieldsFunc(s, unicode.IsControl), " "))
}

// Lines is Text for a text of several lines: it keeps their ends.
func Lines(s string) string {
	if !strings.Contains(s, "\n") {
		return Text(s)
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = Text(strings.TrimSuffix(line, "\r"))
	}
	return strings.Join(lines, "\n")
}

// Some returns a list for people: its first entries, up to most, and then how many
// more there are.
func Some(list []string, most int) []string {
	if more := len(list) - most; more > 0 {
		return append(slices.Clone(list[:most]), fmt.Sprintf("and %d more", more))
	}
	return list
}

// Plural is the word for one thing or for many.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Counted is a number of things, with the word for one or for many.
func Counted(n int, one, many string) string { return fmt.Sprintf("%d %s", n, Plural(n, one, many)) }

// Short cuts a text that a message quotes to at most a hundred bytes.
func Short(s string) string {
	if len(s) > 100 {
		return s[:97] + "..."
	}
	return s
}

func shown(s string) bool {
	for i, r := range s {
		if r != '\t' && !Shown(r) || r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd") {
			return false
		}
	}
	return true
}

func escape(b *strings.Builder, r rune) {
	switch {
	case r < 0x80:
		fmt.Fprintf(b, `\x%02x`, r)
	case r > 0xffff:
		fmt.Fprintf(b, `\U%08x`, r)
	default:
		fmt.Fprintf(b, `\u%04x`, r)
	}
}

// JSON returns encoded JSON with the same values in it, and everything visible.
func JSON(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		switch {
		case r == '\n' || r == '\t' || r == '\r' || Shown(r) && (r != utf8.RuneError || n > 1):
			out = append(out, data[i:i+n]...)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i += n
	}
	return out
}

// Writer makes visible what is written to To, except for ends of lines, tabs, and the
// colours: the sequences ESC [ N m of its list. It is not for several goroutines.
type Writer struct {
	To      io.Writer
	Colours []string // "0", "31" …
	rest    []byte   // the first bytes of a character whose others were not written yet
}

// Write writes p, but keeps the first bytes of an incomplete character for the next call.
func (w *Writer) Write(p []byte) (int, error) {
	data := append(slices.Clip(w.rest), p...)
	w.rest = nil
	for i := 1; i <= min(utf8.UTFMax-1, len(data)); i++ {
		if last := data[len(data)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				w.rest, data = slices.Clone(last), data[:len(data)-i]
			}
			break
		}
	}
	var b strings.Builder
	for text := string(data); text != ""; {
		i := strings.IndexAny(text, "\n\x1b")
		if i < 0 {
			b.WriteString(Text(text))
			break
		}
		b.WriteString(Text(text[:i]))
		text = text[i:]
		switch n := w.colour(text); {
		case text[0] == '\n':
			b.WriteString("\n")
			text = text[1:]
		case n > 0:
			b.WriteString(text[:n])
			text = text[n:]
		default:
			b.WriteString(Text("\x1b"))
			text = text[1:]
		}
	}
	if _, err := io.WriteString(w.To, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// colour returns the length of a sequence for one of the colours at the beginning of a text, or 0.
func (w *Writer) colour(text string) int {
	rest, ok := strings.CutPrefix(text, "\x1b[")
	if !ok {
		return 0
	}
	code, _, ok := strings.Cut(rest, "m")
	if !ok || !slices.Contains(w.Colours, code) {
		return 0
	}
	return len("\x1b[") + len(code) + 1
}

// Size is a number of bytes for people: "2 GiB", "1.5 KiB".
func Size[N int64 | uint64](n N) string {
	for i, unit := range []string{"TiB", "GiB", "MiB", "KiB"} {
		if shift := 10 * (4 - i); n >= 1<<shift {
			if n&(1<<shift-1) == 0 {
				return fmt.Sprintf("%d %s", n>>shift, unit)
			}
			return fmt.Sprintf("%.1f %s", float64(n)/float64(uint64(1)<<shift), unit)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
