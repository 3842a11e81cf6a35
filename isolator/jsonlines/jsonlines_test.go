package jsonlines

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestServe(t *testing.T) {
	var out bytes.Buffer
	s := &Server{Out: &out, MaxLine: 8}
	s.Take = func(_ context.Context, line []byte, tooLong bool) bool {
		if tooLong {
			s.Answer("too long")
			return true
		}
		return s.Go(func() { s.Answer(string(line)) })
	}
	if err := s.Serve(context.Background(), iotest.OneByteReader(strings.NewReader("a\n\n  \n"+strings.Repeat("x", 9)+"\n b \r\nend"))); err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(strings.ReplaceAll(out.String(), "too long", "long"))
	slices.Sort(got)
	if want := []string{`"a"`, `"b"`, `"end"`, `"long"`}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if s.Go(func() { t.Error("it began after the end") }) {
		t.Error("something begins after the end")
	}
}

// Where nobody reads the answers, everything ends.
func TestNobodyReads(t *testing.T) {
	gone := errors.New("gone")
	s := &Server{Out: failing{gone}, MaxLine: 8}
	s.Take = func(ctx context.Context, _ []byte, _ bool) bool {
		s.Answer(1)
		<-ctx.Done()
		return s.Go(func() { t.Error("it began in spite of that") })
	}
	if err := s.Serve(context.Background(), strings.NewReader("a\nb\n")); !errors.Is(err, gone) {
		t.Errorf("%v, want %v", err, gone)
	}
}

type failing struct{ error }

func (f failing) Write([]byte) (int, error) { return 0, f.error }
