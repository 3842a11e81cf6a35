package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/enr/inner/profile/strict"
)

// trustTable is [trust]: whose profiles need no question.
type trustTable struct {
	Prefixes strict.List `toml:"prefixes" user:"decide what needs no question"` // folders
	Clones   strict.Bool `toml:"clones" former:"a clone, and what has a remote, is asked about"`
}

func (t trustTable) check(problems *strict.Problems) {
	for _, it := range t.Prefixes.Items {
		clean := filepath.Clean(it.Text)
		inHome := strings.HasPrefix(clean, "~/") && clean != "~/.inner" && !strings.HasPrefix(clean, "~/.inner/")
		if control(it.Text) || clean == "/" || !inHome && !strings.HasPrefix(clean, "/") {
			problems.Add(it.At, "trust.prefixes", fmt.Sprintf("%q is not a folder of your own projects", it.Text), `write it like "~/src/mine"`)
		}
	}
}
