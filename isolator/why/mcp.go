package why

import (
	"cmp"
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/profile"
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
	}
	for _, s := range t.Box.MCP(t.Box.Spec) {
		switch {
		case s.Name != name:
			continue
		case !t.Box.Spec.GrantsMCP(name):
			a.Access, a.How = Outside, "your settings name it, and the box does not have it"
			a.propose(listing("mcp", name))
			return a
		}
		a.Access, a.Box, a.How, a.From = ReadOnly, name, s.Runs(), cmp.Or(t.written("sandbox.mcp", is(name)), a.From)
		if t.needs(&a, s); !a.Granted(false) {
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
