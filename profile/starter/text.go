// Package starter writes the profiles that a person begins with: one for an agent in a
// project, for `inner init`, and one of a name, for `inner profile new`.
package starter

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
	"github.com/enr/inner/profile/strict"
)

// NetworkWords are the values of Choice.Network.
func NetworkWords() []string { return []string{"listed", "ask", "full", "off"} }

// Choice is what the profiles of a project are to grant.
type Choice struct {
	Root    string // of the project; "" is all folders
	Network string // of NetworkWords; "" is the first
	Mounts  []Mount
	MCP     map[string][]string // of the user's MCP servers of an agent, by the name of its program
	Asking  []string            // the agents that go on asking before they run a command
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
func (p Choice) Text(g capability.Capability) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	where, in := "in all folders", "all folders"
	if p.Root != "" {
		where, in = "in this project", filepath.Base(p.Root)
	}
	line("# What %s may see and do %s. In words: inner profile show --explain %s", g.Title, where, g.Program)
	if p.Root != "" {
		line("# After a change: inner allow")
	}
	line(`schema_version = "1"`)
	line("description    = %s", strict.Quote(g.Title+" in "+in))
	line("# The built-in profile: this folder can be changed, the home folder is not the host's, and the")
	line("# agent has your login and settings. What is here comes on top.")
	line("extends        = %q", g.Profile())
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
		line("network_allow = [%s] # beside those of %s", strict.Quoted(more), g.Profile())
	} else {
		line("# network_allow = [\"example.com\"]")
	}
	if servers := p.MCP[g.Program]; len(servers) > 0 {
		line("mcp = [%s] # of your MCP servers", strict.Quoted(servers))
	}
	line("")
	if args := profile.Unasked(g.Program); len(args) > 0 {
		off := ""
		if slices.Contains(p.Asking, g.Program) {
			off = "# "
		}
		line("%s[entrypoint] # it runs commands without asking you: the sandbox is the boundary", off)
		line("%sargs = [%s]", off, strict.Quoted(args))
		line("")
	}
	if len(p.Mounts) == 0 {
		line("# [mounts]\n# \"~/src/lib\" = \"ro\" # another folder; \"rw\" when it may be changed")
		return b.String()
	}
	line("[mounts]")
	for _, m := range p.Mounts {
		line("%s = %q", strict.Quote(strings.ReplaceAll(m.Path, "$", "$$")), m.Mode)
	}
	return b.String()
}
