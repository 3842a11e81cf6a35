package streams

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestKept(t *testing.T) {
	for text, want := range map[string]string{"": "", "abc": "abc", "abcdef": "abcd", "abcü": "abc", "abü?": "abü", "\xff\xff\xff\xff\xff": "\xff\xff\xff\xff"} {
		k := &Kept{Max: 4}
		if _, err := io.Copy(k, iotest.OneByteReader(strings.NewReader(text))); err != nil {
			t.Fatal(err)
		}
		if got, cut := k.Text(); string(got) != want || cut != (len(text) > 4) {
			t.Errorf("%q: %q, cut %t", text, got, cut)
		}
	}
}

func TestOpen(t *testing.T) {
	var out bytes.Buffer
	f, err := Open(strings.NewReader("in"), &out, nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(f.In); string(text) != "in" || err != nil {
		t.Errorf("%q %v", text, err)
	}
	for _, w := range []io.Writer{f.Out, f.Err} {
		if _, err := io.WriteString(w, "out"); err != nil {
			t.Fatal(err)
		}
	}
	if f.Close(); out.String() != "out" {
		t.Errorf("%q", out.String())
	}
}

// What a program wrote before it ended is copied once; what others write after it is not.
func TestRest(t *testing.T) {
	var to bytes.Buffer
	o, err := NewOutput(&to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(o.W, "before"); err != nil {
		t.Fatal(err)
	}
	if o.Rest(); to.String() != "before" {
		t.Fatalf("%q", to.String())
	}
	if _, err := io.WriteString(o.W, strings.Repeat("after", 1<<20)); err != nil { // more than a pipe holds
		t.Fatal(err)
	}
	if o.W.Close(); to.String() != "before" {
		t.Errorf("%q", to.String())
	}
}

// A program finds out that nobody takes its output.
func TestBroken(t *testing.T) {
	o, err := NewOutput(failing{})
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = io.WriteString(o.W, "x")
	}
	o.W.Close()
	o.Rest()
	f, err := Open(nil, failing{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = io.WriteString(f.Out, "x")
	}
	f.Close()
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("gone") }
