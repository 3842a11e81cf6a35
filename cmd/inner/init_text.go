package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/profile"
)

// profileChoice is what the profiles of inner init are to grant.
type profileChoice struct {
	root    string
	network string // of networkWords; "" is the first
	mounts  []profileMount
	traits  traits
}

type profileMount struct{ path, mode string }

// more are the entries of network_allow beside those of the built-in profiles.
func (p profileChoice) more() []string {
	return slices.DeleteFunc(slices.Clone(p.traits.allow), func(entry string) bool {
		return slices.Contains([]string{"@github", "@npm", "@pypi", "@go", "@crates"}, entry)
	})
}

// text is the profile of one agent, for a person to read and to go on from.
func (p profileChoice) text(g agent) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# What %s may see and do in this project. In words: inner profile show --explain %s", g.title, g.command)
	line("# After a change: inner allow")
	line(`schema_version = "1"`)
	line("description    = %s", profile.Quote(g.title+" in "+filepath.Base(p.root)))
	line("# The built-in profile: this folder can be changed, the home folder is not the host's, and the")
	line("# agent has a copy of its login and settings. What is here comes on top.")
	line("extends        = %q", g.base)
	line("")
	more := p.more()
	line("[sandbox]")
	switch p.network {
	case "ask":
		line(`network_mode = "ask" # a question for each host that is not listed`)
	case "full":
		line(`network_mode = "full"`)
		more = nil
	case "off":
		line(`network_mode = "off"`)
		more = nil
	default:
		line(`network_mode = "allowlist" # or "ask", "full", "off"`)
	}
	if len(more) > 0 {
		var quoted []string
		for _, entry := range more {
			quoted = append(quoted, profile.Quote(entry))
		}
		line("network_allow = [%s] # beside those of %s", strings.Join(quoted, ", "), g.base)
	} else {
		line("# network_allow = [\"example.com\"]")
	}
	line("")
	if len(p.mounts) == 0 {
		line("# [mounts]\n# \"~/src/lib\" = \"ro\" # another folder; \"rw\" when it may be changed")
		return b.String()
	}
	line("[mounts]")
	for _, m := range p.mounts {
		line("%s = %q", profile.Quote(strings.ReplaceAll(m.path, "$", "$$")), m.mode)
	}
	return b.String()
}
