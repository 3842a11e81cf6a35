package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/enr/inner/profile/strict"
)

// trustTable is [trust]: whose profiles need no question.
type trustTable struct {
	Prefixes strict.List `toml:"prefixes"` // folders
	Clones   strict.Bool `toml:"clones"`   // also clones of git repositories in them
}

func (t trustTable) check() []strict.Problem {
	var out []strict.Problem
	for _, it := range t.Prefixes.Items {
		clean := filepath.Clean(it.Text)
		inHome := strings.HasPrefix(clean, "~/") && clean != "~/.inner" && !strings.HasPrefix(clean, "~/.inner/")
		if control(it.Text) || clean == "/" || !inHome && !strings.HasPrefix(clean, "/") {
			out = append(out, strict.Problem{File: it.At.File, Line: it.At.Line, Key: "trust.prefixes", Msg: fmt.Sprintf("%q is not a folder of your own projects, such as \"~/src/mine\"", it.Text)})
		}
	}
	return out
}

// ofProject refuses the table in the config.toml of a project.
func (t trustTable) ofProject() []strict.Problem {
	var out []strict.Problem
	for key, at := range map[string]strict.Pos{"trust.prefixes": t.Prefixes.At, "trust.clones": t.Clones.At} {
		if at.File != "" {
			out = append(out, strict.Problem{File: at.File, Line: at.Line, Key: key, Msg: "a project does not decide what needs no question", Hint: "write it into your own config.toml: inner config edit"})
		}
	}
	return out
}
