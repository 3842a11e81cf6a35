package visible

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                     "",
		"plain\ttext äöü 漢字":   "plain\ttext äöü 漢字",
		"a\nb\r":               `a\x0ab\x0d`,
		"\x1b[2J\x7f\x00":      `\x1b[2J\x7f\x00`,
		"\u202etxt\u2066":      `\u202etxt\u2066`,
		"ad\u200bmin\ufeff":    `ad\u200bmin\ufeff`,
		"a\ufe0fb\u034f":       `a\ufe0fb\u034f`,
		"\U000e0041\U000e0100": `\U000e0041\U000e0100`,
		"\u3164\u2800\u00ad":   `\u3164\u2800\u00ad`,
		"\u0085\u009b1m":       `\u0085\u009b1m`,
		"\xff\xc3(\ufffd":      "\\xff\\xc3(\ufffd",
		"\u2028\u00a0":         `\u2028\u00a0`,
		`\u202e`:               `\u202e`,
	} {
		if got := Text(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got, want := Lines("a\r\n\u202eb\n"), "a\n\\u202eb\n"; got != want {
		t.Errorf("Lines: %q, want %q", got, want)
	}
}

func TestWriter(t *testing.T) {
	var out bytes.Buffer
	w := &Writer{To: &out, Colours: []string{"0", "31"}}
	for _, part := range []string{"\x1b[31mred\x1b[0m\n", "\x1b[8mhid\x1b[", "2J", "\xe2\x80", "\xae", "\xe2", "x\tä\n", "\x1b"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got, want := out.String(), "\x1b[31mred\x1b[0m\n\\x1b[8mhid\\x1b[2J\\u202e\\xe2x\tä\n\\x1b"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func harmless(t *testing.T, in, out string) {
	t.Helper()
	if !utf8.ValidString(out) {
		t.Fatalf("%q: %q is not UTF-8", in, out)
	}
	for _, r := range out {
		if r != '\t' && r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Bidi_Control, unicode.Other_Default_Ignorable_Code_Point)) {
			t.Fatalf("%q: %q has %U in it", in, out, r)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\u202e\x1b[31m\xff")
	f.Add("\U000e0041\u200d\n")
	f.Fuzz(func(t *testing.T, s string) {
		harmless(t, s, Text(s))
		harmless(t, s, Lines(s))
		if again := Text(Text(s)); again != Text(s) {
			t.Errorf("%q: twice is %q", s, again)
		}
		var out bytes.Buffer
		w := &Writer{To: &out}
		for i := range len(s) { // cut anywhere
			_, _ = w.Write([]byte{s[i]})
		}
		harmless(t, s, out.String())
		if valid := strings.ToValidUTF8(s, ""); valid == s {
			enc, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			var back string
			if err := json.Unmarshal(JSON(enc), &back); err != nil || back != s {
				t.Errorf("%q came back as %q, %v", s, back, err)
			}
			harmless(t, s, string(JSON(enc)))
		}
	})
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "a\nb\r\n\tc\n": "a b c", "\x1b[2J\x00x": "[2J x", "a\u202eb": `a\u202eb`, "\u0085": "",
	} {
		if got := Line(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestSome: a list that is cut says how much is missing, and the list itself stays.
func TestSome(t *testing.T) {
	list := []string{"a", "b", "c"}
	for most, want := range map[int]string{1: "a, and 2 more", 2: "a, b, and 1 more", 3: "a, b, c", 4: "a, b, c"} {
		if got := strings.Join(Some(list, most), ", "); got != want {
			t.Errorf("%d: %s, want %s", most, got, want)
		}
	}
	if list[1] != "b" || list[2] != "c" {
		t.Errorf("the list is %q now", list)
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[uint64]string{1: "1 bytes", 1024: "1 KiB", 1536: "1.5 KiB", 2 << 30: "2 GiB", 3 << 40: "3 TiB"} {
		if got := Size(n); got != want {
			t.Errorf("%d: %s, not %s", n, got, want)
		}
	}
}
