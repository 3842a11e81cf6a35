package learn

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestMentions(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, text []byte) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	across := append(bytes.Repeat([]byte{'.'}, 1<<20-3), "ACROSS_PIECES=1 "...)
	files := []string{
		put("a", []byte("#!/bin/sh\necho $FIRST ${SECOND} \"$MY_THIRD\" NOT_IT_FOURTH x\x00FIFTH\x00")), put("b", across), filepath.Join(dir, "missing"), put("c", []byte("AT_THE_END")),
	}
	names := []string{"FIRST", "SECOND", "THIRD", "FOURTH", "FIFTH", "ACROSS_PIECES", "AT_THE_END", "NOWHERE", "ON_THE_LINE"}
	got := Mentions([]byte("x $ON_THE_LINE"), files, os.Open, names)
	if want := []string{"ACROSS_PIECES", "AT_THE_END", "FIFTH", "FIRST", "ON_THE_LINE", "SECOND"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
