package why

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/files"
)

// MCP answers for an MCP server of the user's settings of the agents: whether the box has it, and what it needs there.
func (t *Table) MCP(name string) Answer {
	a := Answer{Asked: "mcp:" + name, Real: name, Access: Absent, How: "no MCP server of that name is in your settings of the agents of the profile", Key: "sandbox.mcp", From: t.at("sandbox.mcp")}
	var doc struct{ MCPServers map[string]any } // a box can write that: it is only told
	data, err := files.Read(filepath.Join(t.Box.Spec.Workdir, ".mcp.json"), files.NoLinks, 1<<20)
	switch {
	case name == "*" && t.Box.Spec.GrantsMCP(name):
		a.Access, a.Box, a.How = ReadOnly, name, "all that your settings name"
	case name == "*":
		a.Access, a.How = Outside, "the box does not have all that your settings name"
		a.propose(listing("mcp", name))
	case err == nil && json.Unmarshal(data, &doc) == nil && doc.MCPServers[name] != nil && slices.Contains(t.Box.Spec.Capabilities, "claude"):
		a.How += ": .mcp.json of the project names it, and the agent asks for it itself"
	default:
		for _, c := range t.Box.Agents {
			if c.Program == "claude" || c.Program == "codex" || c.Program == "gemini" { // others have no such command
				a.Type = "inner bypass " + c.Program + " mcp add " + quote.POSIX(name) + " …"
				break
			}
		}
	}
	for _, s := range t.Box.MCP(t.Box.Spec) {
		switch {
		case s.Name != name:
			continue
		case !t.Box.Spec.GrantsMCP(name):
			a.Access, a.Type, a.How = Outside, "", "your settings name it, and the box does not have it"
			a.propose(listing("mcp", name))
			return a
		}
		a.Access, a.Type, a.Box, a.How, a.From = ReadOnly, "", name, s.Runs(), cmp.Or(t.written("sandbox.mcp", is(name)), a.From)
		if need, any := lacking(t.serverNeeds(s)); any {
			return a.blame(need, need.Asked+": "+need.How)
		}
	}
	return a
}
