package profile

// The MCP servers of the user's own settings of agents: [sandbox] mcp names those that run in the box.

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// MCPServer is a server of the Model Context Protocol that the user's settings of an agent name.
type MCPServer struct {
	Name    string
	File    string   // the settings, on the host
	Command []string // the program and its arguments; none when the server is elsewhere
	URL     string   // where that is
	Vars    []string // variables of the caller that the entry names
}

// Runs says what the server is, without what may be a secret: of an address the host, of a command line the program and
// the first word that is no option.
func (s MCPServer) Runs() string {
	if u, err := url.Parse(s.URL); err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host
	}
	for i, word := range s.Command {
		if i == 0 || strings.HasPrefix(word, "-") {
			continue
		}
		token := len(word) > 31 && !strings.Contains(word, "/")
		if token || strings.ContainsAny(word, "= \t\n") || HasLogin(word) || LooksSecret(s.Command[i-1]) {
			word = "…"
		}
		return s.Command[0] + " " + word
	}
	return append(s.Command, "…")[0]
}

// String is the server as consent shows it.
func (s MCPServer) String() string {
	return s.Name + " (" + strings.Join(append([]string{s.Runs()}, s.Vars...), "; gets ") + ")"
}

// GrantsMCP reports whether the box has the MCP servers of a name.
func (rc RunConfig) GrantsMCP(name string) bool {
	return slices.Contains(rc.MCP, "*") || slices.Contains(rc.MCP, name)
}

// mcp finds the servers that the profile names. In settings that a box can change a server would be the box's choice,
// and would get variables and hosts of the user's.
func (r *resolver) mcp() {
	names := r.s.Value("sandbox.mcp")
	if r.rc.MCP = names.Texts(); len(r.rc.MCP) == 0 || r.c.MCP == nil {
		return
	}
	for _, s := range r.c.MCP(r.rc) {
		if !r.rc.GrantsMCP(s.Name) {
			continue
		}
		r.rc.Servers = append(r.rc.Servers, s)
		real, _, dir, err := r.led(s.File)
		if dir = cmp.Or(dir, r.c.BoxFolder(r.rc, real)); dir != "" || err != nil {
			r.add(names.Items[0].At, "sandbox.mcp", fmt.Sprintf("%q is named by %q, and boxes can change %q", s.Name, s.File, dir), "")
		}
	}
}

func (g *granter) mcp(rc *RunConfig) {
	var items []Item
	for _, s := range rc.Servers {
		items = append(items, Item{Text: s.String(), ID: s.Name, Own: !slices.Contains(rc.MCP, s.Name)})
	}
	for _, name := range rc.MCP {
		if !slices.ContainsFunc(items, func(it Item) bool { return it.ID == name }) {
			items = append(items, Item{Text: cmp.Or(map[string]string{"*": "all that your settings name"}[name], name+" (not in your settings)"), ID: name})
		}
	}
	g.list("mcp", "sandbox.mcp", "starts your MCP servers", items)
}
