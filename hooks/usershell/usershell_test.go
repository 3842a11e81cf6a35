package usershell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFindHook finds the line in files that others read, and what is the matter with it.
func TestFindHook(t *testing.T) {
	for _, c := range []struct{ name, rc, other, want string }{
		{"none", "alias x=y\n", "", ""},
		{"comment", "# eval \"$(inner hook bash)\"\n", "", ""},
		{"another shell", "eval \"$(/bin/true/inner hook zsh)\"\n", "", ""},
		{"cannot run", "\neval \"$(/nowhere/inner hook bash)\"\n", "", "2: calls /nowhere/inner, which cannot be run"},
		{"read by another", ". ~/more\n", "eval \"$($HOME/inner hook bash)\"\n", "1: "},
	} {
		home := t.TempDir()
		for name, text := range map[string]string{".bashrc": c.rc, "more": c.other, "inner": "#!/bin/sh\n"} {
			if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		got := ""
		if h := (Files{Home: home, Command: "/usr/bin/inner"}).FindHook("bash"); h != nil && strings.HasPrefix(h.File, home) {
			got = string(rune('0'+h.Number)) + ": " + h.Problem
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestAdd adds a line to a file that may not end with one.
func TestAdd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "rc")
	for _, text := range []string{"one", "two"} {
		if err := Add(file, "# why", text); err != nil {
			t.Fatal(err)
		}
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "# why\none\n\n# why\ntwo\n" {
		t.Errorf("%q %v", data, err)
	}
}

// TestWithout takes what Add has added, as it is, and nothing else.
func TestWithout(t *testing.T) {
	for text, want := range map[string]string{
		"# why\none\n": "", "a\n\n# why\none\n": "a\n", "a\n\n# why\none\nb\n": "a\nb\n", "a\n# why\none\nb": "a\nb",
		"# why\none\n\n# why\ntwo\n": "\n# why\ntwo\n",
		"# why\none # mine\n":        "same", "one\n": "same", "x # why\none\n": "same", "": "same",
	} {
		rest, found := Without(text, "# why", "one")
		if found != (want != "same") || found && rest != want || !found && rest != text {
			t.Errorf("%q: %q %t", text, rest, found)
		}
	}
}
