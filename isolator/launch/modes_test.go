package launch

import (
	"strings"
	"testing"
)

func scanned(pieces ...string) string {
	var m modes
	for _, p := range pieces {
		m.scan([]byte(p))
	}
	return string(m.resets())
}

func TestModes(t *testing.T) {
	for _, c := range []struct{ name, out, want string }{
		{"text", "hello\r\nworld", ""},
		{"cursor hidden", "\x1b[?25l", "\x1b[?25h"},
		{"cursor shown again", "\x1b[?25l..\x1b[?25h", ""},
		{"several in one", "\x1b[?1000;1006;2004h", "\x1b[?1000l\x1b[?1006l\x1b[?2004l"},
		{"one of several off", "\x1b[?1000;1006h\x1b[?1000l", "\x1b[?1006l"},
		{"alternate screen", "\x1b[?1049h", "\x1b[?1049l"},
		{"wrap off", "\x1b[?7l", "\x1b[?7h"},
		{"unknown mode", "\x1b[?9999h\x1b[4h\x1b[?x", ""},
		{"keyboard pushed twice, popped once", "\x1b[>1u\x1b[>5u\x1b[<u", "\x1b[<1u"},
		{"popped more than pushed", "\x1b[>1u\x1b[<9u\x1b[>1u", "\x1b[<1u"},
		{"pop of two", "\x1b[>1u\x1b[>1u\x1b[<2u", ""},
		{"keyboard asked", "\x1b[?u", ""},
		{"keyboard per screen", "\x1b[>1u\x1b[?1049h\x1b[>1u\x1b[>1u", "\x1b[<2u\x1b[?1049l\x1b[<1u"},
		{"keyboard set", "\x1b[=5;1u", "\x1b[=0u"},
		{"keyboard set and cleared", "\x1b[=5;1u\x1b[=0u", ""},
		{"modifyOtherKeys", "\x1b[>4;2m", "\x1b[>4;0m"},
		{"modifyOtherKeys off", "\x1b[>4;2m\x1b[>4m", ""},
		{"modifyOtherKeys off otherwise", "\x1b[>4;1m\x1b[>4n", ""},
		{"colour", "\x1b[31mred", "\x1b[0m"},
		{"colour off", "\x1b[31mred\x1b[m", ""},
		{"colour off by zeros", "\x1b[1;31mred\x1b[00m", ""},
		{"off and on", "\x1b[0;1m", "\x1b[0m"},
		{"on and off", "\x1b[1;0m", ""},
		{"palette colour zero", "\x1b[38;5;0m", "\x1b[0m"},
		{"true colour ending in zero", "\x1b[48;2;1;2;0m", "\x1b[0m"},
		{"colons", "\x1b[38:2::1:2:0m", "\x1b[0m"},
		{"full reset", "\x1b[?25l\x1b[31m\x1b[>1u\x1bc", ""},
		{"soft reset", "\x1b[?25l\x1b[31m\x1b[!p", ""},
		{"keypad", "\x1b=", "\x1b>"},
		{"keypad off", "\x1b=\x1b>", ""},
		{"in a title", "\x1b]0;[?25l\x07", ""},
		{"in a title, other end", "\x1b]0;[?25l\x1b\\", ""},
		{"title cut", "\x1b]0;abc", "\x1b\\"},
		{"sequence cut", "\x1b[?25", "\x1b\\"},
		{"escape cut", "x\x1b", "\x1b\\"},
		{"cancelled", "\x1b[?25\x18l", ""},
		{"restarted", "\x1b[?2\x1b[?25l", "\x1b[?25h"},
		{"line feed within", "\x1b[?2\n5l", "\x1b[?25h"},
		{"very long", "\x1b[" + strings.Repeat("1;", 4000) + "31m\x1b[?25l", "\x1b[?25h"},
		{"utf-8", "äöü\x1b[?25l→", "\x1b[?25h"},
		{"huge number", "\x1b[?99999999999999999999h", ""},
	} {
		if got := scanned(c.out); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		// In single bytes, and cut in two at every place.
		if got := scanned(strings.Split(c.out, "")...); got != c.want {
			t.Errorf("%s, byte by byte: %q, want %q", c.name, got, c.want)
		}
		for i := range min(len(c.out), 64) {
			if got := scanned(c.out[:i], c.out[i:]); got != c.want {
				t.Errorf("%s, cut at %d: %q, want %q", c.name, i, got, c.want)
			}
		}
	}
}

// What was reset leaves nothing to reset, however the input is cut.
func FuzzModes(f *testing.F) {
	f.Add("\x1b[?1049h\x1b[>1u\x1b]0;x", 3)
	f.Add("\x1b[=1u\x1b[38;5;0m\x1bP\x1b\x1b[?25l", 9)
	f.Fuzz(func(t *testing.T, s string, cut int) {
		var whole, pieces modes
		whole.scan([]byte(s))
		cut = min(max(cut, 0), len(s))
		pieces.scan([]byte(s[:cut]))
		pieces.scan([]byte(s[cut:]))
		a, b := whole.resets(), pieces.resets()
		if string(a) != string(b) {
			t.Errorf("whole %q, in pieces %q", a, b)
		}
		whole.scan(a)
		if again := whole.resets(); len(again) > 0 {
			t.Errorf("after %q: %q", a, again)
		}
	})
}

func BenchmarkModes(b *testing.B) {
	text := []byte(strings.Repeat("\x1b[32m+ added line of a diff, eighty characters or so, as agents print them\x1b[0m\r\n", 400))
	b.SetBytes(int64(len(text)))
	var m modes
	for b.Loop() {
		m.scan(text)
	}
}
