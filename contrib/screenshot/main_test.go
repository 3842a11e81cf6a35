package main

import (
	"strings"
	"testing"
)

// What a shell writes while a line is edited is what the line became; colours
// become classes, and text is escaped.
func TestConvert(t *testing.T) {
	cast := `{"version": 2, "width": 20, "height": 5, "title": "a <title>"}` + "\n" +
		`[0.1, "o", "\u001b[?2004h$ lx\b\u001b[Ks"]` + "\n" +
		`[0.2, "o", "\r\n\u001b]0;t\u0007\u001b[1;3"]` + "\n" +
		`[0.3, "o", "2m<b>\u001b[0m plain\r\n"]` + "\n"
	var out strings.Builder
	if err := convert(strings.NewReader(cast), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<title>a &lt;title&gt;</title>", `>$ ls</text>`, `><tspan class="b c2">&lt;b&gt;</tspan> plain</text>`, `height="70"`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if got := strings.Count(out.String(), "<text "); got != 2 {
		t.Errorf("%d lines, want 2", got)
	}
}
