package main

import (
	"fmt"
	"testing"
)

func TestParseMount(t *testing.T) {
	for arg, want := range map[string]string{
		"/a:/b": "", "/a:/b:rw": "", "/a:/b:safe-rw": "", "/a": "", "/a:rw": "", "/a:safe-rw": "",
		"/a:/b:rw:x":  `mount "/a:/b:rw:x" is not SRC[:DEST][:MODE]`,
		":/b":         `mount ":/b" is not SRC[:DEST][:MODE]`,
		":rw":         `mount ":rw" is not SRC[:DEST][:MODE]`,
		"/a::rw":      `mount "/a::rw" is not SRC[:DEST][:MODE]`,
		"/a:tmpfs":    `mount "/a:tmpfs": a tmpfs has no source, write it under [mounts] of a profile`,
		"/a:x":        `mount "/a:x": mode "x" is not one of ro, rw, safe-rw`,
		"/a:/b:tmpfs": `mount "/a:/b:tmpfs": a tmpfs has no source, write it under [mounts] of a profile`,
		"/a:/b:x":     `mount "/a:/b:x": mode "x" is not one of ro, rw, safe-rw`,
	} {
		if _, err := parseMount(arg); fmt.Sprint(err) != want && (err != nil || want != "") {
			t.Errorf("ParseMount(%q): %v", arg, err)
		}
	}
}
