package config

import (
	"strings"
	"testing"

	"github.com/enr/inner/profile"
)

const sample = `# mine
default_profile = "shell" # the usual

# Commands that are always sandboxed:
# [shims]
# claude = "claude-interactive"

[aliases]
work = "run -p java -w ${workspaces_path}/x" # daily
odd = 'say "a b" \'
`

func TestAlias(t *testing.T) {
	_, err := Parse(profile.File{Path: "config.toml", Data: []byte(sample)}, false)
	if err == nil || !strings.Contains(err.Error(), `config.toml:10: aliases.odd: "say \"a b\" \\" has a quote that is not closed`) {
		t.Error(err)
	}
}
