// Package shown makes of what a program wrote to its terminal the text that was to be seen there.
//
//	s := shown.New(os.Stdout)
//	s.Resize(24, 80)
//	_, err := io.Copy(s, output)
//	err = errors.Join(err, s.Close())
package shown

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/width"

	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/escape"
)

// Screen is what a terminal shows of a stream, as text that is safe to show. What scrolls off is
// written at once, Close writes what is on the screen at the end. The alternate screen is one with
// nothing on it: what was there before is written when a program changes to it, and what it showed when
// the program leaves it.
//
// It knows text, the cursor, erasing, scrolling and wide characters, and no colours, no tab stops
// but every eighth column, and no character sets. A line that the terminal broke is one line.
type Screen struct {
	w     io.Writer
	err   error
	parse escape.Parser

	rows, cols  int
	lines       []line // of the screen, as far as there are any
	x, y        int
	savedX      int
	savedY      int
	top, bottom int // the lines that scroll, from top to before bottom
	part        []byte
	last        rune
}

// line is one line of a screen: wide characters have a 0 beside them.
type line struct {
	cells   []rune
	wrapped bool // it goes on in the next one
}

// Sizes of a screen: the largest, and what is taken for one of unknown size, which breaks no line.
const (
	maxRows, maxCols      = 300, 4096
	someRows, manyColumns = 100, 64 << 10
)

// wide reports whether a character takes two columns: of East Asia, and pictures (UAX 11).
func wide(r rune) bool {
	kind := width.LookupRune(r).Kind()
	return r >= 0x1100 && (kind == width.EastAsianWide || kind == width.EastAsianFullwidth)
}

// New returns a screen of unknown size.
func New(w io.Writer) *Screen {
	return &Screen{w: w, rows: someRows, cols: manyColumns, bottom: someRows}
}

// Resize gives it another size. What does not fit scrolls off.
func (s *Screen) Resize(rows, cols int) {
	if rows < 1 || cols < 1 {
		return
	}
	s.rows, s.cols = min(rows, maxRows), min(cols, maxCols)
	for len(s.lines) > s.rows {
		s.off(s.lines[0])
		s.lines, s.y = s.lines[1:], s.y-1
	}
	s.top, s.bottom = 0, s.rows
	s.move(s.y, s.x)
}

// Write takes the next piece of the stream.
func (s *Screen) Write(p []byte) (int, error) {
	s.parse.Feed(p)
	for e := s.parse.Next(); e != escape.None; e = s.parse.Next() {
		switch {
		case e == escape.Text:
			s.text(s.parse.Raw())
		case e == escape.Sequence && s.parse.Kind == '[':
			s.control(string(s.parse.Body()), s.parse.Final)
		case e == escape.Sequence:
			s.escape(string(s.parse.Body()) + string(s.parse.Final))
		}
	}
	return len(p), s.err
}

// Close writes what is on the screen.
func (s *Screen) Close() error {
	s.page()
	return s.err
}

// page writes what is on the screen, and empties it.
func (s *Screen) page() {
	for len(s.lines) > 0 && len(s.lines[len(s.lines)-1].cells) == 0 {
		s.lines = s.lines[:len(s.lines)-1]
	}
	for i, l := range s.lines {
		l.wrapped = l.wrapped && i+1 < len(s.lines)
		s.off(l)
	}
	s.lines = nil
	s.move(0, 0)
}

// off writes a line that is on the screen no more.
func (s *Screen) off(l line) {
	text := strings.ReplaceAll(string(l.cells), "\x00", "")
	if !l.wrapped {
		text = strings.TrimRight(text, " ") + "\n"
	}
	if s.err == nil {
		_, s.err = io.WriteString(s.w, text)
	}
}

func (s *Screen) move(y, x int) {
	s.y, s.x = min(max(y, 0), s.rows-1), min(max(x, 0), s.cols-1)
}

// line returns one of the lines, which is there from now on.
func (s *Screen) line(y int) *line {
	for len(s.lines) <= y {
		s.lines = append(s.lines, line{})
	}
	return &s.lines[y]
}

func (s *Screen) text(p []byte) {
	p = append(s.part, p...)
	s.part = nil
	for len(p) > 0 {
		if !utf8.FullRune(p) {
			s.part = slices.Clone(p)
			return
		}
		r, n := utf8.DecodeRune(p)
		p = p[n:]
		switch {
		case r == '\n', r == '\v', r == '\f':
			if s.cols == manyColumns { // it may have come through a pipe
				s.x = 0
			}
			s.down()
		case r == '\r':
			s.x = 0
		case r == '\b':
			s.move(s.y, min(s.x, s.cols-1)-1)
		case r == '\t':
			s.x = min(s.x/8*8+8, s.cols-1)
		case visible.Shown(r):
			s.put(r)
		}
	}
}

// put writes a character at the cursor. After one in the last column the cursor is beyond it, and the
// next one begins a line.
func (s *Screen) put(r rune) {
	cells := []rune{r}
	if wide(r) {
		cells = append(cells, 0)
	}
	if s.x+len(cells) > s.cols {
		s.line(s.y).wrapped = true
		s.x = 0
		s.down()
	}
	l := s.line(s.y)
	l.pad(s.x + len(cells))
	copy(l.cells[s.x:], cells)
	s.x, s.last = s.x+len(cells), r
}

