package paths

import "testing"

func TestJoin(t *testing.T) {
	for want, c := range map[string][2]string{"/a/b": {"/a", "b"}, "/b/c": {"/", "b/c"}} {
		if got := Join(c[0], c[1]); got != want {
			t.Errorf("%q: %q", c, got)
		}
	}
}

func TestRest(t *testing.T) {
	for _, c := range []struct {
		dir, p, rest string
		ok           bool
	}{
		{"/a", "/a", "", true},
		{"/a", "/a/b/c", "b/c", true},
		{"/a", "/ab", "", false},
		{"/a", "/", "", false},
		{"/a/b", "/a", "", false},
		{"/", "/", "", true},
		{"/", "/a/b", "a/b", true},
		{"/a", "/b", "", false},
		{"/a/", "/a/b", "b", true},
		{"/a/", "/a", "", false},
		{"", "/a", "a", true},
		{"a", "a/b", "b", true},
		{"/a", "", "", false},
	} {
		rest, ok := Rest(c.dir, c.p)
		if ok != c.ok || rest != c.rest || Below(c.dir, c.p) != c.ok || Inside(c.dir, c.p) != (c.ok && c.rest != "") {
			t.Errorf("%q, %q: %q, %v", c.dir, c.p, rest, ok)
		}
	}
}
