// Package hooks holds what inner does inside a running shell: the text that
// "inner hook SHELL" prints for the shell to evaluate, and the answers it gives
// that text later.
//
// The hook maintains the shell and decides nothing. It promises that the
// shim folder is first on PATH at every prompt, that the shell forgets the stale
// location of a command when the set of shims changes, and that inner is asked
// once, not at every prompt, when the folder, the state or a watched profile
// changed. At a prompt where nothing changed it runs shell builtins only and
// starts no process. It does not keep a program from running: that is the
// shim's work.
//
//	text, err := hooks.Script("bash", hooks.Vars{
//		Inner:     "/home/ann/.inner/shims/inner",
//		ShimDir:   "/home/ann/.inner/shims/bin",
//		StateFile: "/home/ann/.inner/shims/state",
//	})
//
// The shell text is in files of its own (bash.sh, zsh.zsh and so on). Values enter it
// only through package quote. The protocol between hook and binary is in state.go.
package hooks

import (
	"embed"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/enr/inner/hooks/quote"
)

//go:embed *.sh *.zsh *.fish *.elv *.nu *.tcsh
var texts embed.FS // allowed: embed writes only to a variable

// Vars are the values a hook is filled in with, all absolute paths.
type Vars struct {
	// Inner is the binary that the hook asks when something changed.
	Inner string
	// Command is what a person calls as inner; Inner is a copy of it.
	Command string
	// ShimDir is the folder kept first on PATH. It cannot contain a colon.
	ShimDir string
	// StateFile is the file whose first line is the generation token and whose
	// modification time is when the state was last checked.
	StateFile string
}

// Shells lists the shells that have a hook; sh stands for dash, ksh and others like them.
func Shells() []string { return []string{"bash", "zsh", "fish", "elvish", "nu", "tcsh", "sh"} }

// shell is the file of one shell's text, its way of quoting, and how it puts a value and a list into
// variables. One without lists has a test of the paths instead.
type shell struct {
	file         string
	quote        func(string) string
	scalar, list string
	changed      func(watch, there, absent []string) string
}

func (s shell) text() string {
	data, _ := texts.ReadFile(s.file) // it is embedded
	return string(data)
}

func lookup(name string) (shell, error) {
	const posix, lists, fish = "__inner_%s=%s;\n", "__inner_%s=(%s);\n", "set -g __inner_%s %s\n"
	sh, known := map[string]shell{
		"bash":   {"bash.sh", quote.Bash, posix, lists, nil},
		"zsh":    {"zsh.zsh", quote.Zsh, posix, lists, nil},
		"fish":   {"fish.fish", quote.Fish, fish, fish, nil},
		"elvish": {"elvish.elv", quote.Elvish, "set %s = %s\n", "set %s = [%s]\n", nil},
		"nu":     {"nu.nu", quote.Nu, "%s: %s\n", "%s: [%s]\n", nil},
		"tcsh":   {"tcsh.tcsh", quote.Tcsh, "set __inner_%s = %s;\n", "", changedTcsh},
		"sh":     {"posix.sh", quote.POSIX, posix, "", changedPOSIX},
	}[name]
	if !known {
		list := Shells()
		last := len(list) - 1
		return sh, fmt.Errorf("there is no hook for the shell %q: %s and %s have one", name, strings.Join(list[:last], ", "), list[last])
	}
	return sh, nil
}

// Script returns the text that installs the hook in the named shell, ready to
// be evaluated: without comments, and for bash, zsh and tcsh also without meaning
// in its line breaks.
func Script(name string, v Vars) (string, error) {
	sh, err := lookup(name)
	if err != nil {
		return "", err
	}
	for _, f := range []struct{ what, path string }{
		{"the inner binary", v.Inner}, {"the installed inner", v.Command}, {"the shim folder", v.ShimDir}, {"the state file", v.StateFile},
	} {
		switch {
		case strings.Contains(f.path, "\x00"):
			return "", fmt.Errorf("%s %q: the path has a NUL byte in it", f.what, f.path)
		case !filepath.IsAbs(f.path):
			return "", fmt.Errorf("%s %q: the path is not absolute", f.what, f.path)
		}
	}
	if strings.Contains(v.ShimDir, ":") {
		return "", fmt.Errorf("the shim folder %q: it has a colon in its path, so it cannot be on PATH", v.ShimDir)
	}
	text := fill(sh.text(), sh.quote, v)
	if name == "tcsh" {
		// An "if" over several lines cannot be evaluated, and the text has quotes of both kinds.
		text = "if ($?prompt && ! -e /run/.innerenv) eval " + sh.quote(strings.ReplaceAll(text, "\n", " ")) + "\n"
	}
	return text, nil
}

// fill puts the values in and leaves comments, blank lines and indentation out.
func fill(text string, quote func(string) string, v Vars) string {
	values := strings.NewReplacer(
		"@bin@", quote(v.Inner),
		"@command@", quote(v.Command),
		"@dir@", quote(v.ShimDir),
		"@state@", quote(v.StateFile),
		"@first@", quote(literalPattern(v.ShimDir)+":*"),
	)
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		b.WriteString(values.Replace(line))
		b.WriteByte('\n')
	}
	return b.String()
}

// literalPattern returns the shell pattern that matches s and nothing else.
func literalPattern(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(`\*?[]()|!@+^-`, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
