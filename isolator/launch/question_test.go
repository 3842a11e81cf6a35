package launch

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A question leaves the terminal as the program had it.
func TestOverlay(t *testing.T) {
	for _, c := range []struct {
		name, output, show, back string
		redraw                   bool
	}{
		{"a line of text", "text", "\x1b[?1049h\x1b[H\x1b[0m\x1b[2JQ?", "\x1b[?1049l", false},
		{"a full screen", "\x1b[?1049h", "\x1b7\x1b[24;1H\x1b[0m\x1b[JQ?", "\x1b[0m\r\x1b[2K\x1b8", true},
		{"a mouse, no cursor", "\x1b[?1049h\x1b[?1000h\x1b[?25l", "\x1b[?1000l\x1b[?25h\x1b7\x1b[24;1H\x1b[0m\x1b[JQ?", "\x1b[0m\r\x1b[2K\x1b8\x1b[?1000h\x1b[?25l", true},
		{"a screen that stands still", "\x1b[?2026h", "\x1b[?2026l\x1b[?1049h\x1b[H\x1b[0m\x1b[2JQ?", "\x1b[?1049l", false},
		{"another keyboard", "\x1b[>1u", "\x1b[?1049h\x1b[H\x1b[0m\x1b[2J\x1b[>0uQ?", "\x1b[<u\x1b[?1049l", false},
		{"an open string", "\x1b]0;title", "\x1b\\\x1b[?1049h\x1b[H\x1b[0m\x1b[2JQ?", "\x1b[?1049l", false},
	} {
		var m modes
		m.scan([]byte(c.output))
		show, back, redraw := overlay(&m, unix.Winsize{Row: 24, Col: 80}, "Q?")
		if string(show) != c.show || string(back) != c.back || redraw != c.redraw {
			t.Errorf("%s: %q %q %t, want %q %q %t", c.name, show, back, redraw, c.show, c.back, c.redraw)
		}
	}
}
