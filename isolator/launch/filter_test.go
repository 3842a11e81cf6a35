package launch

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// filtered is what a filter passes on of a stream that comes in pieces of a size.
func filtered(stream string, size int) string {
	var f filter
	var out []byte
	for rest := []byte(stream); len(rest) > 0; {
		n := min(size, len(rest))
		out = append(out, f.pass(rest[:n])...)
		rest = rest[n:]
	}
	return string(out)
}

// clipboard is what must not reach a terminal.
var clipboard = regexp.MustCompile(`(\x1b[\x00\x7f]*\]|\x{9d})[\x00-\x06]*(0*5[\x00-\x06]*2|4294967348|5522|1337;Copy)[;\x07\x1b]`)

// bytewise has a regexp see bytes, where it would look for characters.
func bytewise(s string) string {
	r := make([]rune, len(s))
	for i := range len(s) {
		r[i] = rune(s[i])
	}
	return string(r)
}

// handedOn is what a multiplexer hands on to the terminal outside: the contents of
// DCS strings that begin so.
func handedOn(s, prefix string) string {
	var out strings.Builder
	for {
		_, rest, ok := strings.Cut(s, "\x1bP")
		if !ok {
			return out.String()
		}
		var inside []byte
		i := 0
		for ; i < len(rest); i++ {
			if rest[i] == 0x1b && i+1 < len(rest) {
				if i++; rest[i] == '\\' {
					break
				}
				if prefix == "" {
					inside = append(inside, 0x1b) // GNU screen does not undouble
				}
			}
			inside = append(inside, rest[i])
		}
		if text := string(inside); strings.HasPrefix(strings.TrimLeft(text, "0123456789;"), prefix) {
			_, text, _ = strings.Cut(text, prefix)
			out.WriteString(text)
			// What is handed on may be for another one.
			out.WriteString(handedOn(text, prefix))
		}
		s = rest[min(i, len(rest)):]
	}
}

func TestFilterClipboard(t *testing.T) {
	const st = "\x1b\\"
	text := base64.StdEncoding.EncodeToString([]byte("clip"))
	tmux := func(s string) string { return "\x1bPtmux;" + strings.ReplaceAll(s, "\x1b", "\x1b\x1b") + st }
	osc := func(body string) string { return "\x1b]" + body + "\a" }
	clip := osc("52;c;" + text)
	for name, stream := range map[string]string{
		"bell":                     clip,
		"string terminator":        "\x1b]52;c;" + text + st,
		"C1":                       "\x9d52;c;" + text + "\x9c",
		"C1 in UTF-8":              "\xc2\x9d52;c;" + text + "\a",
		"C1 after a character":     "é\x9d52;c;" + text + "\a",
		"ask":                      osc("52;c;?"),
		"other selection":          osc("52;ps;" + text),
		"zeros":                    osc("0052;c;" + text),
		"wrapped number":           osc("4294967348;c;" + text),
		"many digits":              osc(strings.Repeat("0", 300) + "52;c;" + text),
		"controls within":          "\x1b\x00]5\x012;c;" + text + "\a",
		"after an escape":          "\x1b\x1b]52;c;" + text + "\a",
		"in a title":               "\x1b]2;title\x1b]52;c;" + text + "\a",
		"in a title, C1":           "\x1b]2;title\x9d52;c;" + text + "\a",
		"in a DCS":                 "\x1bP+q\x1b]52;c;" + text + "\a" + st,
		"in an APC":                "\x1b_x\x1b]52;c;" + text + "\a" + st,
		"screen":                   "\x1bP" + clip + st,
		"screen, in two":           "\x1bP\x1b" + "\x1b\\" + "\x1bP]52;c;" + text + "\a" + st,
		"screen, after text":       "\x1bPq\xe2\x9c\x9c\x1b" + "\x1b\\" + "\x1bP]52;c;" + text + "\a" + st,
		"tmux":                     tmux(clip),
		"tmux, string terminator":  tmux("\x1b]52;c;" + text + st),
		"tmux, C1":                 tmux("\x9d52;c;" + text + "\a"),
		"tmux in tmux":             tmux(tmux(clip)),
		"tmux with parameters":     "\x1bP1;2" + tmux(clip)[2:],
		"tmux, in two":             tmux("\x1b]5") + tmux("2;c;"+text+"\a"),
		"tmux, in two at the ESC":  tmux("\x1b") + tmux("]52;c;"+text+"\a"),
		"tmux, C2 and 9D apart":    tmux("\xc2") + tmux("\x9d52;c;"+text+"\a"),
		"tmux, single ESC":         "\x1bPtmux;\x1b]52;c;" + text + "\a" + st,
		"kitty":                    osc("5522;type=write"),
		"iTerm2":                   osc("1337;Copy=:" + text),
		"iTerm2, to the clipboard": osc("1337;CopyToClipboard="),
		"never ended":              "\x1b]52;c;" + text,
	} {
		for _, size := range []int{1, 2, 3, 5, 1000} {
			got := filtered("a"+stream+"\x1b[0mz", size)
			for _, s := range []string{got, handedOn(got, "tmux;"), handedOn(got, "")} {
				if clipboard.MatchString(bytewise(s)) {
					t.Errorf("%s, pieces of %d: %q shows %q", name, size, got, s)
				}
			}
			if !strings.HasPrefix(got, "a") || (!strings.HasSuffix(got, "z") && !strings.Contains(name, "never")) {
				t.Errorf("%s, pieces of %d: %q has lost what is around it", name, size, got)
			}
		}
	}
}

