package profile

// The MCP servers of the user's own settings of agents: [sandbox] mcp names those that run in the box.

import (
	"net/url"
	"path/filepath"
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

// Runs says what the server is, without what may be a secret: of a command line the program and its arguments as
// far as the first that is no option, of an address the host.
func (s MCPServer) Runs() string {
	if len(s.Command) == 0 {
		u, err := url.Parse(s.URL)
		if err != nil || u.Host == "" {
			return "…"
		}
		return u.Scheme + "://" + u.Host
	}
	shown := s.Command[:1:1]
	for i, word := range s.Command[1:] {
		token := len(word) > 31 && !strings.Contains(word, "/")
		if token || strings.ContainsAny(word, "= \t\n") || HasLogin(word) || LooksSecret(s.Command[i]) {
			return strings.Join(shown, " ") + " …"
		}
		if shown = append(shown, word); !strings.HasPrefix(word, "-") {
			break
		}
	}
	if len(shown) < len(s.Command) {
		shown = append(shown, "…")
	}
	return strings.Join(shown, " ")
}

// HasMCP reports whether the box has a server of a file of settings.
func (rc RunConfig) HasMCP(file, name string) bool {
	return slices.ContainsFunc(rc.Servers, func(s MCPServer) bool { return s.File == file && s.Name == name })
}

// String is the server as consent shows it.
func (s MCPServer) String() string {
	text := s.Name + " (" + s.Runs()
	if len(s.Vars) > 0 {
		text += "; gets " + strings.Join(s.Vars, " and ")
	}
	return text + ")"
}

// GrantsMCP reports whether the profile names a server.
func (rc RunConfig) GrantsMCP(name string) bool {
	return slices.Contains(rc.MCP, "*") || slices.Contains(rc.MCP, name)
}

// mcp finds the servers that the profile names. Of settings that a box can change it takes none: the server would be
// the box's choice, and would get variables and hosts of the user's.
func (r *resolver) mcp() {
	if r.rc.MCP = r.s.Value("sandbox.mcp").Texts(); len(r.rc.MCP) == 0 || r.c.MCP == nil {
		return
	}
	written := r.boxFolders()
	for _, s := range r.c.MCP(r.rc) {
		real, links, err := follow(s.File)
		if err != nil || !r.rc.GrantsMCP(s.Name) {
			continue
		}
		dirs := []string{filepath.Dir(real)}
		for _, link := range links {
			dirs = append(dirs, filepath.Dir(link.Path))
		}
		if !slices.ContainsFunc(dirs, func(dir string) bool { return r.boxFolder(dir, written) != "" }) {
			r.rc.Servers = append(r.rc.Servers, s)
		}
	}
}

func (g *granter) mcp(rc *RunConfig) {
	items := itemsOf(rc.MCP, func(name string) string {
		var found []string
		for _, s := range rc.Servers {
			if name == s.Name || name == "*" {
				found = append(found, s.String())
			}
		}
		switch {
		case name == "*":
			return strings.Join(append([]string{"all that your settings name"}, found...), "; ")
		case len(found) == 0:
			return name + " (your settings name none)"
		}
		return strings.Join(found, "; ")
	})
	g.list("mcp", "sandbox.mcp", "starts your MCP servers", items)
}
