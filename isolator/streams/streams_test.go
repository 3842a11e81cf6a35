package streams

import "testing"

func TestOutput(t *testing.T) {
	for text, want := range map[string]string{"": "", "abc": "abc", "abcdef": "abcd", "abcü": "abc", "abü?": "abü", "\xff\xff\xff\xff\xff": "\xff\xff\xff\xff"} {
		c, err := NewOutput(4, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.W.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if got, cut := c.End(); string(got) != want || cut != (len(text) > 4) {
			t.Errorf("%q: %q, cut %t", text, got, cut)
		}
	}
}