// Everything else passes as it is, byte for byte.
func TestFilterPasses(t *testing.T) {
	var every []byte
	for i := range 256 {
		if i != 0x9d {
			every = append(every, byte(i), 'x')
		}
	}
	for name, stream := range map[string]string{
		"text":            "plain text\r\nand more\r\n",
		"characters":      "❝quoted❞ 睝 \U0001d75d ѝ ❝52;c;x",
		"colours":         "\x1b[1;31mred\x1b[0m\x1b[?25l\x1b[?1049h",
		"title":           "\x1b]2;a title\a\x1b]0;another\x1b\\",
		"link":            "\x1b]8;;http://example.org/\x1b\\text\x1b]8;;\x1b\\",
		"colour of OSC":   "\x1b]10;?\x1b\\\x1b]104\x1b\\\x1b]110\a\x1b]4;52;?\a\x1b]P0aabbcc",
		"near":            "\x1b]152;x\a\x1b]520;x\a\x1b]5;x\a\x1b]2;52;c;x\a\x1b]9;4;1;50\a\x1b]777;notify;a;b\a",
		"iTerm2":          "\x1b]1337;SetMark\a\x1b]1337;File=inline=1:AAAA\a\x1b]1337;Co",
		"sixel":           "\x1bPq#0;2;0;0;0~~@@vv@@~~\x1b\\after",
		"DECRQSS":         "\x1bP$qm\x1b\\\x1bP+q544e\x1b\\",
		"kitty graphics":  "\x1b_Gf=100;AAAA\x1b\\",
		"passthrough":     "\x1bPtmux;\x1b\x1b]2;title\a\x1b\\\x1bPtmux;\x1b\x1b_Ga=q;x\x1b\x1b\\\x1b\\after",
		"nearly tmux":     "\x1bPtmu\x1b\\\x1bPt;x\x1b\\",
		"every byte":      string(every),
		"escapes at ends": "\x1b\x1b\x1b(B\x1b=\x1b>\x1bM",
	} {
		for _, size := range []int{1, 2, 3, 7, 1000} {
			want := stream
			if name == "every byte" {
				want = strings.Replace(want, "\x1bx", "\x1bx", 1)
			}
			if got := filtered(stream+"\x1b[0m", size); got != want+"\x1b[0m" {
				t.Errorf("%s, pieces of %d:\n%q\n%q", name, size, got, stream)
			}
		}
	}
}

func TestFilterBounds(t *testing.T) {
	var f filter
	f.pass([]byte("\x1bPtmux;"))
	for range 3 << 10 {
		f.pass(bytes.Repeat([]byte("x"), 1<<10))
	}
	if got := string(f.pass([]byte("\x1b\\after"))); got != "after" || cap(f.held) > 4*maxTmux {
		t.Errorf("%q, %d held", got, cap(f.held))
	}
}

func FuzzFilter(f *testing.F) {
	f.Add("a\x1b]52;c;x\ab\x1bPtmux;\x1b\x1b]52;c;\x1b\\", uint8(3))
	f.Fuzz(func(t *testing.T, stream string, size uint8) {
		whole := filtered(stream, len(stream)+1)
		if pieces := filtered(stream, int(size)+1); pieces != whole {
			t.Errorf("in pieces %q, as a whole %q", pieces, whole)
		}
		if again := filtered(whole, len(whole)+1); strings.Contains(again, "\x1b]52;") || strings.Contains(whole, "\x1b]52;") {
			t.Errorf("%q", whole)
		}
	})
}

func BenchmarkFilter(b *testing.B) {
	text := bytes.Repeat([]byte("some words of text, a ❝quote❞ among them\r\n"), 100)
	var screen []byte
	for i := range 200 {
		screen = fmt.Appendf(screen, "\x1b[%d;1H\x1b[38;5;%dmsome words\x1b[0m", i%24, i)
	}
	for name, p := range map[string][]byte{"text": text, "screen": screen} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(p)))
			var f filter
			for b.Loop() {
				f.pass(p)
			}
		})
	}
}
