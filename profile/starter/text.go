package starter

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/profile"
)

// NetworkWords are the values of Choice.Network.
func NetworkWords() []string { return []string{"listed", "ask", "full", "off"} }

// Choice is what the profiles of a project are to grant.
type Choice struct {
	Root    string
	Network string // of NetworkWords; "" is the first
	Mounts  []Mount
	Traits  Traits
}

// Mount is a folder of the host, and its mode.
type Mount struct{ Path, Mode string }

// More are the entries of network_allow beside those of the built-in profiles.
func (p Choice) More() []string {
	return slices.DeleteFunc(slices.Clone(p.Traits.Allow), func(entry string) bool {
		return slices.Contains([]string{"@github", "@npm", "@pypi", "@go", "@crates"}, entry)
	})
}

// Text is the profile of one agent, for a person to read and to go on from.
func (p Choice) Text(g Agent) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# What %s may see and do in this project. In words: inner profile show --explain %s", g.Title, g.Command)
	line("# After a change: inner allow")
	line(`schema_version = "1"`)
	line("description    = %s", profile.Quote(g.Title+" in "+filepath.Base(p.Root)))
	line("# The built-in profile: this folder can be changed, the home folder is not the host's, and the")
	line("# agent has a copy of its login and settings. What is here comes on top.")
	line("extends        = %q", g.Base)
	line("")
	more := p.More()
	line("[sandbox]")
	switch p.Network {
	case "ask":
		line(`network_mode = "ask" # a question for each host that is not listed`)
	case "full", "off":
		line("network_mode = %q", p.Network)
		more = nil
	default:
		line(`network_mode = "allowlist" # or "ask", "full", "off"`)
	}
	if len(more) > 0 {
		var quoted []string
		for _, entry := range more {
			quoted = append(quoted, profile.Quote(entry))
		}
		line("network_allow = [%s] # beside those of %s", strings.Join(quoted, ", "), g.Base)
	} else {
		line("# network_allow = [\"example.com\"]")
	}
	line("")
	if len(p.Mounts) == 0 {
		line("# [mounts]\n# \"~/src/lib\" = \"ro\" # another folder; \"rw\" when it may be changed")
		return b.String()
	}
	line("[mounts]")
	for _, m := range p.Mounts {
		line("%s = %q", profile.Quote(strings.ReplaceAll(m.Path, "$", "$$")), m.Mode)
	}
	return b.String()
}
