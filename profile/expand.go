package profile

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/lazy"
	"github.com/enr/inner/profile/gitignore"
)

// expands says what is expanded in a value. What is not listed is literal.
type expands uint8

const (
	tilde      expands = 1 << iota // a leading "~" or "~/"
	vars                           // $VAR, ${VAR}, ${UID}, and $$ for a dollar
	workdir                        // ${workdir}
	workspaces                     // ${workspaces_path}
	pattern                        // what is put in is escaped: it stands for itself in a pattern
)

// expander knows the values. Its results are never expanded again.
type expander struct {
	home       string
	uid        int
	lookup     func(string) (string, bool)
	kept       func(string) bool // variables that pass into no box; may be nil
	workdir    string
	workspaces string // "" when not configured
}

func (x *expander) expand(text string, what expands) (string, error) {
	var b strings.Builder
	put := func(s string) {
		if what&pattern != 0 {
			s = gitignore.Escape(s)
		}
		b.WriteString(s)
	}
	rest := text
	if what&tilde != 0 && strings.HasPrefix(rest, "~") {
		value := what&(workdir|workspaces|pattern) == 0 && what&vars != 0 // of a variable, and not a path
		switch {
		case rest == "~" || rest[1] == '/':
			put(x.home)
			rest = rest[1:]
		case !value:
			return "", fmt.Errorf(`%q: only your own home can be written with "~"`, text)
		}
	}
	if what&(vars|workspaces) == 0 {
		return b.String() + rest, nil
	}
	form := anyReference()
	if what&vars == 0 { // only the token
		form = workspacesToken()
	}
	at := 0
	for _, ref := range form.FindAllStringIndex(rest, -1) {
		b.WriteString(rest[at:ref[0]])
		at = ref[1]
		value, err := x.reference(text, rest[ref[0]+1:ref[1]], what)
		if err != nil {
			return "", err
		}
		put(value)
	}
	b.WriteString(rest[at:])
	return b.String(), nil
}

// What a dollar begins: another dollar, or a name with braces or without.
var (
	anyReference    = lazy.Regexp(`\$(?:\$|\{[^}]*\}?|\w*)`)
	workspacesToken = lazy.Regexp(`\$\{workspaces_path\}`)
)

// reference is what stands for the text behind a dollar.
func (x *expander) reference(text, ref string, what expands) (string, error) {
	braced, open := strings.CutPrefix(ref, "{")
	name, closed := strings.CutSuffix(braced, "}")
	switch {
	case ref == "$":
		return "$", nil
	case open && !closed:
		return "", fmt.Errorf(`%q: "${" is not closed`, text)
	case open && !isVariable(name):
		return "", fmt.Errorf("%q: %q is not the name of a variable", text, name)
	case !isVariable(name):
		return "", fmt.Errorf(`%q: "$" is not followed by a name; "$$" writes a dollar`, text)
	}
	switch name {
	case "UID":
		return strconv.Itoa(x.uid), nil
	case "workdir":
		if what&workdir == 0 {
			return "", fmt.Errorf("${workdir} is only known in the path of a mount")
		}
		return x.workdir, nil
	case "workspaces_path":
		switch {
		case what&workspaces == 0:
			return "", fmt.Errorf("${workspaces_path} is only known in dest and in entrypoint.workdir")
		case x.workspaces == "":
			return "", fmt.Errorf("${workspaces_path} is used, but workspaces_path is not set in the profile or in config.toml")
		}
		return x.workspaces, nil
	}
	if x.kept != nil && x.kept(name) {
		return "", fmt.Errorf("variable %q: %s", name, hiddenVariable)
	}
	if x.lookup != nil {
		if value, ok := x.lookup(name); ok {
			return value, nil
		}
	}
	return "", fmt.Errorf("variable %q is not set", name)
}

// path expands a value that must be an absolute path.
func (x *expander) path(text string, what expands) (string, error) {
	p, err := x.expand(text, what)
	switch {
	case err != nil:
		return "", err
	case !filepath.IsAbs(p):
		return "", fmt.Errorf("%q is not an absolute path", p)
	case strings.IndexByte(p, 0) >= 0:
		return "", fmt.Errorf("%q contains a NUL byte", p)
	}
	return filepath.Clean(p), nil
}

// real resolves the links of a path as far as it exists.
func real(path string) string { return files.Resolved(path) }
