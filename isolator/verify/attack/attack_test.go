package attack

import (
	"errors"
	"testing"
)

// TestList wants names to be unique, and each attack to have what it needs.
func TestList(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range List() {
		switch {
		case seen[a.Name]:
			t.Errorf("%s is there twice", a.Name)
		case a.What == "" || a.Class == "":
			t.Errorf("%s says nothing about itself", a.Name)
		case (a.Try == nil) == (a.Launcher == nil):
			t.Errorf("%s has no way to try it, or two", a.Name)
		}
		seen[a.Name] = true
	}
	if len(seen) < 85 {
		t.Errorf("%d attacks", len(seen))
	}
}

// TestLeak wants a leak to be shown by the secret or the host, not by words.
func TestLeak(t *testing.T) {
	s := &Scene{Secret: "secret-1"}
	for _, c := range []struct {
		a    Attack
		said string
		err  error
		want string
	}{
		{Attack{}, "I got it", nil, ""},
		{Attack{}, "/a\tsecret-1\n", errors.New("x"), "the secret was read: /a"},
		{Attack{Effect: func(*Scene) string { return "changed" }}, "", errors.New("x"), "changed"},
		{Attack{Claim: true}, "", nil, "the kernel allowed it"},
		{Attack{Claim: true}, "", errors.New("x"), ""},
	} {
		if got := c.a.Leak(s, c.said, c.err); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
