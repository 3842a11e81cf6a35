package escape

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// events writes the events of a stream that comes in pieces of a size, with neighbouring runs of
// text and data as one.
func events(t *testing.T, stream string, size int, stringsOnly bool) string {
	t.Helper()
	p := Parser{StringsOnly: stringsOnly}
	var out []string
	var raw strings.Builder
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for piece := range slices.Chunk([]byte(stream), size) {
		p.Feed(piece)
		for {
			e := p.Next()
			raw.Write(p.Raw())
			if e == None {
				break
			}
			last := ""
			if len(out) > 0 {
				last = out[len(out)-1]
			}
			switch {
			case e == Text && strings.HasPrefix(last, "text "), e == Data && strings.HasPrefix(last, "data "):
				out[len(out)-1] += string(p.Raw())
			case e == Text:
				add("text %s", p.Raw())
			case e == Data:
				add("data %s", p.Raw())
			case e == Begin:
				add("begin %c", p.Kind)
			case e == End:
				add("end")
			case e == Broken:
				add("broken")
			case p.Kind == '[':
				add("csi %s %c", p.Body(), p.Final)
			default:
				add("esc %s%c", p.Body(), p.Final)
			}
		}
	}
	if raw.String() != stream {
		t.Errorf("%q, pieces of %d: the raw bytes are %q", stream, size, raw.String())
	}
	return strings.Join(out, "|")
}

func TestEvents(t *testing.T) {
	for stream, want := range map[string]string{
		"":                         "",
		"some text\r\n":            "text some text\r\n",
		"a\x1b[31mb":               "text a|csi 31 m|text b",
		"\x1b[?25l\x1b[>4;2m":      "csi ?25 l|csi >4;2 m",
		"\x1b[!p\x1b[ q":           "csi ! p|csi   q",
		"\x1b7\x1b(Bx":             "esc 7|esc (B|text x",
		"\x1b]0;title\ax":          "begin ]|data 0;title|end|text x",
		"\x1b]0;title\x1b\\x":      "begin ]|data 0;title|end|esc \\|text x",
		"\x1b]0;one\x1b]0;two\a":   "begin ]|data 0;one|end|begin ]|data 0;two|end",
		"\x1bPq\x1b[31m":           "begin P|data q|end|csi 31 m",
		"\x1b[12\x1b[3m":           "broken|csi 3 m",
		"\x1b\x1b[3m\x1b[3\x18m":   "broken|csi 3 m|broken|text m",
		"\x1b[1\n2m\x1b\x00[m":     "csi 12 m|csi  m",
		"a\x9d52;x\x1b\\":          "text a|begin ]|data 52;x|end|esc \\",
		"a\u009d52;x\a":            "text a\xc2|begin ]|data 52;x|end",
		"\u275d \u775d \U0001d75d": "text \u275d \u775d \U0001d75d",
		"\x1b]0;\u275d\x9d2;x\a":   "begin ]|data 0;\u275d|end|begin ]|data 2;x|end",
		"\x1b[1" + strings.Repeat(";1", 40) + "mx": "broken|text x",
		"\x1b[3\u00e4": "csi 3 \u00c3|text \xa4",
	} {
		for _, size := range []int{1, 2, 3, 5, 1000} {
			if got := events(t, stream, size, false); got != want {
				t.Errorf("%q, pieces of %d: %q, want %q", stream, size, got, want)
			}
		}
	}
	const stream, want = "a\x1b[31mb\x1b]0;x\ac\x1b7", "text a\x1b[31mb|begin ]|data 0;x|end|text c|esc 7"
	if got := events(t, stream, 1000, true); got != want {
		t.Errorf("strings only: %q, want %q", got, want)
	}
}

// A passthrough of tmux, whoever finds it.
func TestDoubled(t *testing.T) {
	for stream, want := range map[string]string{
		"a\x1b\x1b]2;x\ab\x1b\\c": "DDDE",
		"\x1b\x1b\x1b\x1b\x1b\\":  "DDE",
		"x\x1b]2;y\x1b\\":         "DBDE",
	} {
		var p Parser
		p.Feed([]byte(stream))
		p.Double()
		got := ""
		for e := p.Next(); e == Data || e == Broken || e == End; e = p.Next() {
			if got += map[Event]string{Data: "D", Broken: "B", End: "E"}[e]; e == End {
				break
			}
		}
		if got != want || p.State != Ground {
			t.Errorf("%q: %s, want %s", stream, got, want)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("a\x1b[1;31mb\x1b]52;c;x\x1b\\\x9d\xe2\x9d\x9d\x1bP\x1b\x1b[3\x18m", 2)
	f.Fuzz(func(t *testing.T, stream string, size int) {
		whole := events(t, stream, len(stream)+1, false)
		if got := events(t, stream, min(max(size, 1), 100), false); got != whole {
			t.Errorf("in pieces %q, as a whole %q", got, whole)
		}
	})
}

func BenchmarkNext(b *testing.B) {
	text := []byte(strings.Repeat("\x1b[32m+ added line of a diff, eighty characters or so, as agents print them\x1b[0m\r\n", 400))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	var p Parser
	for b.Loop() {
		p.Feed(text)
		for p.Next() != None {
		}
	}
}