// pad makes a line at least n columns long.
func (l *line) pad(n int) {
	for len(l.cells) < n {
		l.cells = append(l.cells, ' ')
	}
}

// down moves the cursor to the next line, and scrolls where there is none.
func (s *Screen) down() {
	if s.y+1 == s.bottom {
		s.scroll(s.top, 1)
	} else {
		s.move(s.y+1, s.x)
	}
}

// scroll takes n lines away at y, or puts -n empty ones there, and moves those below it. What goes from
// the top of the screen has scrolled off.
func (s *Screen) scroll(y, n int) {
	if y < s.top || y >= s.bottom {
		return
	}
	s.line(s.bottom - 1)
	region := s.lines[y:s.bottom]
	k := min(max(n, -n), len(region))
	if n < 0 {
		copy(region[k:], region)
		clear(region[:k])
		return
	}
	for _, l := range region[:k] {
		if y == 0 {
			s.off(l)
		}
	}
	copy(region, region[k:])
	clear(region[len(region)-k:])
}

// escape takes a sequence other than a control sequence.
func (s *Screen) escape(what string) {
	switch what {
	case "7":
		s.savedY, s.savedX = s.y, s.x
	case "8":
		s.move(s.savedY, s.savedX)
	case "D":
		s.down()
	case "E":
		s.x = 0
		s.down()
	case "M":
		if s.y == s.top {
			s.scroll(s.top, -1)
		} else {
			s.move(s.y-1, s.x)
		}
	case "c":
		s.page()
		s.top, s.bottom = 0, s.rows
	}
}

// control takes a control sequence (ctlseqs of xterm).
func (s *Screen) control(body string, final byte) {
	var args [3]int
	for i, text := range strings.SplitN(body, ";", 4)[:min(3, strings.Count(body, ";")+1)] {
		args[i], _ = strconv.Atoi(text)
	}
	n, x := max(args[0], 1), min(s.x, s.cols-1)
	switch final {
	case 'A':
		s.move(s.y-n, x)
	case 'B', 'e':
		s.move(s.y+n, x)
	case 'E':
		s.move(s.y+n, 0)
	case 'F':
		s.move(s.y-n, 0)
	case 'C', 'a':
		s.move(s.y, x+n)
	case 'D':
		s.move(s.y, x-n)
	case 'G', '`':
		s.move(s.y, n-1)
	case 'd':
		s.move(n-1, x)
	case 'H', 'f':
		s.move(n-1, max(args[1], 1)-1)
	case 'J':
		s.erase(args[0], x)
	case 'K':
		s.line(s.y).erase(args[0], x)
	case 'L':
		s.scroll(s.y, -n)
	case 'M':
		s.scroll(s.y, n)
	case 'S':
		s.scroll(s.top, n)
	case 'T':
		s.scroll(s.top, -n)
	case '@', 'P', 'X':
		s.shift(final, x, min(n, s.cols-x))
	case 'b':
		for range min(n, maxCols) {
			s.put(max(s.last, ' '))
		}
	case 'r':
		bottom := min(cmp.Or(args[1], s.rows), s.rows)
		if n-1 < bottom {
			s.top, s.bottom = n-1, bottom
			s.move(0, 0)
		}
	case 's':
		s.savedY, s.savedX = s.y, s.x
	case 'u':
		s.move(s.savedY, s.savedX)
	case 't':
		if args[0] == 8 {
			s.Resize(args[1], args[2])
		}
	case 'h', 'l':
		if body == "?1049" || body == "?1047" || body == "?47" {
			s.page()
		}
	}
}

// erase empties the screen from the cursor to the end, from the beginning to the cursor, or all of it
// (0, 1, 2).
func (s *Screen) erase(how, x int) {
	switch how {
	case 0:
		s.line(s.y)
		s.lines = s.lines[:s.y+1]
	case 1:
		clear(s.lines[:min(s.y, len(s.lines))])
	case 2:
		s.lines = nil
		return
	}
	s.line(s.y).erase(how, x)
}

// erase is the same for a line.
func (l *line) erase(how, x int) {
	switch how {
	case 0:
		l.cells, l.wrapped = l.cells[:min(x, len(l.cells))], false
	case 1:
		for i := range l.cells[:min(x+1, len(l.cells))] {
			l.cells[i] = ' '
		}
	case 2:
		*l = line{}
	}
}

// shift inserts, deletes or empties n characters of the cursor's line (ICH, DCH, ECH).
func (s *Screen) shift(how byte, x, n int) {
	l := s.line(s.y)
	l.pad(min(x+n, s.cols))
	blank := slices.Repeat([]rune{' '}, n)
	switch how {
	case '@':
		l.cells = slices.Insert(l.cells, x, blank...)
	case 'P':
		l.cells = slices.Delete(l.cells, x, x+n)
	case 'X':
		copy(l.cells[x:], blank)
	}
	l.cells = l.cells[:min(len(l.cells), s.cols)]
}
