package launch

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// A question stands alone on the screen, and leaves the terminal as the program had it.
func TestOverlay(t *testing.T) {
	const blank = "\x1b[?69l\x1b[?6l\x1b[r\x0f\x1b(B\x1b[H\x1b[0m\x1b[2J"
	const main, alternate = "\x1b[?1049h" + blank + "Q?", "\x1b7" + blank + "Q?"
	for _, c := range []struct {
		name, output, show, back string
		redraw                   bool
	}{
		{"a line of text", "text", main, "\x1b[?1049l", false},
		{"a full screen", "\x1b[?1049h", alternate, "\x1b[0m\x1b[2J\x1b8", true},
		{"a mouse, no cursor", "\x1b[?1049h\x1b[?1000h\x1b[?25l", "\x1b[?1000l\x1b[?25h" + alternate, "\x1b[0m\x1b[2J\x1b8\x1b[?1000h\x1b[?25l", true},
		{"a screen that stands still", "\x1b[?2026h", "\x1b[?2026l" + main, "\x1b[?1049l", false},
		{"another keyboard", "\x1b[>1u", "\x1b[?1049h" + blank + "\x1b[>0uQ?", "\x1b[<u\x1b[?1049l", false},
		{"an open string", "\x1b]0;title", "\x1b\\" + main, "\x1b[?1049l", false},
		{"lines that scroll", "\x1b[2;4r", main, "\x1b[2;4r\x1b[?1049l", false},
		{"lines that scrolled", "\x1b[2;4r\x1b[r", main, "\x1b[?1049l", false},
		{"modes that were restored", "\x1b[2;4r\x1b[?2r", main, "\x1b[2;4r\x1b[?1049l", false},
	} {
		var m modes
		m.scan([]byte(c.output))
		show, back, redraw := overlay(&m, "Q?")
		if string(show) != c.show || string(back) != c.back || redraw != c.redraw {
			t.Errorf("%s: %q %q %t, want %q %q %t", c.name, show, back, redraw, c.show, c.back, c.redraw)
		}
	}
}

// When the box changes terminals, the question on the old one ends, and the next is not taken
// up there: it would never be shown, and take every key.
func TestNoQuestionWhileMoving(t *testing.T) {
	x := newTerminal(t)
	fd, err := unix.Dup(int(x.slave.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	a := new(Asker)
	r := &relay{master: x.fd, out: fd}
	s := newSession(Options{Ask: a})
	s.console.full, s.console.ptys = true, []int{fd}
	s.console.real = tty{fd: fd, raw: true}
	s.output.relays = []*relay{r}
	a.begin(s)
	for range 2 {
		s.questions = append(s.questions, &pending{ctx: t.Context(), answer: make(chan byte, 1)})
	}
	s.ask()
	if s.asked == nil {
		t.Fatal("no question is taken up")
	}
	s.moveTo(-1, -1, wire.Msg{})
	if s.asked != nil || len(s.questions) != 1 {
		t.Errorf("taken up while the terminal changes: %+v", s.asked)
	}
}
