// Package script makes the text that "inner hook SHELL" prints for a shell to evaluate. What the text
// asks later is answered by package hooks.
//
//	text, err := script.Of("bash", quote.Bash, script.Vars{
//		Inner:     "/home/ann/.inner/shims/inner",
//		Command:   "/home/ann/bin/inner",
//		ShimDir:   "/home/ann/.inner/shims/bin",
//		StateFile: "/home/ann/.inner/shims/state",
//	})
//
// The text is in a file for each shell (bash.sh, zsh.zsh and so on). Values enter it only quoted.
package script

import (
	"embed"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
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

// Text is what the file of the named shell says.
func Text(name string) string {
	files, _ := fs.Glob(texts, name+".*")
	data, _ := texts.ReadFile(strings.Join(files, "")) // one, which is embedded
	return string(data)
}

// Of returns the text that installs the hook in the named shell, which writes a word as quote does, ready
// to be evaluated: without comments, and for bash, zsh and tcsh also without meaning
// in its line breaks.
func Of(name string, quote func(string) string, v Vars) (string, error) {
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
	text := fill(Text(name), quote, v)
	if name == "tcsh" {
		// An "if" over several lines cannot be evaluated, and the text has quotes of both kinds.
		text = "if ($?prompt && ! -e /run/.innerenv) eval " + quote(strings.ReplaceAll(text, "\n", " ")) + "\n"
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
