// Command screenshot draws a recorded session as an SVG, all its lines one below
// the other:
//
//	screenshot <session.cast >session.svg
//
// It reads an asciicast v2, as inner writes it with [output] record = true and
// contrib/play with -record. It understands what shells and simple programs write:
// colours, bold, carriage return, backspace, and erasing the rest of a line. A
// program that moves the cursor over the screen is not drawn correctly.
package main

import (
	"fmt"
	"html"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/enr/inner/isolator/runlog"
)

func main() {
	if err := convert(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "inner: screenshot: %v\n", err)
		os.Exit(1)
	}
}

func convert(r io.Reader, w io.Writer) error {
	var text strings.Builder
	h, err := runlog.ReadCast(r, func(s runlog.CastEvent) error {
		text.WriteString(s.Output)
		return nil
	})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, svg(h, draw(text.String())))
	return err
}

// cell is one character; class names its colours in the style sheet.
type cell struct {
	r     rune
	class string
}

// token is an escape sequence, or one character.
var token = regexp.MustCompile(`(?s)\x1b\[([0-9;]*)([mK])|\x1b\[[0-9;:?<=>!]*[@-~]|\x1b\][^\a\x1b]*(?:\a|\x1b\\)|\x1b[^\[\]]|.`)

// draw returns the lines that the output of a session leaves on an endless page.
func draw(output string) [][]cell {
	lines, col, class := [][]cell{nil}, 0, ""
	for _, t := range token.FindAllStringSubmatch(output, -1) {
		line := &lines[len(lines)-1]
		switch {
		case t[2] == "m":
			class = colour(class, t[1])
		case t[2] == "K" && col < len(*line):
			*line = (*line)[:col]
		case t[0] == "\n":
			lines = append(lines, nil)
		case t[0] == "\r":
			col = 0
		case t[0] == "\b":
			col = max(0, col-1)
		case t[0] >= " ":
			*line = put(*line, col, cell{[]rune(t[0])[0], class})
			col++
		}
	}
	for len(lines) > 0 && len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// put writes a character at a column of a line.
func put(line []cell, col int, c cell) []cell {
	for len(line) <= col {
		line = append(line, cell{r: ' '})
	}
	line[col] = c
	return line
}

// colour is the class after a sequence that selects colours ("1;32"): b is bold,
// c0 to c7 are the terminal's eight colours.
func colour(class, codes string) string {
	for code := range strings.SplitSeq(codes, ";") {
		bold := strings.HasPrefix(class, "b")
		switch {
		case code == "" || code == "0":
			class = ""
		case code == "1" && !bold:
			class = strings.TrimSpace("b " + class)
		case isColour(code):
			class = "c" + code[1:]
			if bold {
				class = "b " + class
			}
		}
	}
	return class
}

// isColour reports whether a code selects one of the eight colours, dark or bright.
func isColour(code string) bool {
	return len(code) == 2 && (code[0] == '3' || code[0] == '9') && code[1] < '8'
}

const (
	charWidth  = 8.4
	lineHeight = 19
	margin     = 16
)

const style = `text { font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #d8dee9; white-space: pre }
.b { font-weight: bold } .c0 { fill: #616e88 } .c1 { fill: #e06c75 } .c2 { fill: #98c379 } .c3 { fill: #e5c07b }
.c4 { fill: #61afef } .c5 { fill: #c678dd } .c6 { fill: #56b6c2 } .c7 { fill: #eceff4 }`

func svg(h runlog.Header, lines [][]cell) string {
	var b strings.Builder
	cols := h.Width
	for _, line := range lines {
		cols = max(cols, len(line))
	}
	width, height := int(float64(cols)*charWidth)+2*margin, len(lines)*lineHeight+2*margin
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %[1]d %[2]d\" role=\"img\">\n", width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n<style>\n%s\n</style>\n<rect width=\"100%%\" height=\"100%%\" rx=\"8\" fill=\"#1f2430\"/>\n", html.EscapeString(h.Title), style)
	for i, line := range lines {
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" xml:space=\"preserve\">", margin, margin+14+i*lineHeight)
		for from := 0; from < len(line); {
			to := from
			var run strings.Builder
			for to < len(line) && line[to].class == line[from].class {
				run.WriteRune(line[to].r)
				to++
			}
			if text := html.EscapeString(run.String()); line[from].class == "" {
				b.WriteString(text)
			} else {
				fmt.Fprintf(&b, "<tspan class=%q>%s</tspan>", line[from].class, text)
			}
			from = to
		}
		b.WriteString("</text>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}
