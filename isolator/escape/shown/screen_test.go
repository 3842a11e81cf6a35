package shown

import (
	"slices"
	"strings"
	"testing"
)

// shown is the text of a stream on a screen of 5 rows and 20 columns; 0 is one of unknown size.
func shown(t *testing.T, stream string, size, rows int) string {
	t.Helper()
	var out strings.Builder
	s := New(&out)
	s.Resize(rows, 20)
	for p := range slices.Chunk([]byte(stream), size) {
		if _, err := s.Write(p); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return out.String()
}

func TestScreen(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"lines", "a\r\nb", "a\nb\n"},
		{"drawn again", "10%\r20%\r\n", "20%\n"},
		{"colours and a title", "\x1b[1;31mred\x1b[m\x1b]0;title\x07x", "redx\n"},
		{"strings", "\x1b]52;c;aGk=\x1b\\y\x1bPq\x1b[c\x1b\\", "y\n"},
		{"other sequences", "\x1b(Bz\x1b=\x0e\x00\x9b31m", "z\ufffd31m\n"},
		{"backspace", "ab\bc", "ac\n"},
		{"what is not shown", "\u00e4\u20ac\u202e\u200b", "\u00e4\u20ac\n"},
		{"tabs", "a\tb\r\t\tc", "a       b       c\n"},
		{"cut", "\x1b[31", ""},
		{"scrolls off", "1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7", "1\n2\n3\n4\n5\n6\n7\n"},
		{"a broken line is one", "0123456789012345678901234\r\nx", "0123456789012345678901234\nx\n"},
		{"the last column", "01234567890123456789\r\nx", "01234567890123456789\nx\n"},
		{"written over", "0123456789012345678901234\x1b[Aabc", "01234abc89012345678901234\n"},
		{"blank lines", "a\r\n\r\n\r\nb\r\n\r\n", "a\n\n\nb\n"},
		{
			"a spinner above a prompt",
			"done 1\r\n- working\r\n> \x1b[1A\x1b[2K\x1b[G/ working 2s\x1b[1B\r> hi\x1b[2K\x1b[1A\x1b[2K\x1b[Gdone 2\r\n> ",
			"done 1\ndone 2\n>\n",
		},
		{"words that the cursor sets apart", "two\x1b[1Cwords\x1b[12Gmore", "two words  more\n"},
		{"places", "\x1b[2J\x1b[H\x1b[3;5Hlow\x1b[1;1Htop\x1b[2d*", "top\n   *\n    low\n"},
		{"a full screen", "before\r\n\x1b[?1049h\x1b[Hframe 1\x1b[2J\x1b[Hframe 2\r\nend\x1b[?1049lafter", "before\nframe 2\nend\nafter\n"},
		{"killed on it", "before\r\n\x1b[?1049h\x1b[2;1Hstill here", "before\n\nstill here\n"},
		{"erase", "abcdef\x1b[3D\x1b[K\r\nabcdef\x1b[3D\x1b[1K\r\nabc\x1b[2Kd", "abc\n    ef\n   d\n"},
		{"erase below", "1\r\n2\r\n3\x1b[2;1H\x1b[J", "1\n"},
		{"erase above", "1\r\n2\r\n3\x1b[2;1H\x1b[1J", "\n\n3\n"},
		{"insert and delete lines", "1\r\n2\r\n3\x1b[2;1H\x1b[L+\x1b[1;1H\x1b[M", "1\n+\n2\n3\n"},
		{"insert and delete characters", "abcdef\x1b[2G\x1b[2P\x1b[@+\x1b[2X", "a+  f\n"},
		{"repeat", "=\x1b[4b", "=====\n"},
		{"lines that scroll", "top\x1b[2;3r\x1b[2;1Ha\r\nb\r\nc\r\nd", "top\nc\nd\n"},
		{"scrolled back", "1\r\n2\x1b[H\x1bM0", "0\n1\n2\n"},
		{"saved", "a\x1b7b\x1b[3;3Hx\x1b8c", "ac\n\n  x\n"},
		{"wide", "\u6f22\u5b57\x1b[4D12\r\n\u2705 ok\x1b[2Dno", "12\u5b57\n\u2705 no\n"},
		{"another size", "\x1b[8;2;10t1\r\n2\r\n3\x1b[H0", "1\n0\n3\n"},
		{"sizes that are none", "\x1b[8;0;0ta\x1b[8;999999;999999tb", "ab\n"},
	} {
		for _, size := range []int{1, 2, 3, 1000} {
			if got := shown(t, c.in, size, 5); got != c.want {
				t.Errorf("%s, pieces of %d: %q, want %q", c.name, size, got, c.want)
			}
		}
	}
	long := strings.Repeat("x", 3000)
	if got := shown(t, long+"\nspin 1\rspin 2\r\n", 1000, 0); got != long+"\nspin 2\n" {
		t.Errorf("of unknown size: %q", got)
	}
}

func FuzzScreen(f *testing.F) {
	f.Add("a\r\n\x1b[5;9Hb\x1b[2;4r\x1b[3L\x1b[2M\x1b[4S\x1b[2T\x1bM\u6f22\x1b[2@\x1b[P\x1b[3X\x1b[9b\x1b[8;3;4t\x1b[1J\x1b[K", uint8(5))
	f.Fuzz(func(t *testing.T, stream string, rows uint8) {
		whole := shown(t, stream, len(stream)+1, int(rows))
		if got := shown(t, stream, 3, int(rows)); got != whole {
			t.Errorf("in pieces %q, as a whole %q", got, whole)
		}
		if strings.ContainsFunc(whole, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }) {
			t.Errorf("%q can drive a terminal", whole)
		}
	})
}
