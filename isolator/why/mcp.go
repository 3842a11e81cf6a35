package why

import (
	"cmp"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/profile"
)

// MCP answers for an MCP server of the user's settings of the agents: whether the box has it, and what it needs there.
func (t *Table) MCP(name string) Answer {
	a := Answer{Asked: "mcp:" + name, Real: name, Access: Absent, How: "your settings of the agents of the profile name none", Key: "sandbox.mcp", From: t.at("sandbox.mcp")}
	list := slices.DeleteFunc(t.Box.MCP(), func(s profile.MCPServer) bool { return s.Name != name })
	if len(list) == 0 {
		return a
	}
	a.From = cmp.Or(t.written("sandbox.mcp", is(name)), a.From)
	for _, s := range list {
		switch {
		case t.Box.Spec.HasMCP(s.File, name):
			a.Access, a.Box, a.How = ReadOnly, name, s.Runs()
			t.needs(&a, s)
		case t.Box.Spec.GrantsMCP(name):
			a.Access, a.How = Outside, "sandboxes can change "+s.File+", which names it"
		default:
			a.Access, a.How = Outside, "your settings name it, and the box does not have it"
			a.propose(listing("mcp", name))
		}
		if !a.Granted(false) {
			break
		}
	}
	return a
}

// needs changes the answer about a server that would not start: where the box does not have its program or a file that
// its command line names, or cannot reach its host.
func (t *Table) needs(a *Answer, s profile.MCPServer) {
	var all []Answer
	for i, word := range s.Command {
		switch {
		case filepath.IsAbs(word):
			all = append(all, t.Path(filepath.Clean(word)))
		case i == 0 && !strings.Contains(word, "/"):
			all = append(all, t.Command(word))
		}
	}
	if u, err := url.Parse(s.URL); err == nil && u.Host != "" {
		if host, err := t.Host(u.Host); err == nil {
			all = append(all, host)
		}
	}
	for _, need := range all {
		if !need.Granted(false) && (need.Access != Absent || need.Asked[0] != '/') { // a word need not be a file
			a.Access, a.How, a.Widen = Outside, need.Asked+": "+need.How, need.Widen
			a.Key, a.From = need.Key, need.From
			return
		}
	}
}
