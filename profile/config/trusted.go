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
			out = append(out, it.At.Problem("trust.prefixes", fmt.Sprintf("%q is not a folder of your own projects", it.Text), `write it like "~/src/mine"`))
		}
	}
	return out
}

// ofProject refuses the table in the config.toml of a project.
func (t trustTable) ofProject() []strict.Problem {
	var out []strict.Problem
	for i, at := range []strict.Pos{t.Prefixes.At, t.Clones.At} {
		if at.File != "" {
			out = append(out, at.Problem([]string{"trust.prefixes", "trust.clones"}[i], "a project does not decide what needs no question", ownConfig))
		}
	}
	return out
}
