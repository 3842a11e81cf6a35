package runlog

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/enr/inner/internal/visible"
)

// Plain turns what a program wrote to a terminal into text that is safe to
// show: escape sequences and control characters are left out, a line that was
// drawn again shows what was drawn last. Full-screen programs do not make good
// text. Close writes what is left of the last line.
type Plain struct {
	w     io.Writer
	state int
	line  []byte // printable text of the line so far
	again bool   // a carriage return came: text replaces the line
	part  []byte // of a character
}

// States of Plain: outside and inside of an escape sequence.
const (
	inText = iota
	afterEscape
	inCharset // ESC ( and its kind: one more byte
	inCSI
	inString // OSC, DCS and their kind: up to BEL or ESC \
	inStringEscape
)

// NewPlain returns a Plain that writes to w.
func NewPlain(w io.Writer) *Plain { return &Plain{w: w} }

// maxLine is where a line that never ends is broken.
const maxLine = 64 << 10

// Write takes the next piece of output.
func (t *Plain) Write(p []byte) (int, error) {
	size := len(p)
	if len(t.part) > 0 {
		p = append(t.part, p...)
		t.part = nil
	}
	if n := partial(p); n > 0 {
		t.part = bytes.Clone(p[len(p)-n:])
		p = p[:len(p)-n]
	}
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		p = p[n:]
		if err := t.rune(r); err != nil {
			return 0, err
		}
	}
	return size, nil
}

func (t *Plain) rune(r rune) error {
	switch t.state {
	case inText:
		return t.text(r)
	case inStringEscape:
		if t.state = inText; r != '\\' {
			t.state = stateAfterEscape(r)
		}
	case afterEscape:
		t.state = stateAfterEscape(r)
	case inCharset:
		t.state = inText
	case inCSI:
		if r >= 0x40 && r < 0x7f || r == 0x18 || r == 0x1a {
			t.state = inText
		} else if r == 0x1b {
			t.state = afterEscape
		}
	case inString:
		switch r {
		case 0x07, 0x18, 0x1a:
			t.state = inText
		case 0x1b:
			t.state = inStringEscape
		}
	}
	return nil
}

func stateAfterEscape(r rune) int {
	switch {
	case r == '[':
		return inCSI
	case strings.ContainsRune("]P^_X", r):
		return inString
	case r >= 0x20 && r < 0x30:
		return inCharset
	}
	return inText
}

func (t *Plain) text(r rune) error {
	switch {
	case r == 0x1b:
		t.state = afterEscape
	case r == '\n':
		return t.flush()
	case r == '\r':
		t.again = true
	case r == '\b':
		if _, n := utf8.DecodeLastRune(t.line); len(t.line) > 0 {
			t.line = t.line[:len(t.line)-n]
		}
	case r == '\t' || visible.Shown(r):
		if t.again {
			t.line, t.again = t.line[:0], false
		}
		t.line = utf8.AppendRune(t.line, r)
		if len(t.line) >= maxLine {
			return t.flush()
		}
	}
	return nil
}

func (t *Plain) flush() error {
	_, err := t.w.Write(append(t.line, '\n'))
	t.line, t.again = t.line[:0], false
	return err
}

// Close writes what is left.
func (t *Plain) Close() error {
	if len(t.line) == 0 {
		return nil
	}
	return t.flush()
}
