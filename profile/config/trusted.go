package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/enr/inner/profile/strict"
)

// checkPrefixes looks at [trust] prefixes: whose profiles need no question.
func checkPrefixes(v strict.Value, problems *strict.Problems) {
	for _, it := range v.Items {
		clean := filepath.Clean(it.Text)
		inHome := strings.HasPrefix(clean, "~/") && clean != "~/.inner" && !strings.HasPrefix(clean, "~/.inner/")
		if control(it.Text) || clean == "/" || !inHome && !strings.HasPrefix(clean, "/") {
			problems.Add(it.At, "trust.prefixes", fmt.Sprintf("%q is not a folder of your own projects", it.Text), `write it like "~/src/mine"`)
		}
	}
}
